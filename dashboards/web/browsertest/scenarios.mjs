// What the page must do, as a person would try it.

import { overflow } from "./looks.mjs";

const second = (iso, by) => new Date(Date.parse(iso) + by * 1000).toISOString();
const openRows = "section.open .incident-row";

async function state(site, by, more = {}) {
  const status = await site.get("/api/v1/status");
  return site.send("state", { tick: second(status.tick, by), ...more });
}

/** A live incident appears without a reload, is announced, grows and is resolved. */
export async function liveIncident({ page, site, url, check }) {
  await page.goto(url);
  await site.connected();
  await page.getByText("Healthy: no incident, risk or alert").waitFor();
  check(await page.locator("html").getAttribute("data-state") === "healthy", "the page has the colour of the state");
  const marked = await page.evaluate(() => { window.marked = true; return document.title; });
  check(!marked.startsWith("("), "no count in the title of a calm site");
  const incident = await site.get("/api/v1/example");
  await site.send("incident", incident, 7);
  await page.locator(openRows).waitFor();
  const row = await page.locator(openRows).innerText();
  check(row.includes("slower since"), `the row tells the sentence: ${row}`);
  check(row.includes("slow-receiver") && row.includes("h9/nic0") && row.includes("lost"), `the row tells root, signature and loss: ${row}`);
  check((await page.locator("#news").textContent()).startsWith("New warning incident: train"), "it is announced");
  check((await page.title()).startsWith("(1) "), "the title counts it");
  await state(site, 0.5);
  await page.locator("h1", { hasText: /^Degraded: nic h9\/nic0 \(slow-receiver\)/ }).waitFor();
  check(await page.locator("html").getAttribute("data-state") === "degraded", "and the page its colour");
  check((await page.locator(".coupling .domainbox[data-domain='network']").innerText()).includes("cause of incident"), "the domain of the cause says so");
  await state(site, 1, { incidents: [{ ...incident, updated: second(incident.updated, 1), impact: { ...incident.impact, jobs: incident.impact.jobs.map((j) => ({ ...j, gpu_seconds_lost: 7200 })) } }] });
  await page.getByText("2 GPU-h lost").first().waitFor();
  await site.send("incident", { ...incident, revision: incident.revision + 1, state: "resolved", resolved: second(incident.updated, 5), updated: second(incident.updated, 5) }, 8);
  await page.locator("section.resolved .incident-row").waitFor();
  check(await page.locator(openRows).count() === 0, "it left the open ones");
  await site.send("incident", incident, 6);
  await state(site, 2);
  check(await page.locator(openRows).count() === 0, "an older revision changes nothing");
  check(await page.evaluate(() => window.marked === true), "nothing was reloaded");
}

/** What comes while a line is pressed does not take the click away from it. */
export async function pressed({ page, site, url, check }) {
  // Who presses for a second sees what comes; how long a second is here, nobody knows.
  await page.addInitScript(() => { const after = setTimeout; window.setTimeout = (fn, ms, ...more) => after(fn, ms === 1000 ? 1e6 : ms, ...more); });
  await page.goto(url);
  await site.connected();
  await page.waitForFunction(() => document.querySelector(".budget")?.innerText.includes("\n")); // the last to be answered
  const line = page.locator("section.jobs .job-row").first();
  const href = await line.getAttribute("href");
  await page.evaluate(() => {
    const stream = new EventSource("/api/v1/stream");
    window.received = new Promise((done) => stream.addEventListener("incident", () => requestAnimationFrame(() => requestAnimationFrame(done))));
  });
  await site.connected(2);
  await line.hover();
  const { y } = await line.boundingBox();
  await page.mouse.down();
  await site.send("incident", await site.get("/api/v1/example"), 7);
  await page.evaluate(() => window.received);
  await page.mouse.up();
  await page.locator(".onejob").waitFor();
  check(new URL(page.url()).pathname === href, "the line that was pressed is the one that was meant");
  await page.goBack();
  await page.locator(openRows).waitFor();
  check((await line.boundingBox()).y > y, "what came stands above it");
}

