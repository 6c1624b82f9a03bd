// Finding things: Ctrl-K, all incidents, one entity; and claims with their curves.

import { claimsHaveCurves } from "./claims.mjs";
import { drag } from "./drag.mjs";

/** Ctrl-K finds an incident and an entity and leads there; the list of incidents narrows and keeps that in the address. */
export async function explore({ page, site, url, check, shot }) {
  const { incidents } = await site.get("/api/v1/incidents");
  await page.goto(url);
  await page.locator("section.open .incident-row").waitFor();
  await page.keyboard.press("Control+k");
  await page.locator("dialog.find input").fill("nic:h9");
  await page.locator(".find a", { hasText: "h9/nic0" }).last().waitFor();
  await page.locator(".find a[href^='/entity']").first().click();
  await page.locator(".oneentity .stateof", { hasText: "Degraded" }).waitFor();
  check(new URL(page.url()).searchParams.get("of") === "nic:h9/nic0", "the address names the entity");
  check(await page.locator(".oneentity .incident-row").count() === 1, "its incident is listed");
  await page.locator(".neighbours", { hasText: "connected to" }).waitFor();
  await shot("entity");
  await page.getByLabel("Time", { exact: true }).selectOption("6h");
  check(new URL(page.url()).searchParams.get("last") === "6h", "the address keeps the time that is looked at");
  await page.waitForFunction(() => { const ticks = [...document.querySelectorAll(".stage .ticks .time")]; return ticks.length > 2 && ticks.every((t) => t.textContent.endsWith(":00")); }); // by the hour: six are drawn
  await drag(page, ".flags", [0.4, 10], [0.7, 12]);
  await page.waitForFunction(() => new URL(location.href).searchParams.has("from"));
  const q = new URL(page.url()).searchParams, minutes = (Date.parse(q.get("to")) - Date.parse(q.get("from"))) / 60000;
  check(minutes > 60 && minutes < 180, `dragging over the curves chooses an interval: ${minutes} min of 6 h`);
  const clock = () => page.locator(".time time").innerText(), local = await clock();
  await page.keyboard.press("z");
  await page.waitForFunction((was) => document.querySelector(".time time").innerText !== was, local);
  check(new URL(page.url()).searchParams.get("tz") === "UTC" && await page.locator("#zone").innerText() === "UTC", "and the zone of times");
  await page.getByRole("link", { name: "Incidents", exact: true }).click();
  await page.locator("h1", { hasText: "incidents" }).waitFor();
  check(new URL(page.url()).searchParams.get("tz") === "UTC", "which goes along");
  await page.goto(`${url}/incidents?state=open`);
  await page.locator("h1", { hasText: `1 of ${incidents.length} incidents` }).waitFor();
  await page.getByLabel("State").selectOption("");
  await page.getByRole("searchbox").first().fill("coolant");
  await page.locator("h1", { hasText: /^1 of / }).waitFor();
  check(new URL(page.url()).searchParams.get("q") === "coolant", "the address keeps what is chosen");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
  check(file.suggestedFilename() === "incidents.csv", "what is listed can be saved");
  await page.getByRole("searchbox").first().fill("");
  await page.getByLabel("Time", { exact: true }).selectOption("1h");
  await page.locator("h1", { hasText: /^[12] of / }).waitFor();
  await page.getByLabel("Time", { exact: true }).selectOption("");
  await page.locator("h1", { hasText: `${incidents.length} incidents` }).waitFor();
  check(await page.locator(".strip .span").count() === incidents.length, "each is a bar over time");
  await drag(page, ".strip", [0.9, 10], [0.99, 20]);
  await page.waitForFunction((n) => document.querySelectorAll(".rows.long > li").length < n, incidents.length);
  check(new URL(page.url()).searchParams.has("from"), "an interval can be dragged");
  await page.getByLabel("Rack").selectOption({ index: 1 });
  check(new URL(page.url()).searchParams.has("rack"), "racks are a facet");
  await shot("incidents");
}

