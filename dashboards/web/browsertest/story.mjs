// The story that the page is for, told against a real site: find the job that is
// slow, its cause, its cost, its evidence, and silence it.

import { claimsHaveCurves } from "./claims.mjs";

const plain = (words) => words.replaceAll("\u00a0", " ");

/** By browser alone: who is slow, who is waited for, why, at what cost; and a silence. */
export async function story(run) {
  const began = Date.now();
  const told = (what) => run.note(`${((Date.now() - began) / 1000).toFixed(0)} s: ${what}`);
  const all = { ...run, told };
  await theJobThatIsSlow(all);
  await whoIsWaitedFor(all);
  const id = await causeCostEvidence(all);
  await silence(all, id);
  told("silenced");
}
story.real = true;
story.patience = 60000;
story.allows = /504 \(Gateway Timeout\)/; // while the engine begins, on a machine with little to spare

async function theJobThatIsSlow({ page, url, check, told }) {
  await page.goto(url);
  await page.locator("h1", { hasText: /^Degraded: .*\bslow\b/ }).waitFor({ timeout: 240000 });
  told(plain(await page.locator("h1").innerText()));
  const first = page.locator("section.open .incident-row").first();
  await first.waitFor();
  check(/slower since/.test(await first.innerText()), `the overview says who, how much, since when: ${await first.innerText()}`);
  const cause = page.locator(".coupling .how", { hasText: "cause of incident" });
  await cause.first().waitFor({ timeout: 120000 }); // once the root is published
  check(await cause.count() === 1, `one of the five domains has the root: ${await cause.allInnerTexts()}`);
  await page.locator("section.jobs .job-row").first().click();
  await page.locator("h1", { hasText: /as long as usual/ }).waitFor();
}

async function whoIsWaitedFor({ page, check, shot, told }) {
  await page.locator("#h-waits ~ div b", { hasText: /^The others wait for rank \d+$/ }).waitFor({ timeout: 120000 });
  told(plain(await page.locator("#h-waits ~ div p").first().innerText()));
  await page.locator("canvas.ranks").focus();
  await page.keyboard.press("ArrowLeft");
  check(/^rank \d+, \d\d:\d\d:\d\d: /.test(await page.locator("canvas.ranks").getAttribute("aria-valuetext")), "a cell of the ranks' map is told in words");
  check(await page.locator(".placement tbody tr").count() >= 1, "it says where the job runs");
  await shot("story-job");
  await page.locator("#h-jobincidents ~ ol .incident-row").first().click();
}

async function causeCostEvidence({ page, check, shot }) {
  await page.locator("h1 strong").waitFor();
  const words = plain(await page.locator("main").innerText());
  check(/root\s+gpu\s+\S+/.test(words) && words.includes("gpu-slow") && words.includes("computing"), `the cause: ${words.slice(0, 400)}`);
  check(/[\d.]+ GPU-(s|min|h)/.test(plain(await page.locator("table.impact").innerText())), "the cost");
  check(await page.locator("svg.chain .node").count() >= 2, "the chain");
  await page.locator(".plots .curve").nth(1).waitFor();
  check(await page.locator(".plots > .curve").count() >= 2, "the evidence as curves");
  check(await page.locator(".actions li").count() >= 1, "what to do");
  check(/^\/api\/v1\/runbooks\/[a-z-]+$/.test(await page.locator("a.runbook").getAttribute("href")), "its runbook is at hand");
  await shot("story-incident");
  return new URL(page.url()).pathname.split("/").pop();
}

async function silence({ page, url, check, shot }, id) {
  const api = async (path) => (await fetch(`${url}/api/v1/${path}`)).json();
  await page.getByRole("link", { name: "Silence …" }).click();
  await page.getByText("It would hold back 1 open incident").waitFor();
  await page.getByLabel("why").fill("its node is being drained");
  await page.getByLabel("by", { exact: true }).fill("night shift");
  await page.getByRole("button", { name: "Silence", exact: true }).click();
  await page.getByText("Silenced. It holds back 1 open incident now.").waitFor();
  await page.locator('.silences li[data-state="active"]').first().waitFor();
  await shot("story-silences");
  const { silences } = await api("silences?state=active");
  check(silences.length === 1 && silences[0].mutes.includes(id) && silences[0].created_by === "night shift", `the silence holds: ${JSON.stringify(silences)}`);
  const said = await api(`incidents/${id}/notes`);
  check(said.silenced_by?.length === 1, `the incident says so: ${JSON.stringify(said)}`);
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.locator("section.open .incident-row").first().waitFor();
  check(await page.locator("section.open .incident-row").count() >= 1, "it is shown as ever");
}

/** What was struck, given as {entity, signature, domain, job}, is what the page says is wrong: in the overview, and as an incident's root. */
export async function struck({ page, url, check, shot, note, given }) {
  const [kind, name] = [given.entity.slice(0, given.entity.indexOf(":")), given.entity.slice(given.entity.indexOf(":") + 1)];
  await page.goto(url);
  const row = page.locator("section.open .incident-row").first();
  await row.waitFor();
  const first = plain(await row.innerText());
  check(first.includes(name) && first.includes(given.job), `the overview names ${given.entity} and ${given.job}: ${first}`);
  note(first.replaceAll("\n", " · "));
  await shot(`struck-${given.signature}-overview`);
  await row.click();
  await page.locator("h1 strong").waitFor();
  const words = plain(await page.locator("main").innerText());
  check(new RegExp(`root\\s+${kind}\\s+${name}\\s`).test(words), `the incident's root is ${given.entity}: ${words.slice(0, 600)}`);
  for (const word of [given.signature, given.domain]) check(words.includes(word), `the incident says ${word}: ${words.slice(0, 600)}`);
  check(await page.locator("svg.chain .node").count() >= 2, "the chain");
  check(await page.locator(".actions li").count() >= 1, "what to do");
  await claimsHaveCurves({ page, check }, await (await fetch(`${url}/api/v1${new URL(page.url()).pathname}`)).json());
  await shot(`struck-${given.signature}-incident`);
}
struck.real = true;
