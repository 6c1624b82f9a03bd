// Runs scenarios in one browser. Standard input: {"chromium", "scenarios":
// [{"name", "url"}], "atOnce", "dir", "given", "shots": {"dir", "pages": [{"name",
// "url"}]}}. Standard output: a line of JSON per scenario, {"name", "errors",
// "notes"}. A scenario may say of itself: real, it looks at a whole service and
// there is no scripted site behind it; patience in ms; allows, what the console
// may say; context, of the browser.

import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import * as scenarios from "./scenarios.mjs";
import * as alerts from "./alerts.mjs";
import { accessible } from "./accessible.mjs";
import * as reach from "./reach.mjs";
import * as promqls from "./promql.mjs";
import * as explore from "./explore.mjs";
import * as looks from "./looks.mjs";
import * as maps from "./maps.mjs";
import * as replays from "./replay.mjs";
import * as views from "./views.mjs";
import { reading } from "./reading.mjs";
import { speed } from "./speed.mjs";
import { storm } from "./storm.mjs";
import * as stories from "./story.mjs";
import { shoot } from "./shots.mjs";
import { Site } from "./site.mjs";

const job = JSON.parse(readFileSync(0, "utf8"));
const launch = {
  executablePath: job.chromium,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
};
// A browser may die while it starts, before anything of ours has been asked of it.
const started = (tries) => chromium.launch(launch).catch((error) => { if (tries === 0) throw error; return started(tries - 1); });
const browser = await started(2);

const all = { ...scenarios, ...alerts, ...explore, ...promqls, ...reach, ...accessible, ...looks, ...maps, ...replays, ...views, ...stories, reading, speed, storm };

// Some at a time: most of a scenario is waiting.
const waiting = [...(job.scenarios ?? [])];
await Promise.all(Array.from({ length: job.atOnce ?? 3 }, async () => {
  for (let next; (next = waiting.shift());) {
    const scenario = all[next.name], began = Date.now();
    const result = scenario ? await run(scenario, next.url) : { errors: [`no scenario ${next.name}`], notes: [] };
    result.notes.push(`${Date.now() - began} ms`);
    console.log(JSON.stringify({ name: next.name, ...result }));
  }
}));
if (job.shots) await shoot(browser, job.shots);
await browser.close();

async function run(scenario, url) {
  const errors = [], notes = [];
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, timezoneId: "Europe/Berlin", locale: "en-GB", reducedMotion: "reduce", ...scenario.context });
  context.setDefaultTimeout(scenario.patience ?? 60000);
  const page = await context.newPage();
  const allowed = scenario.allows ?? /^$/;
  page.on("console", (m) => { if (["error", "warning"].includes(m.type()) && !allowed.test(m.text())) errors.push(`console: ${m.text()} (${m.location().url})`); });
  page.on("pageerror", (e) => errors.push(`uncaught: ${e.name}: ${e.message} ${e.stack}`));
  page.on("request", (r) => { if (!r.url().startsWith(url + "/")) errors.push(`a request left the origin: ${r.url()}`); });
  const site = scenario.real ? null : new Site(url);
  const shot = async (name) => { if (job.dir) await page.screenshot({ path: `${job.dir}/${name}.png`, fullPage: true }); };
  try {
    await scenario({ page, site, url, context, browser, shot, given: job.given, note: (v) => notes.push(v), check: (ok, what) => { if (!ok) errors.push(what); } });
    for (const path of (await site?.control({ Do: "count" }))?.refused ?? []) errors.push(`the page asked for ${path}, which is not among its files`);
  } catch (error) {
    errors.push(String(error.stack ?? error));
    if (scenario.real) errors.push(`the page says: ${(await page.locator("main").innerText().catch(() => "")).slice(0, 1500)}`);
  }
  await context.close();
  return { errors: [...new Set(errors)].slice(0, 20), notes };
}