/** An incident whose cause is under investigation says so, and lists its candidates and claims. */
export async function underInvestigation({ page, site, url, check }) {
  const { incidents } = await site.get("/api/v1/incidents");
  const one = { ...incidents[0], id: "inc-00000000000000aa", root: null, revision: 1, related: [{ at: incidents[0].opened, kind: "event", entity: "nic:h9/nic0", text: "link_down" }],
    alternatives: [{ entity: "nic:h9/nic0", signature: "slow-receiver", confidence: 0.5 }, { entity: "node:h10", signature: "slow-rank", confidence: 0.3 }] };
  await site.set(`/api/v1/incidents/${one.id}`, one);
  await site.set("/api/v1/incidents", { incidents: [one] });
  await page.goto(url);
  await page.locator("section.open .incident-row", { hasText: "cause under investigation" }).waitFor();
  await page.locator("section.open .incident-row").click();
  await page.locator(".state", { hasText: "cause under investigation, 2 candidates" }).waitFor();
  check(await page.locator("section.alternatives li a[href='/entity?of=node%3Ah10']").count() === 1, "its candidates lead to their pages");
  await page.locator(".timeline li", { hasText: "link down" }).waitFor();
}
underInvestigation.allows = /404 \(Not Found\)/;

/** What an incident states is plotted first, over its interval; what has no samples is listed as such. */
export async function claims({ page, site, url, check, shot }) {
  const { incidents } = await site.get("/api/v1/incidents");
  const [one] = incidents, path = `/api/v1/incidents/${one.id}`;
  check(one.claims?.length >= 2, `the incident has claims: ${JSON.stringify(one.claims)}`);
  await page.goto(`${url}/incidents/${one.id}`);
  await claimsHaveCurves({ page, check }, one);
  await shot("claims");
  const curves = await site.get(`${path}/curves`), lost = one.claims.at(-1);
  await site.set(`${path}/curves`, { ...curves, curves: curves.curves.filter((c) => c.entity !== lost.entity || c.metric !== lost.metric) });
  await page.reload();
  await page.locator(".lacking", { hasText: "No samples are kept of:" }).waitFor();
}

/** What to do has commands to copy, and a wrong answer asks what it was. */
export async function workbench({ page, site, url, check, shot }) {
  const { incidents } = await site.get("/api/v1/incidents");
  const [one] = incidents, path = `/api/v1/incidents/${one.id}`;
  await site.set(`${path}/verdict`, { acknowledged: null, verdict: { verdict: "wrong", at: one.updated } });
  await page.goto(url);
  await page.locator("section.open .incident-row").first().click(); // one
  await page.locator(".commands summary", { hasText: "Slurm" }).first().click(); // two
  const node = one.actions.find((a) => a.kind === "drain").target.slice(5);
  await page.getByText(`scontrol update NodeName=${node} State=DRAIN`).waitFor();
  check(await page.getByText("--dry-run=server").count() === 1, "with a dry run where the tool has one");
  check(await page.getByRole("button", { name: "Copy Slurm command: run" }).count() === 1, "to copy"); // three
  await page.getByRole("button", { name: "wrong" }).click();
  await page.getByLabel("What it was: a signature").fill("host-jitter");
  await page.getByLabel("Where it was: an entity").fill("node:h10");
  await shot("workbench");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("It labels the recording of this incident for quintet learn").waitFor();
  await page.getByRole("button", { name: "Nothing was wrong" }).click();
  await page.waitForFunction(() => document.querySelector(".truth input").value === "none");
  await page.getByText("Saved.").waitFor();
  const posts = (await site.control({ Do: "count" })).seen.filter((s) => s.post).map((s) => JSON.parse(s.body));
  check(JSON.stringify(posts) === JSON.stringify([{ verdict: "wrong" }, { verdict: "wrong", signature: "host-jitter", entity: "node:h10" }, { verdict: "wrong", signature: "none" }]), `what was sent: ${JSON.stringify(posts)}`);
  const deed = one.actions.map((a) => `${a.kind} ${a.target}`)[0];
  await site.set(`${path}/done`, { acknowledged: null, verdict: null, done: { action: deed, by: "ann", at: one.updated, text: "" } });
  await page.locator(`[data-deed="${deed}"]`).click();
  await page.locator(".followup[data-state=waiting]").waitFor();
  check(await page.locator(`[data-deed="${deed}"]`).getAttribute("aria-pressed") === "true", "what was done is marked");
  await site.send("incident", { ...one, revision: one.revision + 1, state: "resolved", resolution: "recovered", resolved: new Date(Date.parse(one.updated) + 40e3).toISOString() });
  await page.locator(".followup[data-state=helped]", { hasText: "40" }).waitFor();
}

