// A recording that is played, as a person steers it.

import { overflow, measureText } from "./looks.mjs";

const orders = async (site) => (await site.control({ Do: "count" })).seen.filter((s) => s.post === "/api/v1/replay").map((s) => JSON.parse(s.body));

/** order does something that must lead to one order, and returns it. */
async function order(site, what) {
  const before = (await orders(site)).length;
  await what();
  for (let i = 0; i < 200; i++) {
    const now = await orders(site);
    if (now.length > before) return now.at(-1);
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error("nothing was ordered");
}

const seconds = (iso) => Date.parse(iso) / 1000;

/** The bar says where the recording stands, and every hand and key orders what it says. */
export async function replayBar({ page, site, url, check }) {
  const where = await site.get("/api/v1/replay");
  await page.goto(url);
  await page.locator(".replaybar .marks .begin").first().waitFor();
  check(await page.locator(".replaybar .marks .begin").count() === 2, "a mark for each incident of the recording");
  check((await page.locator(".replaybar .here").innerText()) === "00:04:10 of 00:06:41", `where it stands: ${await page.locator(".replaybar .here").innerText()}`);
  check((await page.locator(".replaybar .recording").innerText()) === "slownic-2.qtrace", "what is played");
  const place = await page.evaluate(() => { const r = document.querySelector(".track input"); return (r.value - r.min) / (r.max - r.min); });
  check(Math.abs(place - 249 / 400) < 0.01, `the thumb stands there: ${place}`);

  const space = await order(site, async () => {
    await page.keyboard.press("Space");
    await site.set("/api/v1/replay", { ...where, paused: true });
  });
  check(space.paused === true, `space pauses: ${JSON.stringify(space)}`);
  await page.getByText("paused at").waitFor();
  check(await page.getByRole("button", { name: "Play" }).isVisible(), "the button then plays");
  check((await order(site, () => page.getByRole("button", { name: "Play" }).click())).paused === false, "it does");

  check(seconds((await order(site, () => page.keyboard.press("ArrowRight"))).seek) === 260, "right is ten seconds on");
  check(seconds((await order(site, () => page.keyboard.press("Shift+ArrowRight"))).seek) === 310, "with shift a minute");
  check(seconds((await order(site, () => page.keyboard.press("]"))).seek) === 300, "the next incident, and what led to it");
  check((await order(site, () => page.getByLabel("Speed").selectOption("10"))).speed === 10, "the speed");
  const drag = await order(site, () => page.locator(".track input").evaluate((el) => { el.value = 350000; for (const e of ["input", "change"]) el.dispatchEvent(new Event(e, { bubbles: true })); }));
  check(seconds(drag.seek) === 350, `where it is dragged: ${drag.seek}`);

  await page.goto(`${url}/jobs`);
  await page.locator(".replaybar .begin").first().waitFor();
  const before = (await orders(site)).length;
  await page.locator("input[type=search]").fill("");
  await page.locator("input[type=search]").press("Space");
  await page.locator("input[type=search]").press("ArrowLeft");
  await page.locator(".replaybar select").press("Tab");
  check((await orders(site)).length === before, "who types steers nothing");
}

/** Going back, the page knows nothing of later, and nothing is loaded anew. */
export async function replayBack({ page, site, url, check }) {
  const where = await site.get("/api/v1/replay"), status = await site.get("/api/v1/status");
  await page.goto(url);
  await page.locator("section.open .incident-row").waitFor();
  await page.locator(".replaybar .begin").first().waitFor();
  await site.connected();
  await page.evaluate(() => { window.marked = true; });
  await site.set("/api/v1/replay", { ...where, at: null, seeking: "1970-01-01T00:01:00Z" });
  await page.keyboard.press("["); // 20 s before the incident opened, which is where it began
  await page.locator("main[aria-busy]").waitFor();
  await page.getByText("playing to 00:01:00").waitFor();
  check(await page.locator("section.open .incident-row").count() === 1, "until the other log is there, what was known stays");
  for (const [path, body] of Object.entries({ "/api/v1/status": { ...status, tick: "1970-01-01T00:01:00Z" }, "/api/v1/incidents": { incidents: [] }, "/api/v1/replay": { ...where, at: "1970-01-01T00:01:00Z", session: 1, paused: true } })) await site.set(path, body);
  await page.locator("section.open", { hasText: "None." }).waitFor();
  await page.waitForFunction(() => document.querySelector(".time time").textContent === "00:01:00");
  check(await page.locator(".incident-row").count() === 0, "an incident that has not begun is not known");
  check((await page.locator(".replaybar .here").innerText()).startsWith("00:01:00 of"), "the bar stands there");
  check(await page.locator("main[aria-busy]").count() === 0, "nothing is waited for");
  await site.connected();
  await site.send("state", { tick: "1970-01-01T00:01:01Z", jobs: [], incidents: [], alarms: [] });
  await page.waitForFunction(() => document.querySelector(".time time").textContent === "00:01:01");
  check(await page.evaluate(() => window.marked === true), "nothing was reloaded");
}

/** The view lists what is in the recording and leads there. */
export async function replayView({ page, site, url, check }) {
  await page.goto(url);
  await page.locator(".replaybar .recording").click();
  await page.locator(".mark-row").nth(1).waitFor();
  check(new URL(page.url()).pathname === "/replay", "the bar's name leads to the view");
  check((await page.locator("h1").innerText()) === "Replay of slownic-2.qtrace", "it says what is played");
  const rows = await page.locator(".mark-row").allInnerTexts();
  check(rows.length === 2 && !/not yet known/.test(rows[0]) && /not yet known/.test(rows[1]), `what is known at this moment is shown: ${rows}`);
  check(seconds((await order(site, () => page.locator(".mark-row").nth(1).getByRole("button", { name: "to its beginning" }).click())).seek) === 300, "a button leads to what led to it");
  check(await page.locator(".mark-row").nth(1).getByRole("button", { name: "to its end" }).count() === 0, "what is not over has no end");
  await page.locator(".mark-row a").first().click();
  await page.locator("h1 strong").waitFor();
  check(new URL(page.url()).pathname.startsWith("/incidents/inc-"), "one that is known has its page");
}

/** It is readable in both themes, and fits on a phone. */
export async function replayLooks({ page, url, check }) {
  for (const width of [1280, 390, 360]) {
    await page.setViewportSize({ width, height: 800 });
    for (const path of ["/", "/replay"]) {
      await page.goto(url + path);
      await page.locator(".replaybar .begin").first().waitFor();
      const wide = await overflow(page, width);
      check(wide.length === 0, `${width} ${path}: too wide: ${wide}`);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        for (const r of await page.evaluate(measureText)) check(r.ratio >= 4.5, `${colorScheme} ${path}: ${r.what} has contrast ${r.ratio.toFixed(2)}`);
      }
    }
  }
  const unnamed = await page.evaluate(() => [...document.querySelectorAll(".replaybar button, .replaybar select, .replaybar input")].filter((e) => !e.getAttribute("aria-label")).length);
  check(unnamed === 0, "every hand has a name");
}

/** Where nothing is replayed there is no bar, and nothing is asked. */
export async function noReplay({ page, site, url, check }) {
  await page.goto(`${url}/replay`);
  await site.connected();
  await page.getByText("No recording is played here.").waitFor();
  check(await page.locator(".replaybar").isHidden(), "there is no bar");
  await page.keyboard.press("Space");
  check((await orders(site)).length === 0, "nothing is steered");
}