/** Deep links, back and forward, scroll and focus. */
export async function deepLink({ page, site, url, check }) {
  const { incidents } = await site.get("/api/v1/incidents");
  await page.goto(`${url}/incidents/${incidents[0].id}`);
  await page.locator("h1 strong").waitFor();
  check((await page.locator("h1").innerText()).startsWith("train (12 GPUs) is"), "the sentence comes first");
  check((await page.title()).includes("train (12 GPUs)"), "the title is the sentence");
  await page.getByRole("link", { name: "← Overview" }).click();
  await page.locator("section.open .incident-row").waitFor();
  check(new URL(page.url()).pathname === "/", "the address follows");
  await page.locator("section.resolved .incident-row").last().click();
  await page.locator("h1 strong").waitFor();
  check(new URL(page.url()).pathname === `/incidents/${incidents.at(-1).id}`, "a line leads to its incident");
  await page.goBack();
  await page.locator("section.resolved .incident-row").first().waitFor();
  check(await page.evaluate((id) => document.activeElement.getAttribute("href") === `/incidents/${id}`, incidents.at(-1).id), "going back returns to the line");
  await page.goForward();
  await page.locator(".chainbox svg").waitFor();
  await page.goto(`${url}/jobs`);
  await page.locator(".job-row").first().waitFor();
  check(await page.locator(".job-row").count() === 2, "the jobs have an address");
  await page.locator(".job-row").first().click();
  await page.locator(".onejob .incident-row").first().click();
  await page.locator("h1 strong").waitFor();
}

/** An incident that nobody knows is said to be unknown, and appears when it is known. */
export async function unknownIncident({ page, site, url, check }) {
  await page.goto(`${url}/incidents/inc-0000000000000000`);
  await page.getByText("No incident inc-0000000000000000 is known here").waitFor();
  check(await page.locator(".incident").isHidden(), "nothing else is shown of it");
  const { incidents } = await site.get("/api/v1/incidents");
  await site.connected();
  await site.send("incident", { ...incidents[0], id: "inc-0000000000000000" }, 3);
  await page.locator("h1 strong").waitFor();
}
unknownIncident.allows = /404 \(Not Found\)/;

/** The chain's picture has its nodes, relations and lags; choosing a node finds its curves. */
export async function chain({ page, site, url, check }) {
  const { incidents } = await site.get("/api/v1/incidents");
  for (const known of incidents) {
    await page.goto(`${url}/incidents/${known.id}`);
    await page.locator("svg.chain").waitFor();
    const seen = known.chain.some((l) => l.entity === known.root.entity);
    const nodes = known.chain.length + (seen ? 0 : 1);
    check(await page.locator("svg.chain .node").count() === nodes, `${known.id}: ${nodes} nodes`);
    check(await page.locator("svg.chain .edge").count() === nodes - 1, `${known.id}: ${nodes - 1} edges`);
    check(await page.locator("svg.chain .node.root").count() === 1 && await page.locator("svg.chain .node.degraded").count() === 1, `${known.id}: one root, one hurt`);
    const lags = await page.locator("svg.chain .lag").allTextContents();
    const shown = known.chain.filter((l) => l.from !== "");
    check(lags.length === shown.length && lags.every((l) => /^[+−]?[\d.]+( ± [\d.]+)? s$/u.test(l.replaceAll("\u00a0", " "))), `${known.id}: lags with their uncertainty: ${lags}`);
    const relations = await page.locator("svg.chain .edge:not(.implied) .relation").allTextContents();
    check(shown.every((l, i) => relations[i].includes(l.relation)), `${known.id}: relations ${relations}`);
    const values = await page.locator("svg.chain .value").allTextContents();
    check(values.join(" ").includes("→"), `${known.id}: what each shows, before and now`);
    check(await page.locator(".chainbox ol.unseen li").count() === nodes, `${known.id}: the same is said in words`);
    await overlaps(page, "svg.chain text", check, known.id);
  }
  const job = page.locator("svg.chain .node.degraded");
  await page.locator(".curve .plot .curve").first().waitFor();
  await job.click();
  check(await page.locator(".curve.found").count() >= 1, "choosing a node finds its curves");
  await page.setViewportSize({ width: 390, height: 800 });
  await page.locator("svg.chain.down").waitFor();
  await overlaps(page, "svg.chain text", check, "narrow");
}