/** The wall says what is wrong and what to do, large enough to be read from afar, on one screen. */
export async function wall({ page, site, url, check, shot }) {
  const { incidents } = await site.get("/api/v1/incidents");
  await page.setViewportSize({ width: 2560, height: 1440 });
  await page.goto(`${url}/wall`);
  await page.locator(".wallincident").waitFor();
  await page.locator(".wall .flow.passed").first().waitFor();
  check(await page.locator("#bar nav").isHidden(), "nobody presses anything on a wall");
  const words = await page.locator(".wallincident").innerText();
  check(words.includes("Do: ") && words.includes(incidents[0].actions[0].text), `what to do: ${words}`);
  check(await page.locator(".wall .domainbox").count() === 5, "the five domains");
  const seen = await page.evaluate(() => ({ high: document.documentElement.scrollHeight, size: parseFloat(getComputedStyle(document.querySelector(".walltitle")).fontSize), least: Math.min(...[...document.querySelectorAll(".wall p, .wall span, .wall text")].filter((el) => el.textContent.trim() && !el.classList.contains("unseen") && el.getBoundingClientRect().width > 2).map((el) => parseFloat(getComputedStyle(el).fontSize))) }));
  check(seen.high <= 1440 && seen.size >= 32 && seen.least >= 20, `one screen, in large letters: ${JSON.stringify(seen)}`);
  await shot("wall");
  await page.locator(".wallincident").click();
  await page.locator(".impact").waitFor();
  check(await page.evaluate(() => !document.documentElement.dataset.view) && await page.locator("#bar nav").isVisible(), "an incident is shown as ever");
}

/** What is found keeps its place when the server's answer comes: a click that has begun ends where it began, and what the arrows chose stays chosen. */
export async function foundInTwoParts({ page, url, check }) {
  let gate, answer;
  await page.route("**/api/v1/search*", async (route) => { await gate; await route.continue(); });
  const found = page.locator("#found a"), ask = async (words) => {
    gate = new Promise((now) => { answer = now; });
    await page.keyboard.press("Control+k");
    await page.locator("dialog.find input").fill(words);
  };
  const answered = () => { answer(); return found.filter({ hasText: "h9/nic0" }).last().waitFor(); };
  await page.goto(url);
  await page.locator("section.open .incident-row").waitFor();
  await ask("alerts");
  const box = await found.first().boundingBox();
  await page.mouse.move(box.x + 20, box.y + box.height / 2);
  await page.mouse.down();
  await answered();
  await page.mouse.up();
  await page.waitForURL(`${url}/alerts`);

  await ask("co");
  await found.nth(1).waitFor();
  await page.keyboard.press("ArrowDown");
  const chosen = await page.locator('#found a[aria-selected="true"]').getAttribute("href");
  await answered();
  check(await page.locator('#found a[aria-selected="true"]').getAttribute("href") === chosen && await found.nth(1).getAttribute("href") === chosen, "what the arrows chose stays chosen");
  await page.keyboard.press("Enter");
  await page.waitForURL((to) => to.pathname + to.search === chosen);
}
