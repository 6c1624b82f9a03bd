// The explorer: PromQL from every curve, and what an engineer does with it.

import { drag } from "./drag.mjs";

const asked = (page) => new URL(page.url()).searchParams;

/** A curve leads to the explorer, which compares it with its past and its peers, zooms, says what else changed, and keeps all of it in the address. */
export async function promql({ page, site, url, check, shot }) {
  const expr = 'nic_temperature_celsius{kind="nic",name="h9/nic0"}', plots = page.locator(".explore .plot path.curve");
  await page.goto(`${url}/explore`);
  await page.locator(".metrics a").nth(1).click();
  await page.waitForFunction(() => new URL(location.href).searchParams.has("q"));
  check(asked(page).get("q") === "rate(port_rx_bytes_total[2m])" && await page.locator(".metrics").isHidden(), `without an expression all metrics are offered: ${page.url()}`);
  await page.goto(`${url}/entity?of=nic:h9/nic0`);
  await page.locator("a.what", { hasText: "nic temperature" }).click();
  await plots.first().waitFor();
  check(asked(page).get("q") === expr, `a curve leads to its series: ${page.url()}`);
  check(/^6[45](\.\d)?\u00a0°C$/.test(await page.locator(".explore .value").innerText()), `the value has its unit: ${await page.locator(".explore .value").innerText()}`);
  check(await page.locator("#metricnames option").count() === 2, "metrics are offered by name");

  await page.getByLabel("peers").check();
  await page.locator(".explore .plot .peers").waitFor({ state: "attached" });
  check(asked(page).get("peers") === "1" && (await page.locator(".curves > .quiet").allInnerTexts()).join().includes("10th to the 90th percentile"), "its peers are shaded, and said to be");
  await page.getByLabel("Compare with").selectOption("1h");
  await page.locator(".explore .plot .before").waitFor({ state: "attached" });
  check(asked(page).get("before") === "1h" && asked(page).get("peers") === "1", "an earlier time is drawn with it");
  const posed = (await site.control({ Do: "count" })).seen.map((s) => s.query).filter(Boolean);
  check(posed.includes('quantile(0.5, nic_temperature_celsius{kind="nic"})'), `the peers are of the same kind: ${posed.filter((q) => q.startsWith("quantile"))}`);

  await drag(page, ".explore .flags", [0.5, 12], [0.9, 14]);
  await page.waitForFunction(() => new URL(location.href).searchParams.has("from"));
  const width = () => (Date.parse(asked(page).get("to")) - Date.parse(asked(page).get("from"))) / 60000, zoomed = width();
  check(zoomed > 1 && zoomed < 40, `dragging zooms in: ${zoomed} min`);
  const from = asked(page).get("from");
  await page.getByRole("button", { name: "Zoom out" }).click();
  await page.waitForFunction((was) => new URL(location.href).searchParams.get("from") !== was, from);
  check(Math.abs(width() - 2 * zoomed) < 0.1, `and out again: ${width()} min`);
  await page.goBack();
  check(Math.abs(width() - zoomed) < 0.1, "each is a step back");
  await page.goBack();
  await page.waitForFunction(() => !new URL(location.href).searchParams.has("from"));

  const { incidents } = await site.get("/api/v1/incidents"), since = Date.parse(incidents[0].onset.earliest);
  const at = new URLSearchParams({ q: expr, from: new Date(since).toISOString(), to: new Date(since + 180e3).toISOString() });
  await page.goto(`${url}/explore?${at}`);
  await plots.first().waitFor();
  await page.locator(".explore .incident-row").first().waitFor();
  await page.getByRole("button", { name: "What else changed here?" }).click();
  await page.locator(".changelist li", { hasText: "nic temperature" }).waitFor();
  check(/61\S* → 65/.test((await page.locator(".changelist li", { hasText: "nic temperature" }).innerText()).replaceAll("\u00a0", " ")), `before and now: ${await page.locator(".changelist").innerText()}`);
  await shot("explore");

  await page.getByRole("button", { name: "Add an expression" }).click();
  await page.getByLabel("PromQL expression").last().fill("nic_temperature_celsius - 63");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".explore .plot path.curve").length === 2);
  check(asked(page).getAll("q").length === 2, "several expressions");
  check((await page.locator(".explore .plot").last().textContent()).includes("\u2212"), "an axis reaches below zero where values do");
  await page.getByLabel("PromQL expression").last().fill("nic_temperature_celsius{{");
  await page.keyboard.press("Enter");
  await page.locator(".explore .complaint", { hasText: "1:24: parse error: unexpected left brace" }).first().waitFor();
  check(await page.getByLabel("PromQL expression").last().getAttribute("aria-invalid") === "true", "what is wrong is said, and where");
  await page.getByRole("button", { name: "Remove this expression" }).last().click();
  await page.waitForFunction(() => new URL(location.href).searchParams.getAll("q").length === 1);
  await plots.first().waitFor();
  await page.locator("h1").click();
  await page.keyboard.press("z");
  await page.waitForFunction(() => new URL(location.href).searchParams.get("tz") === "UTC");
  check(asked(page).get("q") === expr && asked(page).has("from"), "the zone stands in the address with the rest");

  await page.goto(url);
  await page.locator("section.open .incident-row").waitFor();
  await page.keyboard.press("Control+k");
  await page.locator("dialog.find input").fill("sum(nic_temperature_celsius)");
  await page.locator(".find a", { hasText: "Explore sum(" }).click();
  await page.locator(".explore").waitFor();
  check(asked(page).get("q") === "sum(nic_temperature_celsius)", "Ctrl-K takes an expression");
  for (const w of [360, 390, 2560]) {
    await page.setViewportSize({ width: w, height: 800 });
    await page.goto(`${url}/explore?${at}`);
    await plots.first().waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(wide <= w, `the explorer is ${wide} px wide on ${w}`);
  }
}
