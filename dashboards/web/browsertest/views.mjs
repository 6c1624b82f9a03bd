// What one job, coverage and silences must show, and what is reported costs.

const plain = (s) => s.replaceAll("\u00a0", " ");

/** The overview tells what was lost, to what and through which domains; what is not observed is said to be so. */
export async function costsOfTheSite({ page, site, url, check }) {
  await page.goto(url);
  await page.locator(".coupling .flow.passed").first().waitFor();
  const { coupling } = await site.get("/api/v1/coupling");
  const domains = ["software", "computing", "network", "power", "cooling"];
  const passed = coupling.flatMap((row, i) => row.flatMap((v, j) => (v > 0 ? [`${domains[i]} ${domains[j]}`] : []))).sort();
  const drawn = await page.locator(".coupling .flow.passed, .coupling .own").evaluateAll((all) => all.map((f) => `${f.dataset.from} ${f.dataset.to}`).sort());
  check(JSON.stringify(drawn) === JSON.stringify(passed), `each pair that lost anything is drawn: ${drawn}, want ${passed}`);
  check((await page.locator(".coupling .flow.supply").count()) >= 1, "what depends on what is drawn where nothing passed");
  check((await page.locator(".coupling .shade5").count()) >= 1, "the largest is the strongest");
  check(/34 s later/.test(plain(await page.locator(".coupling .flowlines").textContent())), "it says how much later");
  check((await page.locator(".coupling .domainbox[data-domain='network'] .how").innerText()).includes("cause of incident"), "the network has the root of what is open");
  const fall = page.locator(".waterfall tbody tr");
  const words = (await fall.allInnerTexts()).map(plain);
  check(words[0].startsWith("peak") && words.at(-1).startsWith("achieved") && /39\.\d %/.test(words.at(-1)), `from peak to achieved: ${words.join(" | ")}`);
  const share = (name) => /([\d.]+) %/.exec(words.find((w) => w.startsWith(name)))[1], score = async (name) => /([\d.]+) %/.exec(plain(await page.locator(".scores dt", { hasText: name }).locator("+ dd").innerText()))[1];
  const mfu = /MFU ([\d.]+) %/.exec(plain(await page.locator(".waterfall + p").innerText()))[1];
  check(share("achieved") === mfu, `what is achieved is the MFU: ${share("achieved")} and ${mfu}`);
  check(/\.\d$/.test(share("communication")) === /\.\d$/.test(await score("communication overhead")), `a share is rounded alike in both: ${share("communication")} and ${await score("communication overhead")}`);
  check(words.find((w) => w.startsWith("waiting for input")).includes("not observed"), "a part that is not observed is no zero");
  check(!words.some((w) => w.startsWith("held down by power")), "where nothing went is left out");
  const bars = await fall.evaluateAll((rows) => rows.map((r) => r.querySelector("rect")).filter(Boolean).slice(1, -1).map((b) => [parseFloat(b.getAttribute("x")), parseFloat(b.getAttribute("width"))]));
  check(bars.every(([x, w], i) => i === 0 || Math.abs(bars[i - 1][0] - (x + w)) < 0.5), `each part begins where the one before ended: ${JSON.stringify(bars)}`);
  check((await page.locator(".scores dd").allInnerTexts()).at(-1) === "not observed", "a score that cannot be observed is none");
  const causes = plain(await page.locator(".causes").innerText());
  check(causes.includes("loop r44/a") && causes.includes("647 GPU-h") && causes.includes("73 %") && causes.includes("cause not known"), `what was lost, by cause: ${causes}`);
  await page.getByRole("button", { name: "7 days" }).click();
  await page.locator('[data-window="7d"][aria-pressed="true"]').waitFor();
  check(new URL(page.url()).search === "?window=7d", "the window is part of the address");
  await page.reload();
  await page.locator('[data-window="7d"][aria-pressed="true"]').waitFor();
}

