// How the page looks: contrast, narrow screens, large sites.

const themes = ["light", "dark"];

/** Text stands out from what is behind it: WCAG AA, in both themes. */
export async function contrast({ page, site, url, check, note }) {
  const { incidents } = await site.get("/api/v1/incidents");
  let least = [99, ""];
  for (const path of ["/", `/incidents/${incidents[0].id}`, `/incidents/${incidents.at(-1).id}`, "/incidents", "/entity?of=nic:h9/nic0", "/jobs/train", "/coverage", "/silences", "/wall"]) {
    await page.goto(url + path);
    await page.locator(shown(path)).first().waitFor();
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme });
      const ratios = await page.evaluate(measureText);
      check(ratios.length > 10, `${path}: text was measured`);
      for (const r of ratios) {
        if (r.ratio < least[0]) least = [r.ratio, `${colorScheme} ${path} ${r.what}`];
        check(r.ratio >= 4.5, `${colorScheme} ${path}: ${r.what} has contrast ${r.ratio.toFixed(2)}`);
      }
      for (const r of await page.evaluate(measureMarks)) check(r.ratio >= 3, `${colorScheme} ${path}: drawn ${r.what} has contrast ${r.ratio.toFixed(2)}`);
      check(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme) === colorScheme, `the browser's own parts are ${colorScheme}`);
    }
  }
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  for (const r of await page.evaluate(measureText)) check(r.ratio >= 4.5, `printed: ${r.what} has contrast ${r.ratio.toFixed(2)}`);
  check(await page.locator("#bar nav").isHidden() && await page.locator("h1").isVisible(), "paper has no buttons");
  note(`least contrast of text: ${least[0].toFixed(2)}, ${least[1]}`);
}

// shown is what stands on a view once it is drawn.
function shown(path) {
  return /^\/(incidents\/|entity)/.test(path) ? ".plot .curve" : { "/incidents": ".strip .span", "/": ".coupling .domainbox .stateof", "/coverage": ".wanted tbody tr", "/silences": ".preview p", "/wall": ".wallincident" }[path] ?? ".placement tbody tr";
}

// These two run in the page.
export function measureText() {
  const colour = (c) => { const m = c.match(/[\d.]+/g).map(Number); return { rgb: m.slice(0, 3), a: m[3] ?? 1 }; };
  const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (el) => { for (let e = el; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor); if (c.a > 0.99) return c.rgb; } return [255, 255, 255]; };
  const out = [];
  for (const el of document.querySelectorAll("body *")) {
    if (![...el.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const box = el.getBoundingClientRect(), style = getComputedStyle(el);
    if (box.width < 2 || style.visibility === "hidden" || el.closest(".unseen, [hidden], noscript, title, dialog:not([open])")) continue;
    const own = el instanceof SVGElement ? style.fill : style.color;
    const a = light(colour(own).rgb), b = light(behind(el));
    out.push({ ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), what: `${el.tagName.toLowerCase()}.${el.getAttribute("class") ?? ""} "${el.textContent.trim().slice(0, 30)}"` });
  }
  return out;
}

function measureMarks() {
  const colour = (c) => c.match(/[\d.]+/g).map(Number).slice(0, 3);
  const light = (rgb) => rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const paper = light(colour(getComputedStyle(document.documentElement).backgroundColor));
  const ratio = (c) => { const v = light(colour(c)); return (Math.max(v, paper) + 0.05) / (Math.min(v, paper) + 0.05); };
  const out = [];
  for (const el of document.querySelectorAll(".sign path.body, .sign.d-network path, .chain .shape")) out.push({ ratio: ratio(getComputedStyle(el).fill), what: el.parentElement.getAttribute("class") });
  for (const el of document.querySelectorAll(".plot .curve, .spark .curve")) out.push({ ratio: ratio(getComputedStyle(el).stroke), what: "curve" });
  return out;
}

/** Nothing is wider than the window, be it a small phone's. */
export async function narrow({ page, site, url, check }) {
  const { incidents } = await site.get("/api/v1/incidents");
  for (const path of ["/", "/incidents", "/entity?of=nic:h9/nic0", "/jobs/train", "/coverage", "/silences", "/wall", ...incidents.slice(2).map((i) => `/incidents/${i.id}`)]) {
    await page.goto(url + path);
    await page.locator(shown(path)).first().waitFor();
    for (const width of [3840, 2560, 1280, 1000, 640, 390, 360]) {
      await page.setViewportSize({ width, height: 740 });
      if (path.startsWith("/incidents/")) await page.waitForFunction((w) => Math.abs(document.querySelector("svg.chain").width.baseVal.value - document.querySelector(".chainbox").clientWidth) < 1 && innerWidth === w, width);
      const wide = await overflow(page, width);
      check(wide.length === 0, `${width} px, ${path}: ${wide.slice(0, 5).join("; ")}`);
    }
  }
  await page.locator("svg.chain.down").waitFor();
}