// overlaps finds texts drawn over each other.
async function overlaps(page, selector, check, what) {
  const found = await page.evaluate((sel) => {
    const boxes = [...document.querySelectorAll(sel)].map((el) => ({ text: el.textContent, box: el.getBoundingClientRect() }));
    const out = [];
    for (let i = 0; i < boxes.length; i++) for (let k = i + 1; k < boxes.length; k++) {
      const a = boxes[i].box, b = boxes[k].box;
      const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (w > 1 && h > 4) out.push(`"${boxes[i].text}" and "${boxes[k].text}"`);
    }
    return out;
  }, selector);
  check(found.length === 0, `${what}: texts lie over each other: ${found.join("; ")}`);
}

/** Curves on one axis, with the onset as an interval, gaps as gaps, values under the crosshair. */
export async function curves({ page, site, url, check }) {
  const { incidents } = await site.get("/api/v1/incidents");
  const id = incidents[0].id;
  const shown = await site.get(`/api/v1/incidents/${id}/curves`);
  await page.goto(`${url}/incidents/${id}`);
  await page.locator(".curves .plot .curve").first().waitFor();
  const plots = page.locator(".plots > .curve");
  check(await plots.count() === Math.min(10, shown.curves.length), `${shown.curves.length} curves, at first at most ten`);
  check((await plots.first().getAttribute("data-metric")) === "job_step_seconds", "the step time comes first");
  check((await plots.nth(1).getAttribute("data-entity")) === incidents[0].root.entity, "the root comes next");
  check(await page.locator(".ticks .time").count() >= 3, "the time axis has ticks");
  const geometry = await page.evaluate(() => [...document.querySelectorAll(".plot")].map((svg) => {
    const own = svg.getBoundingClientRect(), band = svg.querySelector(".band:not(.own)").getBoundingClientRect(), opened = svg.querySelector(".mark.opened").getBoundingClientRect();
    const zero = [...svg.querySelectorAll("text.axis")].map((t) => t.textContent);
    return { left: own.left, width: own.width, band: [band.left, band.width], opened: opened.left, zero: zero.includes("0"), axis: zero.length };
  }));
  for (const g of geometry) {
    check(Math.abs(g.left - geometry[0].left) < 1 && Math.abs(g.band[0] - geometry[0].band[0]) < 1 && Math.abs(g.opened - geometry[0].opened) < 1, "all curves share one time axis");
    check(g.zero && g.axis === 2, "every axis begins at zero and tells its end");
  }
  const span = (Date.parse(incidents[0].onset.latest) - Date.parse(incidents[0].onset.earliest)) / (Date.parse(shown.tick) - Date.parse(shown.from));
  check(Math.abs(geometry[0].band[1] - span * (geometry[0].width - 54)) < 2, `the onset is as wide as the interval is: ${geometry[0].band[1]}`);
  check(await page.locator(".plot .lost").count() === 1, "what was lost is shaded in the step time");
  const gaps = shown.curves.slice(0, 10).reduce((n, c) => n + (c.metric === "job_step_seconds" ? 0 : c.v.filter((v, i) => v === null && i > 0 && c.v[i - 1] !== null).length), 0);
  check(gaps === 0 || await page.locator(".plot .gap").count() > 0, "gaps are drawn as gaps");
  await crosshair({ page, check });
  if (shown.curves.length > 10) {
    await page.getByRole("button", { name: /more$/ }).click();
    check(await plots.count() === shown.curves.length, "the other curves come on demand");
  }
  const before = await page.locator(".plot .curve").first().getAttribute("d");
  const later = second(shown.tick, 4), step = shown.curves.find((c) => c.role === "effect");
  await site.set(`/api/v1/incidents/${id}/curves`, { ...shown, to: later, tick: later, curves: [{ ...step, t: [Date.parse(later)], v: [6.5] }] });
  await site.connected();
  await page.evaluate(() => { window.headline = document.querySelector("h1"); window.headline.focus(); });
  const [job] = incidents[0].impact.jobs;
  await site.send("state", { tick: later, incidents: [{ ...incidents[0], updated: later, impact: { ...incidents[0].impact, jobs: [{ ...job, gpu_seconds_lost: 36000 }] } }] });
  await page.getByText("10 GPU-h").first().waitFor();
  check(await page.evaluate(() => document.activeElement === window.headline), "what did not change was not drawn anew");
  await page.waitForFunction((d) => document.querySelector(".plot .curve").getAttribute("d") !== d, before);
  check(await page.locator(".plot .unfinished").count() === 0, "a step that ends is no stall");
  await site.send("state", { tick: second(later, 60) });
  await page.waitForFunction((t) => document.querySelector(".time time").getAttribute("datetime") === t, second(later, 60));
  check(await page.locator(".plot .unfinished").count() === 0, "curves that are behind the log show no stall");
  await site.set(`/api/v1/incidents/${id}/curves`, { ...shown, to: second(later, 80), tick: second(later, 80), curves: [] });
  await site.send("state", { tick: second(later, 80) });
  await page.locator(".plot .unfinished").waitFor({ state: "attached" });
  await site.send("incident", { ...incidents[0], revision: incidents[0].revision + 1, state: "resolved", resolved: second(later, 81), updated: second(later, 81) }, 9);
  await page.locator(".plot .unfinished").waitFor({ state: "detached" });
}