/** One job: its steps, its ranks over time, whom they wait for, where it runs. */
export async function oneJob({ page, url, check }) {
  await page.goto(`${url}/jobs`);
  await page.locator(".job-row", { hasText: "train" }).first().click();
  await page.locator("#h-waits ~ div b", { hasText: "The others wait for rank 5" }).waitFor();
  check(new URL(page.url()).pathname === "/jobs/train", "it has an address");
  check((await page.locator("h1").innerText()).includes("as long as usual"), "the headline says how much slower");
  check(await page.locator('#bar nav a[aria-current="page"]').innerText() === "Jobs", "the bar says where one is");
  check((await page.locator(".waiting tbody tr").count()) === 8, "the few that matter");
  const canvas = page.locator("canvas.ranks");
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width - 8, box.y + 5 * 14 + 6);
  const tip = await page.locator(".rankmap .tip").innerText();
  check(/^rank 5, \d\d:\d\d:\d\d: 4\.\d+/.test(plain(tip)), `a cell tells its rank, moment and value: ${tip}`);
  await canvas.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowDown");
  check(/^rank 6, /.test(await canvas.getAttribute("aria-valuetext")), `arrow keys choose: ${await canvas.getAttribute("aria-valuetext")}`);
  const ink = () => canvas.evaluate((c) => { const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; const seen = new Set(); for (let i = 0; i < d.length; i += 400) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]); return seen.size; });
  check(await ink() > 3, "the map has shades");
  await page.getByRole("button", { name: "waits for others" }).click();
  check(await page.locator('[data-measure="rank_comm_wait_seconds"]').getAttribute("aria-pressed") === "true", "another measure");
  const where = plain(await page.locator(".placement").innerText());
  for (const w of ["node h8", "node h9", "rack r3", "switch leaf1", "loop r3/a", "shelf r3/1", "root: nic h9/nic0"]) check(where.includes(w), `where it runs: ${w} in ${where}`);
  check((await page.locator(".placement tbody tr").first().innerText()).includes("h9"), "the node that is touched comes first");
  check(await page.locator(".onejob .waterfall").count() === 0 && (await page.locator("#h-jobbudget ~ div").innerText()).includes("No GPU-second"), "of a job without a budget it says so");
  check(await page.locator(".onejob .plots > .curve").count() === 2, "step time and MFU as curves");
  await page.locator(".onejob .incident-row").first().click();
  await page.locator("h1 strong").waitFor();
}

/** Coverage: what is receiving data, which requirements that meets, which faults cannot be distinguished. */
export async function coverageReport({ page, site, url, check }) {
  await page.goto(`${url}/coverage`);
  await page.locator(".wanted tbody tr").first().waitFor();
  const report = await site.get("/api/v1/coverage/report");
  check(await page.locator(".wanted tbody tr").count() === report.requirements.length, "every requirement has its line");
  check(["missing", "stale"].includes(await page.locator(".wanted tbody tr").first().getAttribute("data-state")), "what is missing comes first");
  const line = plain(await page.locator(".wanted tr", { hasText: "OBS14" }).innerText());
  check(line.includes("no longer") && line.includes("send the switches' syslog"), `what was reported and is no longer, and what to do: ${line}`);
  const dark = plain(await page.locator(".dark").innerText());
  check(dark.includes("slow-receiver") && dark.includes("pcie_link_width") && dark.includes("of 16 nics") && dark.includes("4 of them report it"), `which faults cannot be distinguished, and for want of what: ${dark.slice(0, 300)}`);
  // The sources are asked for beside the report, and may be answered after it.
  await page.locator("h1", { hasText: /^1 source without data$/ }).waitFor();
  await page.getByRole("button", { name: "without data only" }).click();
  check(await page.locator(".listed tbody tr").count() === 1 && (await page.locator(".listed tbody").innerText()).includes("h17"), "the silent ones alone");
  await page.getByRole("searchbox").fill("leaf");
  check((await page.locator("#h-coverage-sources ~ div").last().innerText()).includes("None."), "and none where none is");
  await page.locator("summary", { hasText: /^port: / }).click();
  check((await page.locator("details[open]").innerText()).includes("by gnmi"), "every metric says who tells it");
}

