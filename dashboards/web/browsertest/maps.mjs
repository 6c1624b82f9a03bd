// The maps of the fabric and of power and cooling, as a person would use them.

import { overflow, measureText } from "./looks.mjs";

const drawn = (page) => page.locator("canvas.cells").first().waitFor().then(() => page.waitForFunction(() => document.querySelector("canvas.cells")?.height > 20));

/** The whole fabric: the worst is shown, a cell is shown under pointer and focus, and opens its switch, its port, and the way back. */
export async function fabric({ page, url, check }) {
  await page.goto(`${url}/fabric`);
  await drawn(page);
  await page.locator(".worst li").first().waitFor();
  const headline = await page.locator("h1").innerText();
  const worst = await page.locator(".worst a").first().innerText();
  check(/^\d+ switches; p3-leaf\d+: 4\d\s%\sof the time paused by PFC/.test(headline) && headline.includes(worst), `the headline tells the worst: ${headline}`);
  const links = (await page.locator("section.worstlinks li").allInnerTexts()).map((w) => w.replace(/\s+/g, " "));
  check(/ down$/.test(links[0]) && links[0].startsWith(worst), `a link that is down is first: ${links}`);
  check(links.some((w) => new RegExp(`^${worst} eth2 to \\S+ 4\\d %$`).test(w)), `the link that is paused is listed: ${links}`);
  check(/as wide as their load/.test(await page.locator(".linkkey").innerText()), "what lines mean is shown");
  await page.locator("canvas.cells").focus();
  await page.keyboard.press("End");
  const last = await page.locator("canvas.cells").getAttribute("aria-valuetext");
  check(/^p\d+-leaf\d+, plane \d+ leaf, .* paused by PFC/.test(last), `the focus is shown: ${last}`);
  check(await page.locator(".tip").isVisible(), "and shown");
  await page.keyboard.press("ArrowUp");
  check(/spine/.test(await page.locator("canvas.cells").getAttribute("aria-valuetext")), "up is the tier above");
  await page.getByRole("button", { name: "ECN marks" }).click();
  await page.waitForFunction(() => /ECN marks/.test(document.querySelector("h1").textContent));
  check(new URL(page.url()).searchParams.get("measure") === "marks", "the address carries the measure");
  await page.locator(".worst a").first().click();
  await page.locator(".port").first().waitFor();
  check(new URL(page.url()).searchParams.get("of") === `switch:${worst}`, "a switch has an address");
  const ports = await page.locator(".port").count();
  check(ports > 3, `its ports are there: ${ports}`);
  check((await page.locator(".port .peer").first().innerText()).includes("mlx5_"), "with who is on the other end");
  await page.locator(".pastbox .plot .curve").first().waitFor();
  await page.locator(".port", { hasText: "eth2" }).first().click();
  await page.waitForFunction(() => document.querySelectorAll(".pastbox .plot .curve").length > 3);
  check(/^port:/.test(new URL(page.url()).searchParams.get("of")), "a port has one");
  check((await page.locator(".facts").innerText()).includes("the other end is nic"), "the port's other end is shown");
  await page.goBack();
  await page.locator(".port").first().waitFor();
  await page.goBack();
  await page.locator(".worst li").first().waitFor();
  check(new URL(page.url()).search === "?measure=marks", "and the way back");
}

