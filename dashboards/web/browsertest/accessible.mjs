// Accessibility: axe-core over every view, at three widths, light and dark.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// Widths and themes: all of them, and those of an ordinary run.
const all = [390, 1280, 2560].flatMap((width) => ["light", "dark"].map((colorScheme) => ({ width, colorScheme })));
const some = all.filter(({ width, colorScheme }) => width === 390 && colorScheme === "light" || width === 1280 && colorScheme === "dark");

// audit runs axe over what is shown: all rules in the light theme, those of colour in
// the dark one, where nothing else differs. Axe is handed in as text and evaluated by
// the browser's tools: the page's policy lets no other script run.
async function audit({ page, check, note, given }, name) {
  const places = given.every ? all : some;
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(axe);
  for (const { width, colorScheme } of places) {
    await page.setViewportSize({ width, height: width > 2000 ? 1440 : 860 });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const { violations, passes } = await page.evaluate(async (only) => {
      const found = await globalThis.axe.run(document, { resultTypes: ["violations"], ...(only && { runOnly: { type: "rule", values: only } }) });
      return { passes: found.passes.length, violations: found.violations.map((v) => ({ id: v.id, help: v.help, count: v.nodes.length, nodes: v.nodes.slice(0, 4).map((n) => `${n.target.join(" ")} ${n.any[0]?.message ?? ""} ${n.html.slice(0, 120)}`) })) };
    }, colorScheme === "dark" ? ["color-contrast"] : null);
    check(passes > (colorScheme === "dark" ? 0 : 5), `${name}: axe looked at it`);
    for (const v of violations) check(false, `${name} at ${width} px, ${colorScheme}: ${v.id} (${v.help}), ${v.count} places: ${v.nodes.join(" | ")}`);
  }
  note(`${name}: ${places.map((p) => `${p.width} px ${p.colorScheme}`).join(", ")}`);
}

const open = "section.open .incident-row", explored = `/explore?${new URLSearchParams({ q: 'nic_temperature_celsius{kind="nic",name="h9/nic0"}', peers: "1", before: "1h" })}`;

// Each view: its address, or what finds it; what stands on it once it is drawn; what
// is opened on it.
const views = {
  axeOverview: ["/", ".coupling .domainbox .stateof"],
  axeIncident: [async (site) => `/incidents/${(await site.get("/api/v1/incidents")).incidents[0].id}`, ".plot .curve", async (page) => { await page.locator(".commands summary").first().click(); await page.locator(".commands[open]").first().waitFor(); }],
  axeCoolant: [async (site) => `/incidents/${(await site.get("/api/v1/incidents")).incidents.at(-1).id}`, ".plot .curve"],
  axeList: ["/incidents", ".strip .span"],
  axeWall: ["/wall", ".wallincident"],
  axeWallMaps: ["/wall", ".wallmaps canvas.cells"],
  axeEntity: ["/entity?of=nic:h9/nic0", ".plot .curve"],
  axeExplore: [explored, ".plot .curve", async (page) => { await page.getByRole("button", { name: "What else changed here?" }).click(); await page.locator(".changes p").first().waitFor(); }],
  axeMetrics: ["/explore", ".metrics a"],
  axeInjected: ["/", open, async (page) => { await page.getByRole("button", { name: "Inject a fault" }).click(); await page.getByText("Its severity is").waitFor(); }],
  axeReading: ["/jobs/train", ".placement tbody tr", async (page) => { await page.route(/\/(api|prometheus)\/.*(losses|budget|topology|query)/, () => {}); await page.reload(); await page.locator(".unanswered").nth(2).waitFor(); }],
  axeJobs: ["/jobs", ".job-row"],
  axeJob: ["/jobs/train", ".placement tbody tr"],
  axeCoverage: ["/coverage", ".wanted tbody tr"],
  axeAlerts: ["/alerts", ".alert-row"],
  axeAlert: ["/alerts/alert-000000000000000a", ".onerow"],
  axeSilences: ["/silences", ".preview p"],
  axeLost: ["/", open, async (page, site) => { await site.control({ Do: "refuse" }); await site.control({ Do: "drop" }); await page.locator("[data-link=lost]").waitFor(); }],
  axeReplay: ["/replay", ".replay .row, .replay tbody tr"],
  axeHelp: ["/", open, async (page) => { await page.keyboard.press("?"); await page.locator("dialog.help[open]").waitFor(); }],
  axeFind: ["/", open, async (page) => { await page.keyboard.press("Control+k"); await page.locator("dialog.find[open] #found a").first().waitFor(); }],
  axeFabric: [async (site) => (await site.get("/api/v1/paths")).paths[0], ".worst li"],
  axeSwitch: [async (site) => (await site.get("/api/v1/paths")).paths[2], ".plot .curve"],
  axePort: [async (site) => (await site.get("/api/v1/paths")).paths[3], ".plot .curve"],
  axePower: [async (site) => (await site.get("/api/v1/paths")).paths[4], ".worst li"],
  axeRack: [async (site) => (await site.get("/api/v1/paths")).paths[6], ".plot .curve"],
};

/** One scenario a view. */
export const accessible = Object.fromEntries(Object.entries(views).map(([name, [address, ready, act]]) => {
  const scenario = async (scene) => {
    const path = typeof address === "string" ? address : await address(scene.site);
    await scene.page.goto(scene.url + path);
    await scene.page.locator(ready).first().waitFor();
    await act?.(scene.page, scene.site);
    await audit(scene, path);
  };
  scenario.patience = 120000;
  if (name === "axeLost") scenario.allows = /503|ERR_/;
  return [name, scenario];
}));