/** Silences: what they hold back is shown before they do; created, listed, expired. */
export async function silencesAndPreview({ page, site, url, check }) {
  const { incidents } = await site.get("/api/v1/incidents");
  await page.goto(`${url}/incidents/${incidents[0].id}`);
  await page.getByRole("link", { name: "Silence …" }).click();
  await page.getByText("It would hold back 1 open incident").waitFor();
  const rows = await page.locator(".matcherrow").evaluateAll((all) => all.map((r) => [...r.querySelectorAll("select, input")].map((x) => x.value)));
  check(JSON.stringify(rows) === JSON.stringify([["root", "=", incidents[0].root.entity], ["signature", "=", incidents[0].root.signature]]), `filled in for the incident: ${JSON.stringify(rows)}`);
  check(await page.locator(".silences li").count() === 3 && await page.locator('.silences li[data-state="expired"]').count() === 1, "those in force, to come and expired");
  const list = plain(await page.locator(".silencing").innerText());
  for (const w of ["weekly maintenance", "sat, sun at 02:00 for 4 h (Europe/Berlin)", "by ann", "without an end"]) check(list.includes(w), `the list says "${w}"`);
  await page.getByRole("button", { name: "1 day" }).click();
  await page.getByLabel("by", { exact: true }).fill("night shift");
  await page.getByRole("button", { name: "Silence", exact: true }).click();
  await page.getByText(/^Silenced\./).waitFor();
  const posts = (await site.control({ Do: "count" })).seen.filter((s) => s.post);
  const body = JSON.parse(posts.findLast((p) => p.post === "/api/v1/silences").body);
  const status = await site.get("/api/v1/status");
  check(body.matchers.length === 2 && body.created_by === "night shift" && Date.parse(body.end) - Date.parse(status.tick) === 86400e3, `what was sent: ${JSON.stringify(body)}`);
  check(posts.findIndex((p) => p.post.endsWith("/preview")) < posts.findIndex((p) => p.post === "/api/v1/silences"), "looked at before it was made");
  await page.getByLabel("only in windows", { exact: false }).check();
  await page.getByLabel("sat").check();
  await page.getByRole("button", { name: "Add a matcher" }).click();
  await page.keyboard.type("train");
  await page.waitForTimeout(700);
  const last = JSON.parse((await site.control({ Do: "count" })).seen.filter((s) => s.post?.endsWith("/preview")).at(-1).body);
  check(last.windows[0].days.join() === "sat" && last.windows[0].at === "02:00" && last.matchers.at(-1).value === "train", `a maintenance window: ${JSON.stringify(last)}`);
  await page.getByRole("button", { name: /^Expire: root/ }).click();
  await page.getByText("Expired.", { exact: true }).waitFor();
}