/** Time is scrubbed: the address carries the instant, a question is asked as of it, live follows the log. */
export async function fabricInTime({ page, site, url, check }) {
  await page.goto(`${url}/fabric`);
  await page.locator(".worst li").first().waitFor();
  await site.connected();
  const { tick } = await site.get("/api/v1/status");
  const asked = async () => (await site.control({ Do: "count" })).seen.filter((s) => s.query).length;
  const before = await asked();
  await site.send("state", { tick: new Date(Date.parse(tick) + 21000).toISOString() });
  await page.waitForFunction((t) => Date.parse(document.querySelector(".moment time").getAttribute("datetime")) > t, Date.parse(tick));
  for (let i = 0; i < 100 && await asked() === before; i++) await page.waitForTimeout(20);
  check(await asked() > before, "live follows the log's tick");
  const early = new Date(Date.parse(tick) - 40 * 60000).toISOString();
  await page.goto(`${url}/fabric?at=${early}`);
  await page.waitForFunction(() => /no pause received|<|0\.\d/.test(document.querySelector("h1").textContent) && document.querySelector(".live").getAttribute("aria-pressed") === "false");
  check(await page.locator(".worst li").count() === 0 || !/4\d\s%/.test(await page.locator("h1").innerText()), `before it began nothing is hot: ${await page.locator("h1").innerText()}`);
  await page.locator(".scrub").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((t) => new URL(location.href).searchParams.get("at") > t, early);
  check(await page.locator(".scrub").evaluate((el) => document.activeElement === el), "the slider keeps the focus");
  await page.getByRole("button", { name: "live", exact: true }).click();
  await page.waitForFunction(() => /4\d\s%/.test(document.querySelector("h1").textContent));
  check(!new URL(page.url()).searchParams.has("at"), "live has no time in its address");
}

/** What the history cannot answer is said, and all else is there. */
export async function fabricWithoutHistory({ page, site, url, check }) {
  await site.set("/prometheus/api/v1/query", { status: "error", errorType: "unavailable", error: "the history is still to come" }, 503);
  await page.goto(`${url}/fabric`);
  await page.getByText("The history cannot be read: the history is still to come").waitFor();
  check(await page.locator("canvas.cells").isVisible(), "the switches are there");
}
fabricWithoutHistory.allows = /503/;

// watchCells keeps when maps were drawn and how long it took. It runs in the page.
function watchCells() {
  window.draws = [];
  window.answered = NaN;
  window.longest = 0;
  new PerformanceObserver((list) => { for (const e of list.getEntries()) if (e.name === "cells") window.draws.push({ at: e.startTime, ms: e.duration }); }).observe({ type: "measure" });
  new PerformanceObserver((list) => { for (const e of list.getEntries()) window.longest = Math.max(window.longest, e.duration); }).observe({ type: "longtask" });
  window.Worker = class extends Worker { // the history is read by another thread
    constructor(...how) {
      super(...how);
      this.addEventListener("message", () => { window.answered = performance.now(); });
    }
  };
}