async function crosshair({ page, check }) {
  const box = await page.locator(".plot").first().boundingBox();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 20);
  await page.locator(".cross").waitFor();
  const at = await page.locator(".cross .at").textContent();
  check(/^\d\d:\d\d:\d\d$/.test(at), `the crosshair tells the time: ${at}`);
  const values = await page.locator(".plots .reading .value").allTextContents();
  check(values.every((v) => v !== "") && values[0].endsWith("s"), `each curve tells its value there: ${values}`);
  await page.mouse.move(5, 5);
  await page.locator(".cross").waitFor({ state: "hidden" });
  await page.locator(".stage .hand").focus();
  await page.keyboard.press("ArrowRight");
  const first = await page.locator(".cross .at").textContent();
  await page.keyboard.press("Shift+ArrowRight");
  check(await page.locator(".cross .at").textContent() !== first, "arrow keys move it");
  check((await page.locator(".stage .hand").getAttribute("aria-valuetext")).includes("train step time"), "it is said in words");
  await page.keyboard.press("Escape");
  await page.locator(".cross").waitFor({ state: "hidden" });
}

/** Everything about an incident that a person needs is on its page, in words. */
export async function wholeStory({ page, site, url, check }) {
  const { incidents } = await site.get("/api/v1/incidents");
  const known = incidents.at(-1);
  await page.goto(`${url}/incidents/${known.id}`);
  await page.locator(".revisions li").first().waitFor();
  const words = (await page.locator("main").innerText()).replaceAll("\u00a0", " ");
  const wanted = ["resolved", "was critical", "93 %", "revision 4", "reopened 1 time", "11.2 → 14.7 s", "1.31 ×", "41.3 → 31.5 %", "647 GPU-h", "97 %", "stalled", "0.656 s → none ends", "coolant-flow-loss",
    "Call cooling: flow of loop r44/a", "a failing pump from a closed valve", "no port received pause", "coolant-warm at cdu r44", "4 %",
    `quintet capture --incident ${known.id}`, "Opened as critical", "412 → 255 l/min", "1.98 → 1.18 GHz", "61 → 87 °C"];
  for (const w of wanted) check(words.includes(w), `the page does not say "${w}"`);
  check(await page.getByRole("link", { name: "incident", exact: true }).getAttribute("href") === `/api/v1/incidents/${known.id}`, "the raw incident is linked");
  await page.locator("header .time time[datetime]").waitFor();
  const time = page.locator("h1 time");
  check(/^\d{1,2} Nov \d\d:\d\d:\d\d$/.test(await time.textContent()), `the sentence's time is local, with the date if it is not today: ${await time.textContent()}`);
  check((await time.getAttribute("title")).endsWith("UTC"), "and UTC on hover");
}