/** An incident says how far it reaches and what would distinguish it from others; it is acknowledged, assigned and shared. */
export async function reachOfAnIncident({ page, site, url, check, context }) {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const { incidents } = await site.get("/api/v1/incidents");
  const known = incidents[0], path = `/api/v1/incidents/${known.id}`;
  await site.set(`${path}/assign`, { acknowledged: null, verdict: null, assigned: { to: "network team", by: "ann", at: known.updated }, silenced_by: ["sil-0000000000000001"] });
  await page.goto(`${url}/incidents/${known.id}`);
  await page.locator(".reach li").first().waitFor();
  await page.locator("section.touched", { hasText: "rack r3" }).waitFor();
  check(await page.locator("section.touched a", { hasText: "train" }).getAttribute("href") === "/jobs/train", "the degraded job is a link");
  await page.getByLabel("Assign to").fill("network team");
  await page.getByRole("button", { name: "Assign" }).click();
  await page.getByText("Assigned to").waitFor();
  check((await page.locator(".verdict").innerText()).includes("Silenced: its messages are held back."), "it says that it is silenced");
  await page.getByRole("button", { name: "Copy a summary for chat" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  check(copied.includes(known.title.replaceAll("\u00a0", " ").slice(0, 20)) && copied.includes("Root: nic h9/nic0 (slow-receiver, network") && copied.endsWith(`${url}/incidents/${known.id}`), `the summary: ${copied}`);
  await page.goto(`${url}/incidents/${incidents.at(-1).id}`);
  await page.locator("section.alternatives", { hasText: "would distinguish" }).waitFor();
}

/** Where there is no history, or nothing is known of a job, that is said. */
export async function viewsWithoutHistory({ page, url, check }) {
  await page.goto(`${url}/jobs/train`);
  await page.getByText("The history is not available").waitFor();
  await page.locator(".onejob .incident-row").first().waitFor();
  check(await page.locator(".placement tbody tr").count() === 3, "all else is shown");
  await page.goto(`${url}/jobs/nobody`);
  await page.getByText("No job nobody is known here now.").waitFor();
}

/** In a demo a fault is chosen and injected on the page. */
export async function injected({ page, site, url, check }) {
  await page.goto(url);
  await page.getByRole("button", { name: "Inject a fault" }).click();
  const dialog = page.getByRole("dialog", { name: /Inject a fault/ });
  await dialog.getByText("Its severity is the share of its clock").waitFor();
  await dialog.getByLabel("Fault", { exact: true }).selectOption("leak");
  await dialog.getByLabel("Entity").fill("loop:r000");
  await dialog.getByRole("button", { name: "Inject" }).click();
  await dialog.getByText(/^Injected at .*: leak at loop r000, for 3\smin/).waitFor();
  const posts = (await site.control({ Do: "count" })).seen.filter((x) => x.post === "/api/v1/demo/faults").map((x) => JSON.parse(x.body));
  check(JSON.stringify(posts) === JSON.stringify([{ fault: "leak@loop:r000" }]), `what was sent: ${JSON.stringify(posts)}`);
  await page.keyboard.press("u");
  check(await dialog.isVisible(), "keys of the page rest while a dialogue is open");
  await dialog.getByRole("link", { name: "loop r000" }).click();
  await page.locator("h1", { hasText: "loop r000" }).waitFor();
  check(new URL(page.url()).pathname === "/entity" && await dialog.isHidden(), "its name leads to its data");
}

/** Many ranks: those that are drawn are chosen anew while the log goes on, and their past has no hole. */
export async function manyRanks({ page, site, url, check }) {
  await page.goto(`${url}/jobs/run-0000.7000`);
  await page.locator(".waiting tbody tr").first().waitFor();
  await site.connected();
  const { tick } = await site.get("/api/v1/status"), asked = async () => (await site.control({ Do: "count" })).seen.filter((s) => /rank_comm_wait_seconds.* @ /.test(s.query)).length;
  const holes = () => page.locator("canvas.ranks").evaluate((c) => {
    const scale = c.width / c.clientWidth, x = Math.ceil(46 * scale), d = c.getContext("2d").getImageData(x, 0, c.width - x - 2, c.height - Math.ceil(20 * scale)).data;
    let n = 0;
    for (let i = 3; i < d.length; i += 4) if (d[i] === 0) n++;
    return n;
  });
  const chosen = new Set();
  for (let i = 1; i <= 60; i++) { // of 5 seconds: curves at one, ranks at the next, those that are drawn next at the third
    const before = await asked();
    await site.send("state", { tick: new Date(Date.parse(tick) + i * 5000).toISOString() });
    await page.waitForFunction((t) => Date.parse(document.querySelector(".time time").getAttribute("datetime")) >= t, Date.parse(tick) + i * 5000);
    for (let k = 0; k < 20 && await asked() === before; k++) await page.waitForTimeout(20);
    await page.waitForTimeout(50);
    check(await holes() === 0, `the map has a hole after ${i * 5} s`);
    chosen.add(Number(/\d+/.exec(await page.locator(".waiting tbody th").first().innerText())[0]) % 16);
  }
  check(chosen.size >= 2, `the ranks that are drawn change: ${[...chosen]}`);
  check(plain(await page.locator(".jobranks").innerText()).includes("128 of 4096 ranks"), "how many they are of");
  await page.getByRole("button", { name: "moves data" }).click();
  await page.waitForFunction(() => !document.querySelector(".jobranks").innerText.includes("Reading"));
  check(await holes() === 0, "a measure that was not read before is whole");
}
manyRanks.allows = /willReadFrequently/;
