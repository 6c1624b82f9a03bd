// The story that the page is for, told against a real site: find the job that is
// slow, its cause, its cost, its evidence, and silence it. Standard input:
// {"chromium", "url"}; standard output: one line of JSON, {"errors", "notes"}.

import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";

const { chromium: executablePath, url, dir } = JSON.parse(readFileSync(0, "utf8"));
const errors = [], notes = [];
const check = (ok, what) => { if (!ok) errors.push(what); };
const plain = (words) => words.replaceAll("\u00a0", " ");
const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, timezoneId: "Europe/Berlin", locale: "en-GB", reducedMotion: "reduce" });
context.setDefaultTimeout(60000);
const page = await context.newPage();
page.on("console", (m) => { if (["error", "warning"].includes(m.type())) errors.push(`console: ${m.text()} (${m.location().url})`); });
page.on("pageerror", (e) => errors.push(`uncaught: ${e.name}: ${e.message} ${e.stack}`));
page.on("request", (r) => { if (!r.url().startsWith(url)) errors.push(`a request left the origin: ${r.url()}`); });
const api = async (path) => (await fetch(url + path)).json();
const shoot = async (name) => { if (dir) await page.screenshot({ path: `${dir}/story-${name}.png`, fullPage: true }); };
const began = Date.now();
const note = (what) => notes.push(`${((Date.now() - began) / 1000).toFixed(0)} s: ${what}`);

async function theJobThatIsSlow() {
  await page.goto(url);
  await page.locator("h1", { hasText: /is slow/ }).waitFor({ timeout: 240000 });
  note(plain(await page.locator("h1").innerText()));
  const first = page.locator("section.open .incident-row").first();
  await first.waitFor();
  check(/slower since/.test(await first.innerText()), `the overview says who, how much, since when: ${await first.innerText()}`);
  check((await page.locator(".coupling .how.t-warn, .coupling .how.t-bad").count()) === 1, "one of the five domains has the root");
  await page.locator("section.jobs .job-row").first().click();
  await page.locator("h1", { hasText: /as long as usual/ }).waitFor();
}

async function whoIsWaitedFor() {
  await page.locator("#h-waits ~ div b", { hasText: /^The others wait for rank \d+$/ }).waitFor({ timeout: 120000 });
  note(plain(await page.locator("#h-waits ~ div p").first().innerText()));
  await page.locator("canvas.ranks").focus();
  await page.keyboard.press("ArrowLeft");
  check(/^rank \d+, \d\d:\d\d:\d\d: /.test(await page.locator("canvas.ranks").getAttribute("aria-valuetext")), "a cell of the ranks' map is told in words");
  check(await page.locator(".placement tbody tr").count() >= 1, "it says where the job runs");
  await shoot("job");
  await page.locator("#h-jobincidents ~ ol .incident-row").first().click();
}

async function causeCostEvidence() {
  await page.locator("h1 strong").waitFor();
  const words = plain(await page.locator("main").innerText());
  check(/root\s+gpu\s+\S+/.test(words) && words.includes("gpu-slow") && words.includes("computing"), `the cause: ${words.slice(0, 400)}`);
  check(/[\d.]+ GPU-(s|min|h)/.test(plain(await page.locator("table.impact").innerText())), "the cost");
  check(await page.locator("svg.chain .node").count() >= 2, "the chain");
  await page.locator(".plots .curve").nth(1).waitFor();
  check(await page.locator(".plots > .curve").count() >= 2, "the evidence as curves");
  check(await page.locator(".actions li").count() >= 1, "what to do");
  await shoot("incident");
  return new URL(page.url()).pathname.split("/").pop();
}

async function silence(id) {
  await page.getByRole("link", { name: "Silence …" }).click();
  await page.getByText("It would hold back 1 open incident").waitFor();
  await page.getByLabel("why").fill("its node is being drained");
  await page.getByLabel("by", { exact: true }).fill("night shift");
  await page.getByRole("button", { name: "Silence", exact: true }).click();
  await page.getByText("Silenced. It holds back 1 open incident now.").waitFor();
  await page.locator('.silences li[data-state="active"]').first().waitFor();
  await shoot("silences");
  const { silences } = await api("api/v1/silences?state=active");
  check(silences.length === 1 && silences[0].mutes.includes(id) && silences[0].created_by === "night shift", `the silence holds: ${JSON.stringify(silences)}`);
  const notes = await api(`api/v1/incidents/${id}/notes`);
  check(notes.silenced_by?.length === 1, `the incident says so: ${JSON.stringify(notes)}`);
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.locator("section.open .incident-row").first().waitFor();
  check(await page.locator("section.open .incident-row").count() >= 1, "it is shown as ever");
}

try {
  await theJobThatIsSlow();
  await whoIsWaitedFor();
  const id = await causeCostEvidence();
  await silence(id);
  note("silenced");
} catch (error) {
  errors.push(String(error.stack ?? error), `the page says: ${(await page.locator("main").innerText().catch(() => "")).slice(0, 1500)}`);
}
console.log(JSON.stringify({ errors: [...new Set(errors)].slice(0, 20), notes }));
await browser.close();