/** Acknowledge and verdict are sent, taken back, and refused in the server's words. */
export async function verdict({ page, site, url, check }) {
  const { incidents } = await site.get("/api/v1/incidents");
  const path = `/api/v1/incidents/${incidents[0].id}`;
  await page.goto(url + `/incidents/${incidents[0].id}`);
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await page.getByRole("button", { name: "Acknowledged", pressed: true }).waitFor();
  await page.getByText("Acknowledged by night shift").waitFor();
  await page.getByRole("button", { name: "right", exact: true }).click();
  await page.getByRole("button", { name: "right", exact: true, pressed: true }).waitFor();
  await site.set(`${path}/verdict`, { error: "the incident is 91 days old" }, 409);
  await page.getByRole("button", { name: "wrong" }).click();
  await page.getByText("Not taken: the incident is 91 days old").waitFor();
  check(await page.getByRole("button", { name: "right", exact: true, pressed: true }).count() === 1, "what was refused changes nothing");
  const posts = (await site.control({ Do: "count" })).seen.filter((s) => s.post);
  check(posts.length === 3 && posts[0].post === `${path}/acknowledge` && JSON.parse(posts[1].body).verdict === "right" && JSON.parse(posts[2].body).verdict === "wrong", `what was sent: ${JSON.stringify(posts)}`);
}
verdict.allows = /409 \(Conflict\)/;

/** Names that are markup are text everywhere. */
export async function hostileNames({ page, site, url, check }) {
  const { incidents } = await site.get("/api/v1/incidents");
  for (const path of ["/", "/jobs", `/incidents/${incidents[0].id}`]) {
    await page.goto(url + path);
    await page.getByText("onerror=window.pwned=1").first().waitFor();
    if (path.startsWith("/incidents")) await page.locator(".plot .curve").first().waitFor();
    check(await page.evaluate(() => window.pwned) === undefined, `${path}: a name ran as script`);
    await page.setViewportSize({ width: 360, height: 740 });
    const wide = await overflow(page, 360);
    check(wide.length === 0, `${path}: long names make it wider than a phone: ${wide.slice(0, 12).join("; ")}`);
    check(await page.locator("main img, main script, main iframe, #bar script, #bar img:not([src='/icon.svg'])").count() === 0, `${path}: a name became an element`);
  }
  await page.getByText(`"><script>window.pwned=1</script>`).first().waitFor();
}

/** Everything works by keyboard, and focus can be seen. */
export async function keyboard({ page, url, check }) {
  await page.goto(url);
  await page.locator("section.open .incident-row").waitFor();
  await page.keyboard.press("j");
  check(await page.evaluate(() => document.activeElement.matches("section.open .incident-row")), "j goes to the first line");
  const outline = await page.evaluate(() => { const c = getComputedStyle(document.activeElement); return `${c.outlineStyle} ${c.outlineWidth}`; });
  check(outline === "solid 2px", `focus is seen: ${outline}`);
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  check(await page.evaluate(() => document.activeElement.matches("section.open .incident-row")), "k goes back");
  await page.keyboard.press("Enter");
  await page.locator("h1 strong").waitFor();
  check(await page.evaluate(() => document.activeElement.tagName) === "H1", "the sentence has the focus");
  await page.keyboard.press("u");
  await page.locator("section.open .incident-row").waitFor();
  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog[open]").waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await page.locator("input[type=search]").waitFor();
  await page.keyboard.type("2375");
  await page.waitForFunction(() => document.querySelectorAll(".job-row").length === 1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  check(await page.evaluate(() => document.documentElement.dataset.theme) === "light", "t changes the theme");
  await page.keyboard.press("t");
  await page.reload();
  check(await page.evaluate(() => document.documentElement.dataset.theme) === "dark", "the theme is remembered");
  await page.goto(url);
  await page.locator("section.open .incident-row").waitFor();
  const order = [];
  for (let i = 0; i < 17; i++) { await page.keyboard.press("Tab"); order.push(await page.evaluate(() => document.activeElement.textContent.trim().slice(0, 12))); }
  check(order[0].startsWith("Skip") && order.indexOf("Overview") < order.indexOf("Jobs") && order.findIndex((x) => x.startsWith("warning")) > order.indexOf("?"), `the order of tabs is that of the page: ${order}`);
}

/** A lost connection is said, with since when, and is taken up again with what was missed. */
export async function lostConnection({ page, site, url, check, note, shot }) {
  await page.goto(url);
  await site.connected();
  const { incidents } = await site.get("/api/v1/incidents");
  const renewed = { ...incidents[0], revision: incidents[0].revision + 1, title: `Renewed: ${incidents[0].title}` };
  await site.send("incident", renewed, 41);
  await page.getByText(/^Renewed: /).first().waitFor(); // so that there is something to resume behind
  await page.waitForFunction(() => /\d\d:\d\d/.test(document.querySelector(".time time").textContent));
  const clock = await page.locator(".time time").textContent();
  await site.control({ Do: "refuse" });
  await site.control({ Do: "drop" });
  await page.locator("[data-link=lost]").waitFor();
  const words = await page.locator(".time").innerText();
  check(/Connection lost, no data for/.test(words) && words.includes(clock), `it says since when: ${words}`);
  check(await page.locator("section.open .incident-row").count() === 1, "what was known stays");
  const dimmed = () => page.evaluate(() => [getComputedStyle(document.querySelector("main")).filter, getComputedStyle(document.querySelector("section.open .sentence")).color, getComputedStyle(document.querySelector("main h1")).color]);
  const [filter, pale, heading] = await dimmed();
  check(filter === "grayscale(1)" && pale !== heading, `what is stale is dimmed: ${filter}, ${pale} beside ${heading}`);
  await shot("lost");
  await site.control({ Do: "accept" });
  await page.locator("[data-link=live]").waitFor({ timeout: 15000 });
  await site.connected();
  const streams = (await site.control({ Do: "count" })).seen.filter((s) => s.stream);
  check(streams.at(-1).stream.includes("after=41") || streams.at(-1).last === "41", `it asks for what it missed: ${JSON.stringify(streams.at(-1))}`);
  await state(site, 3);
  await page.waitForFunction((c) => document.querySelector(".time time").textContent !== c, clock);
  const [now, current, title] = await dimmed();
  check(now === "none" && current === title, `what is current is not: ${now}, ${current} beside ${title}`);
  note(`streams: ${streams.length}`);
}
lostConnection.allows = /503|ERR_/;

// byHand sets the page's time by hand, and returns what lets it pass, by ms at a time
// until something is so, or for a hundred times. It waits for every answer that is
// under way: the page gives up by its own time, which must not outrun the server.
async function byHand(page, time) {
  const flying = new Set();
  page.on("request", (r) => { if (!r.url().includes("/api/v1/stream")) flying.add(r); });
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (r) => flying.delete(r));
  await page.clock.install({ time: new Date(time) });
  return async (ms, so, times = 100) => {
    for (let i = 0; i < times && !(await so()); i++) {
      await page.clock.runFor(ms);
      for (let k = 0; k === 0 || k < 1000 && flying.size > 0; k++) await page.waitForTimeout(50);
    }
  };
}

