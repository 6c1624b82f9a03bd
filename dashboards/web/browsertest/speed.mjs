// What the views cost a browser at a site's full size. The machine is shared with
// whatever else runs, so what is shown first is processor time of the page's own
// thread, from Chromium's trace; the clock stands beside it.

const categories = ["devtools.timeline", "disabled-by-default-devtools.timeline", "loading", "blink.user_timing"];
const updates = 30; // half a minute and five of the log, in which all that is asked for again comes round. The first has the scripts warm up, and is shown apart

/** Every view, one after the other: until the first paint, until it is whole, and what an update takes. */
export async function speed({ page, context, browser, site, url, given, check, note }) {
  page.setDefaultTimeout(60000);
  const devtools = await context.newCDPSession(page);
  note("view | until the first contentful paint: CPU (script, style and layout) · clock · requests, KB | whole: CPU · clock | an update: CPU of each; longest task | elements");
  for (const view of given.views) {
    await page.goto("about:blank");
    await devtools.send("HeapProfiler.collectGarbage"); // what the view before has left
    await browser.startTracing(page, { categories });
    const first = await firstPaint(page, url, view);
    await moved(page, site);
    const shown = costs(JSON.parse(await browser.stopTracing()).traceEvents);
    check(shown.updates.length === updates, `${view.name}: ${shown.updates.length} updates were seen`);
    note(`${view.name} | ${ms(shown.paint.cpu)} (${ms(shown.paint.script)}, ${ms(shown.paint.layout)}) · ${ms(first.paint)} · ${first.requests}, ${(first.bytes / 1000).toFixed(0)} | ${ms(shown.whole)} · ${ms(first.whole)} | ${shown.updates.map((u) => ms(u.cpu)).join(", ")}; ${ms(Math.max(...shown.updates.slice(1).map((u) => u.longest)))} | ${first.nodes}`);
  }
}

const ms = (v) => `${Math.round(v)} ms`;

async function firstPaint(page, url, view) {
  await page.goto(url + view.path);
  await page.locator(view.whole).first().waitFor();
  return pageCosts(page);
}

/** pageCosts is what a page says of its own beginning: times by the clock, and what it had fetched by then. */
export function pageCosts(page) {
  return page.evaluate(() => {
    performance.mark("whole");
    const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime;
    const before = performance.getEntriesByType("resource").filter((r) => r.responseEnd > 0 && r.responseEnd <= paint);
    const document_ = performance.getEntriesByType("navigation")[0];
    return { paint, whole: performance.now(), requests: before.length + 1, bytes: before.reduce((s, r) => s + r.transferSize, document_.transferSize), nodes: document.querySelectorAll("*").length };
  });
}

// moved has the log move on: ten seconds each, ten jobs with another step.
async function moved(page, site) {
  await site.connected();
  await page.waitForTimeout(1500); // what a view asks for beside
  const { tick } = await site.get("/api/v1/status"), { jobs } = await site.get("/api/v1/jobs");
  for (let i = 0; i < updates; i++) {
    const at = new Date(Date.parse(tick) + (i + 1) * 10000).toISOString();
    for (const job of jobs.slice(0, 10)) Object.assign(job, { step_seconds: 1 + i / 10, last_step: at });
    await page.evaluate((n) => { performance.mark(`update ${n}`); }, i);
    await site.send("state", { tick: at, jobs });
    await page.waitForFunction((t) => document.querySelector(".time time").getAttribute("datetime") === t, at);
    await page.waitForTimeout(900); // what is asked of the history, and drawn
  }
  await page.evaluate((n) => { performance.mark(`update ${n}`); }, updates);
}

/** trace has something done, and says what the page's thread did meanwhile: {paint, longest, cpu in ms of processor time, seconds}. */
export async function trace(browser, page, done) {
  await browser.startTracing(page, { categories });
  await done();
  const { paint, began, tasks } = threadOf(JSON.parse(await browser.stopTracing()).traceEvents), after = tasks.filter((e) => e.ts >= paint.ts);
  return { paint: sum(tasks, began.ts, paint.ts), longest: Math.max(...after.map((e) => e.tdur / 1000)), cpu: sum(after, 0, Infinity), seconds: (tasks.at(-1).ts - paint.ts) / 1e6 };
}

// sum adds up events between instants, in ms of processor time.
const sum = (list, from, to) => list.reduce((s, e) => (e.ts >= from && e.ts < to ? s + e.tdur / 1000 : s), 0);

// threadOf finds the page's thread in a trace, and its tasks since it was opened.
function threadOf(events) {
  const paint = events.find((e) => e.name === "firstContentfulPaint" && e.args?.data?.navigationId);
  const own = events.filter((e) => e.pid === paint.pid && e.tid === paint.tid && e.tdur !== undefined).sort((a, b) => a.ts - b.ts);
  const began = events.find((e) => e.name === "navigationStart" && e.args?.data?.navigationId === paint.args.data.navigationId) ?? own[0];
  return { paint, began, own, tasks: own.filter((e) => e.name === "RunTask") };
}

// costs adds up the tasks of the page's thread between instants of a trace.
function costs(events) {
  const { paint, began, own, tasks } = threadOf(events);
  const at = (name) => events.filter((e) => e.pid === paint.pid && e.name === name).at(-1)?.ts;
  const named = (...names) => own.filter((e) => names.includes(e.name));
  const out = { updates: [], whole: sum(tasks, began.ts, at("whole")), paint: {
    cpu: sum(tasks, began.ts, paint.ts), script: sum(named("EvaluateScript", "v8.evaluateModule", "v8.compile", "v8.compileModule"), began.ts, paint.ts), layout: sum(named("UpdateLayoutTree", "Layout"), began.ts, paint.ts) } };
  for (let i = 0; i < updates && at(`update ${i + 1}`); i++) {
    const from = at(`update ${i}`), to = at(`update ${i + 1}`), inside = tasks.filter((e) => e.ts >= from && e.ts < to);
    out.updates.push({ cpu: sum(tasks, from, to), longest: Math.max(0, ...inside.map((e) => e.tdur / 1000)) });
  }
  return out;
}
