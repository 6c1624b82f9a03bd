// Nothing is stated that is not known yet.

const views = ["/", "/wall", "/incidents", "/incidents/inc-0000000000000001", "/jobs", "/jobs/train", "/fabric", "/power", "/coverage", "/alerts", "/silences", "/explore", "/entity?of=nic:h9/nic0", "/replay"];

// stated is what reads like a fact: a count, that there is none, a state.
const stated = /\b\d+ (?:incident|job|alert|silence|switch|rack|source|GPU)|\bNone\b|\bNo \w|\bNothing|\bnothing|\b0 (?:GPU|%)|not available|Healthy|Degraded/i;

/**
 * While no answer has come a view says that it reads, and nothing else; while some
 * have not come yet, each part that waits for them says so.
 */
export async function reading({ page, site, url, check }) {
  let hold = () => false, open; // which requests are not answered until open is called
  const closed = (which) => { hold = which; return new Promise((done) => { open = () => { hold = () => false; done(); }; }); };
  let gate = closed(() => true);
  await page.route(/\/(api|prometheus)\//, async (route) => {
    if (hold(new URL(route.request().url()).pathname)) await gate;
    await route.continue().catch(() => {}); // the page has left
  });
  const known = (await site.get("/api/v1/incidents")).incidents[0].id;
  for (const path of views.map((v) => v.replace("inc-0000000000000001", known))) {
    gate = closed(() => true);
    await page.goto(url + path);
    await page.locator("main h1").waitFor();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    check((await page.locator("main").innerText()) === "Reading …", `${path}: nothing is known, and it says ${await page.locator("main").innerText()}`);
    open();
    await page.locator("main h1", { hasText: /^(?!Reading)/ }).waitFor();
    await page.locator("main .unanswered").first().waitFor({ state: "detached" });
    check((await page.locator("main h1").count()) === 1, `${path}: one heading`);
  }
  gate = closed((path) => path === "/api/v1/search");
  await page.keyboard.press("Control+k");
  const asked = page.waitForRequest("**/api/v1/search*");
  await page.locator(".find input").fill("zzz");
  await asked;
  check((await page.locator(".find li").innerText()) === "Reading …", `what is searched is not said to be missing: ${await page.locator(".find li").innerText()}`);
  open();
  await page.locator(".find li", { hasText: "Reading …" }).waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  // The state of the site is known, what it cost and who reports are not.
  gate = closed((path) => /losses|coupling|budget|bottlenecks|coverage|prometheus|topology/.test(path));
  for (const [path, waiting] of [["/", 4], ["/jobs/train", 4]]) {
    await page.goto(url + path);
    await page.locator("main h1", { hasText: /^(?!Reading)/ }).waitFor();
    await page.locator("main .unanswered").nth(waiting - 1).waitFor();
    const parts = await page.locator("[data-reading]").allInnerTexts();
    check(parts.length === waiting && parts.every((t) => t === "Reading …"), `${path}: parts that wait: ${JSON.stringify(parts)}`);
    for (const text of await page.locator("main section:has([data-reading]) > :not(h2)").allInnerTexts()) check(!stated.test(text), `${path}: it states ${text}`);
  }
}