// begun opens the page by a clock that passes by hand, until what its stream began
// with is read.
async function begun({ page, site, url }, time) {
  const passing = await byHand(page, time);
  await page.goto(url);
  await site.connected();
  await page.clock.runFor(1000);
  await page.locator("h1", { hasText: /^(Healthy|Degraded|No data|Alerting)/ }).waitFor();
  return passing;
}

/** A log that stands still is distinguished from a lost connection, with since when, until it goes on. */
export async function logStandsStill({ page, site, url, check }) {
  const passing = await begun({ page, site, url }, "2001-02-03T04:05:06Z");
  const text = () => page.locator(".time time").textContent();
  const first = await text();
  await state(site, 1);
  await passing(200, async () => (await text()) !== first);
  const clock = await text();
  check(!clock.startsWith("05:"), `the clock is the log's, not the browser's: ${clock}`);
  await passing(1000, async () => await page.locator("[data-link=still]").count() === 1);
  const words = await page.locator(".time").innerText();
  check(/No new data for \d/.test(words) && words.includes(clock), `it says since when: ${words}`);
  await state(site, 30);
  await passing(200, async () => await page.locator("[data-link=live]").count() === 1);
}

/** A stream that is dead without a word is noticed: the log goes on elsewhere. */
export async function deadStream({ page, site, url, check }) {
  const passing = await begun({ page, site, url }, "2026-11-21T02:00:00Z");
  const status = await site.get("/api/v1/status");
  await site.set("/api/v1/status", { ...status, tick: second(status.tick, 60) });
  check(await anew(passing, site) === 2, "it connects anew");
  await page.locator("[data-link=live]").waitFor();
}

// anew lets time pass until the page has opened a second stream, and says how many.
async function anew(passing, site, meanwhile = () => {}) {
  let streams = 1;
  await passing(1000, async () => {
    await meanwhile();
    streams = (await site.control({ Do: "count" })).seen.filter((s) => s.stream).length;
    return streams > 1;
  });
  return streams;
}