/** overflow returns what stays wider than the window: curves are drawn anew when they notice another size. */
export async function overflow(page, width) {
  for (let tries = 0; ; tries++) {
    const wide = await page.evaluate(tooWide, width);
    if (wide.length === 0 || tries === 200) return wide;
    await page.waitForTimeout(100);
  }
}

// tooWide lists what is wider than the window. It runs in the page.
function tooWide(width) {
  const out = document.documentElement.scrollWidth > width ? [`the page is ${document.documentElement.scrollWidth} px wide`] : [];
  const clipped = (el) => { for (let e = el.parentElement; e; e = e.parentElement) if (["hidden", "auto", "scroll"].includes(getComputedStyle(e).overflowX)) return true; return false; };
  for (const el of document.querySelectorAll("main *, #bar *")) {
    const box = el.getBoundingClientRect();
    if (box.width > 0 && (box.right > width + 1 || box.left < -1) && !el.closest(".unseen, .skip, details:not([open])") && !clipped(el)) out.push(`${el.tagName}.${el.getAttribute("class")} ${Math.round(box.left)}–${Math.round(box.right)}`);
  }
  return out;
}

/** A site of 1,000 jobs and 500 incidents: an update touches what changed, nothing else. */
export async function large({ page, site, url, check, note }) {
  const began = Date.now();
  await page.goto(url);
  await page.locator("section.open .incident-row").first().waitFor();
  note(`overview of 1,000 jobs and 500 incidents after ${Date.now() - began} ms`);
  check(await page.locator("section.open .incident-row").count() === 50, "all open incidents");
  check(await page.locator("section.resolved .incident-row").count() === 20, "the newest resolved ones");
  // By key: lines above it take their height when they come near, and move it from under a pointer.
  await page.getByRole("button", { name: "Show all 450" }).press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("section.resolved .incident-row").length === 450);
  await page.goto(`${url}/jobs`);
  await page.waitForFunction(() => document.querySelectorAll(".job-row").length === 1000);
  await site.connected();
  await page.evaluate(() => {
    window.first = document.querySelector(".job-row");
    window.touched = new Set();
    window.longest = 0;
    new MutationObserver((list) => { for (const m of list) { const row = (m.target.nodeType === 1 ? m.target : m.target.parentElement)?.closest?.(".job-row"); if (row) window.touched.add(row); for (const n of [...m.addedNodes, ...m.removedNodes]) if (n.nodeName === "LI") window.moved = true; } }).observe(document.querySelector("main"), { subtree: true, childList: true, attributes: true, characterData: true });
    new PerformanceObserver((list) => { for (const e of list.getEntries()) window.longest = Math.max(window.longest, e.duration); }).observe({ type: "longtask" });
  });
  const { jobs } = await site.get("/api/v1/jobs");
  const status = await site.get("/api/v1/status");
  for (let i = 1; i <= 5; i++) {
    const tick = new Date(Date.parse(status.tick) + i * 1000).toISOString();
    for (const job of jobs.slice(0, 10)) Object.assign(job, { step_seconds: 1 + i / 10, last_step: tick });
    await site.send("state", { tick, jobs });
    await page.waitForFunction((t) => document.querySelector(".time time").getAttribute("datetime") === t, tick);
  }
  const seen = await page.evaluate(() => ({ touched: window.touched.size, moved: Boolean(window.moved), same: window.first === document.querySelector(".job-row"), longest: window.longest, nodes: document.querySelectorAll("*").length }));
  check(seen.touched > 0 && seen.touched <= 10, `${seen.touched} of 1,000 lines were touched where 10 jobs changed`);
  check(!seen.moved && seen.same, "no line was taken out and put back");
  check(seen.nodes < 30000, `the document has ${seen.nodes} elements`);
  note(`longest task while 1,000 jobs were updated: ${Math.round(seen.longest)} ms; ${seen.nodes} elements`);
  await page.getByRole("searchbox").fill("run-0999");
  await page.waitForFunction(() => document.querySelectorAll(".job-row").length === 1);
}

/** Memory of curves is bounded, however long an incident is watched; gaps and peaks survive. */
export async function boundedCurves({ page, url, check }) {
  await page.goto(url);
  const seen = await page.evaluate(async () => {
    const { Series } = await import("/app/series.js");
    const series = new Series({ entity: "nic:a", metric: "port_tx_bytes_total", unit: "bytes/s" });
    let widest = 0;
    for (let i = 0; i < 50000; i += 50) {
      const t = [], v = [];
      for (let k = i; k < i + 50; k++) { t.push(k * 1000); v.push(k % 1000 === 500 ? null : k === 777 ? 1e6 : 5); }
      series.add(t, v);
      widest = Math.max(widest, series.t.length);
    }
    return { widest, gaps: series.gaps.length, peak: Math.max(...series.v), last: series.t.at(-1), none: series.at(500 * 1000), some: series.at(49999000) };
  });
  check(seen.widest <= 4050 && seen.last === 49999000, `at most 4,000 samples are kept: ${seen.widest}`);
  check(seen.gaps === 50 && seen.none === -1 && seen.some >= 0, `gaps stay gaps: ${JSON.stringify(seen)}`);
  check(seen.peak === 1e6, "the peak survives");
}