// work returns how many ms of processor time the page's thread has taken: what a
// clock says depends on whoever else is at work.
async function work(context, page) {
  const devtools = await context.newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => (await devtools.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
}

// updates has the log move on and tells how long from the history's last answer to
// the picture. That each map is drawn once, and nothing is added, is wanted.
async function updates({ page, context, site, check, note, maps }) {
  await site.connected();
  const cpu = await work(context, page);
  await page.waitForTimeout(300);
  const { tick } = await site.get("/api/v1/status");
  const took = [];
  for (let i = 1; i <= 5; i++) {
    const before = await page.evaluate(() => { window.draws.length = 0; window.longest = 0; window.answered = NaN; return document.querySelectorAll("*").length; }), worked = await cpu();
    await site.send("state", { tick: new Date(Date.parse(tick) + i * 10000).toISOString() });
    await page.waitForFunction((n) => window.draws.filter((d) => d.at > window.answered).length >= n, maps);
    await page.waitForTimeout(100);
    const seen = await page.evaluate(() => { const after = window.draws.filter((d) => d.at > window.answered); return { draws: after.length, update: Math.max(...after.map((d) => d.at + d.ms)) - window.answered, paint: after.reduce((s, d) => s + d.ms, 0), longest: window.longest, nodes: document.querySelectorAll("*").length }; });
    check(seen.draws === maps, `one update draws each map once: ${seen.draws} of ${maps}`);
    check(seen.nodes - before < 20, `an update adds ${seen.nodes - before} elements`);
    took.push({ ...seen, cpu: await cpu() - worked });
  }
  note(`updates: the page's own work ${took.map((t) => Math.round(t.cpu)).join(", ")} ms of processor time each, all of its second included; by the clock from the last answer to the picture ${took.map((t) => Math.round(t.update)).join(", ")} ms, of it drawing ${took.map((t) => t.paint.toFixed(1)).join(", ")} ms; longest task ${Math.round(Math.max(...took.map((t) => t.longest)))} ms`);
}

/** 768 switches and 49,152 ports: how long the first picture and an update take, and what they cost. */
export async function fabricAtSize({ page, context, site, url, check, note }) {
  await page.addInitScript(watchCells);
  const cpu = await work(context, page);
  page.setDefaultTimeout(60000);
  await page.goto(`${url}/fabric`);
  await page.locator(".worst li").first().waitFor();
  const first = await page.evaluate(() => ({ paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime, map: window.draws.at(-1)?.at, cells: Number(document.querySelector("canvas.cells").getAttribute("aria-valuemax")) + 1, nodes: document.querySelectorAll("*").length }));
  check(first.cells === 768, `${first.cells} cells`);
  check(first.nodes < 500, `the document has ${first.nodes} elements`);
  check(/all links between two tiers/.test(await page.locator(".linkkey").innerText()), "links of a large fabric are put together");
  note(`until the first picture the page worked ${Math.round(await cpu())} ms of processor time; by the clock first contentful paint after ${Math.round(first.paint)} ms, 768 switches drawn after ${Math.round(first.map)} ms, ${first.nodes} elements`);
  await updates({ page, context, site, check, note, maps: 1 });
  const name = await page.locator(".worst a").first().innerText();
  await page.evaluate(() => { window.began = performance.now(); });
  await page.locator(".worst a").first().click();
  await page.waitForFunction(() => document.querySelectorAll(".port").length === 64);
  note(`64 ports of ${name} after ${Math.round(await page.evaluate(() => performance.now() - window.began))} ms`);
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  check(nodes < 1600, `a switch's ports and curves are ${nodes} elements`);
}

/** Power and cooling: the least margins first, what belongs together lights up, each piece leads to its members and curves. */
export async function power({ page, url, check }) {
  await page.goto(`${url}/power`);
  await page.locator(".worst li").first().waitFor();
  const headline = await page.locator("h1").innerText();
  check(/^8 racks; psu r000\/a\/3 delivers nothing; pdu row00\/b at 8\d\s% of its limit; node n000[4-7] \d(\.\d+)?\s°C from slowdown$/.test(headline), `the headline tells the least margins: ${headline}`);
  check((await page.locator("section.leastheat .num").first().innerText()).startsWith(await page.evaluate(() => /(\d[\d.]*)\s°C/.exec(document.querySelector("h1").textContent)[1])), "and so does the list");
  const card = page.locator(".rackcard").first(), shown = (await card.innerText()).replace(/\s+/g, " ");
  check(/^rack r001 .*shelf a \d+ % shelf b \d+ % \d[\d.]* °C to slowdown at n000[4-7] loop r001 [\d.]+ l\/min, [\d.]+ °C → [\d.]+ °C$/.test(shown), `the rack with the least margin, with its power and cooling: ${shown}`);
  const maps = page.locator("canvas.cells");
  check(await maps.count() === 3, "three maps");
  await maps.nth(1).focus();
  await page.keyboard.press("Home");
  check(/^feed a, .*% of the limit at the tightest behind it/.test(await maps.nth(1).getAttribute("aria-valuetext")), `a feed is shown: ${await maps.nth(1).getAttribute("aria-valuetext")}`);
  await page.getByRole("button", { name: "GPU margin" }).click();
  check(new URL(page.url()).searchParams.get("measure") === "margin", "the address carries the measure");
  await maps.first().focus();
  await page.keyboard.press("Home");
  for (let i = 0; i < 12 && !/^rack r001/.test(await maps.first().getAttribute("aria-valuetext")); i++) await page.keyboard.press("ArrowRight");
  check(/to slowdown/.test(await maps.first().getAttribute("aria-valuetext")), `a rack tells its margin: ${await maps.first().getAttribute("aria-valuetext")}`);
  await page.keyboard.press("Enter");
  await page.locator(".member").first().waitFor();
  check(new URL(page.url()).searchParams.get("of") === "rack:r001", "a rack has an address");
  const members = await page.locator(".member").allInnerTexts();
  check(members.some((m) => m.includes("loop r001")) && members.some((m) => m.includes("node n0004")) && members.some((m) => m.includes("shelf r001/a")), `its members: ${members.join("; ")}`);
  await page.locator(".pastbox .plot .curve").first().waitFor();
  check((await page.locator(".facts").innerText()).includes("cooled by crah row00"), "with what cools it");
  await page.locator(".member", { hasText: "node n0004" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".member").length === 8);
  check((await page.locator(".facts").innerText()).includes("loop r001"), "a node is cooled by its loop");
  await page.goBack();
  await page.goBack();
  await page.locator("section.floor canvas.cells").waitFor();
}

/** 16,384 GPUs: 512 racks, their power and their cooling. */
export async function powerAtSize({ page, context, site, url, check, note }) {
  await page.addInitScript(watchCells);
  const cpu = await work(context, page);
  page.setDefaultTimeout(60000);
  await page.goto(`${url}/power`);
  await page.locator(".worst li").first().waitFor();
  const first = await page.evaluate(() => ({ paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime, map: window.draws.at(-1)?.at, cells: [...document.querySelectorAll("canvas.cells")].map((c) => Number(c.getAttribute("aria-valuemax")) + 1), nodes: document.querySelectorAll("*").length }));
  check(first.cells[0] >= 512 && first.cells[1] > 1000, `cells: ${first.cells}`);
  check(first.nodes < 1000, `the document has ${first.nodes} elements`);
  note(`until the first picture the page worked ${Math.round(await cpu())} ms of processor time; by the clock first contentful paint after ${Math.round(first.paint)} ms, maps of ${first.cells.join(" + ")} cells drawn after ${Math.round(first.map)} ms, ${first.nodes} elements`);
  await updates({ page, context, site, check, note, maps: 3 });
}

/** Text stands out, and nothing is wider than the window, on every map. */
export async function mapsLook({ page, site, url, check, note }) {
  page.setDefaultTimeout(60000);
  const { paths } = await site.get("/api/v1/paths");
  for (const path of paths) {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(url + path);
    await page.locator(".worst li, .pastbox .plot .curve, .portcells a").first().waitFor();
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const ratios = await page.evaluate(measureText);
      for (const r of ratios) check(r.ratio >= 4.5, `${colorScheme} ${path}: ${r.what} has contrast ${r.ratio.toFixed(2)}`);
    }
    for (const width of [1280, 1000, 640, 390, 360]) {
      await page.setViewportSize({ width, height: 740 });
      const wide = await overflow(page, width);
      check(wide.length === 0, `${width} px, ${path}: ${wide.slice(0, 5).join("; ")}`);
    }
  }
  note(`${paths.length} addresses`);
}

/** The wall has the fabric and the racks, as sharp as the screen, and large enough to be read from afar. */
export async function wallMaps({ page, url, check }) {
  await page.setViewportSize({ width: 2560, height: 1440 });
  await page.goto(`${url}/wall`);
  const maps = page.locator(".wallmaps section");
  await maps.first().getByText(/^\d+ switches; p3-leaf/).waitFor();
  await maps.last().getByText(/^\d+ racks; /).waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll(".wallmaps canvas.cells")].filter((c) => c.height > 20).length === 2);
  for (const c of await page.locator(".wallmaps canvas.cells").evaluateAll((all) => all.map((c) => [c.width, c.getBoundingClientRect().width]))) check(Math.abs(c[0] - c[1]) <= 2, `a canvas has as many pixels as the screen: ${c}`);
  check(await page.evaluate(() => document.documentElement.scrollHeight) <= 1440, "all of it is on one screen");
  await page.locator(".wallmaps canvas.cells").first().focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/fabric\?of=/);
}
