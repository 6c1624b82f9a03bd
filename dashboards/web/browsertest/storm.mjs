// A storm, looked at through a real service: the page is open while a spine dies,
// and stays smooth; one incident says so; every view opens meanwhile.

import { pageCosts, trace } from "./speed.mjs";

// The views, and what stands on one once it is whole.
const views = { fabric: ["/fabric", ".worst li, .touching li"], power: ["/power", ".worst li"], jobs: ["/jobs", ".job-row"], coverage: ["/coverage", ".wanted tbody tr"], overview: ["/", "section.open .incident-row"] };

const plain = (words) => words.replaceAll("\u00a0", " ");

/** The page while the storm comes. given: {root: the spine, views: which are looked at besides}. */
export async function storm({ page, browser, url, given, check, note, shot }) {
  const busy = new Map(); // a service that has too much to do says so, and the page says it on
  page.on("response", (r) => { if (r.status() >= 500) busy.set(new URL(r.url()).pathname, (busy.get(new URL(r.url()).pathname) ?? 0) + 1); });
  const began = Date.now(), seconds = () => `${((Date.now() - began) / 1000).toFixed(0)} s`;
  const meanwhile = await trace(browser, page, async () => {
    await page.goto(url);
    await page.locator("section.open .incident-row", { hasText: "switch-down" }).first().waitFor({ timeout: 30 * 60000 });
    note(`${seconds()}: ${plain(await page.locator("section.open .incident-row").first().innerText()).replaceAll("\n", " · ")}`);
    await page.waitForTimeout(20000); // more jobs are degraded, more revisions come
  });
  note(`the overview while the storm came: longest task ${Math.round(meanwhile.longest)} ms of processor time, ${(meanwhile.cpu / meanwhile.seconds).toFixed(0)} ms a second over ${Math.round(meanwhile.seconds)} s`);
  check(await page.locator("section.open .incident-row").count() === 1, "one incident is open");
  await shot("storm-overview");
  for (const [name, [path, whole]] of Object.entries(views).filter(([v]) => given.views.includes(v))) {
    await page.goto("about:blank");
    const first = {};
    const seen = await trace(browser, page, async () => {
      await page.goto(url + path);
      await page.locator(whole).first().waitFor();
      Object.assign(first, await pageCosts(page));
      await page.waitForTimeout(12000); // an update of the maps, ten of the rest
    });
    note(`${name}: first contentful paint ${Math.round(seen.paint)} ms of processor time, ${Math.round(first.paint)} ms by the clock; whole after ${Math.round(first.whole)} ms; then the longest task ${Math.round(seen.longest)} ms`);
    await shot(`storm-${name}`);
    if (name === "fabric") check(plain(await page.locator("ol.touching").innerText()).includes(given.root), "the fabric's view names the spine");
  }
  await page.goto(url);
  await page.locator("section.open .incident-row").first().click();
  await page.locator("svg.chain .node").first().waitFor();
  await page.locator(".plots .curve").first().waitFor();
  check(plain(await page.locator("main").innerText()).includes(given.root), "the incident names the spine");
  note(`${seconds()}: ${await page.locator("table.impact tbody tr").count()} jobs are reported`);
  await shot("storm-incident");
  note(`answers that came too late for the service: ${[...busy].map(([path, n]) => `${n} of ${path}`).join(", ") || "none"}`);
}
storm.real = true;
storm.allows = /50[34]/;
storm.patience = 180000;