/** It is noticed where ticks are rare, too, though what is asked for now and then says that the log goes on. */
export async function deadStreamOfASlowLog({ page, site, url, check }) {
  const passing = await begun({ page, site, url }, "2026-11-21T02:00:00Z");
  const status = await site.get("/api/v1/status");
  const clock = () => page.locator(".time time").textContent();
  let tick = 0;
  for (let i = 0; i < 6; i++) { // a tick in 20 s: it learns that this is usual
    const before = await clock();
    await site.send("state", { tick: second(status.tick, tick += 20) });
    await passing(50, async () => (await clock()) !== before);
    await passing(1000, () => false, 20);
  }
  check((await site.control({ Do: "count" })).seen.filter((s) => s.stream).length === 1, "a slow log is no dead stream");
  const streams = await anew(passing, site, () => site.set("/api/v1/status", { ...status, tick: second(status.tick, tick += 1) }));
  check(streams === 2, `it connects anew: ${streams} streams`);
}

/** An empty site shows that no data is received, and how to connect something. */
export async function emptySite({ page, url, check }) {
  await page.goto(url);
  await page.getByText("No data: not receiving software, computing, network, power, cooling").waitFor();
  await page.getByText("No source reports").waitFor();
  const words = await page.locator("main").innerText();
  check(words.includes(`curl ${url}/api/v1/jobs/my-job/steps`), "it says how a job reports");
  check(words.includes("quintet collect"), "it says how a host is read");
}

/** What the API refuses at first is said, and read when it can be. */
export async function notReady({ page, site, url, check }) {
  await site.control({ Do: "refuse" });
  await page.goto(url);
  await page.locator("[data-link=lost]").waitFor();
  check((await page.locator("h1").textContent()) === "Reading …", "nothing is claimed");
  await site.control({ Do: "accept" });
  await page.locator("h1", { hasText: /^(Healthy|Degraded|No data|Alerting)/ }).waitFor({ timeout: 15000 });
}
notReady.allows = /503|ERR_/;

/** What the stream has sent is shown, though one answer never comes. */
export async function slowAnswer({ page, site, url, check }) {
  await page.route("**/api/v1/jobs", () => {});
  await page.goto(url);
  await site.connected();
  check((await page.locator("h1").textContent()) === "Reading …", "nothing is claimed");
  const { jobs } = await site.get("/api/v1/jobs");
  await state(site, 1, { jobs, incidents: [] });
  await page.locator("h1", { hasText: /^(Healthy|Degraded|No data|Alerting)/ }).waitFor();
}

/** Replica alarms and the demo's note are said at the top. */
export async function alarms({ page, site, url, check }) {
  await page.goto(url);
  await page.locator("h1", { hasText: /^(Healthy|Degraded|No data|Alerting)/ }).waitFor();
  const status = await site.get("/api/v1/status");
  await site.send("state", { tick: second(status.tick, 1), alarms: [{ name: "replica diverged", since: status.tick, text: "a and b publish revision 3 of inc-1 differently" }] });
  await page.getByRole("alert").getByText("replica diverged").waitFor();
  await site.send("state", { tick: second(status.tick, 2), alarms: [] });
  await page.locator(".alarms").waitFor({ state: "hidden" });
  check(true, "");
}

/** Times of a recording that begins at zero are shown as time into it. */
export async function recordingTimes({ page, site, url, check }) {
  await page.goto(url);
  await page.locator("section.resolved .incident-row").waitFor();
  check((await page.locator(".demo").textContent()).startsWith("Plays a recording"), "the note says so");
  const tick = Date.parse((await site.get("/api/v1/status")).tick) / 1000;
  const want = `00:${String(Math.floor(tick / 60)).padStart(2, "0")}:${String(Math.floor(tick % 60)).padStart(2, "0")}`;
  check(await page.locator(".time time").textContent() === want, `the clock counts from zero: ${await page.locator(".time time").textContent()}, want ${want}`);
  await page.locator(".incident-row").click();
  await page.locator(".ticks .time").first().waitFor();
  check(/^00:0\d:\d\d$/.test(await page.locator(".ticks .time").first().textContent()), "so does the axis");
  check(/since 00:02:\d\d/.test(await page.locator("h1").innerText()), "so does the sentence");
}
