// How an engineer gets from "something is wrong" to what to type.

/** From the overview to a command that is copied, three clicks: the incident, its commands, copy. */
export async function threeClicks({ page, url, check, note }) {
  // The clipboard is one for all pages of a browser, and other scenarios use it too.
  await page.addInitScript(() => { navigator.clipboard.writeText = async (words) => { globalThis.copied = words; }; });
  await page.goto(url);
  let clicks = 0;
  const click = async (what) => { await what.click(); clicks++; };
  await page.locator("section.open .incident-row").first().waitFor();
  await click(page.locator("section.open .incident-row").first());
  await page.locator(".actions li").first().waitFor();
  const domain = await page.locator(".state .domain").first().innerText();
  await click(page.locator(".commands summary").first());
  const command = page.locator(".commands[open] .command").first();
  await click(command.getByRole("button", { name: /^Copy / }));
  await page.waitForFunction(() => globalThis.copied); // the button says so for two seconds only
  const shown = await command.locator("code").innerText(), copied = await page.evaluate(() => globalThis.copied);
  check(copied === shown && shown.length > 5, `what is copied is the command: ${copied}`);
  check(clicks <= 3, `${domain}: ${clicks} clicks`);
  note(`${domain}: ${clicks} clicks to ${shown}`);
}

/** A loss and a confidence are stated alike wherever they stand: lists, causes, domains, the job, the root and the incident itself. */
export async function oneLoss({ page, site, url, check }) {
  const { lost, confidence } = await site.get("/api/v1/example"), { incidents } = await site.get("/api/v1/incidents");
  const found = async (path, selector, wanted, what) => {
    if (path) await page.goto(url + path);
    await page.locator(selector).first().waitFor({ state: "attached" });
    await page.waitForFunction(([s, w]) => [...document.querySelectorAll(s)].some((el) => el.textContent.replaceAll("\u00a0", " ").includes(w)), [selector, wanted], { timeout: 20000 }).catch(() => {});
    const words = (await page.locator(selector).allInnerTexts()).join(" | ").replaceAll("\u00a0", " ");
    check(words.includes(wanted), `${path} ${what} states ${wanted}: ${words}`);
  };
  await found("/", "section.open .incident-row .loss", lost, "the list");
  await found("", "section.lost .causes td.num", lost, "the causes");
  await found("", "section.lost .big", lost, "their sum");
  await found("", ".fleet", lost, "the headline");
  await found("", ".domainbox .lostto", lost, "its domain");
  await found("/wall", ".wallincident .wallfacts", lost, "the wall's incident");
  await found("", ".wall > header .wallfacts", lost, "the wall's headline");
  await found("", ".wall .domainbox .lostto", lost, "the wall's domain");
  await found("/incidents", ".incident-row .loss", lost, "all incidents");
  await found("/jobs/train", "section.jobincidents .loss", lost, "the job's incidents");
  await found("", "section.joblost .big", lost, "the job's losses");
  await found(`/entity?of=${encodeURIComponent(incidents[0].root.entity)}`, ".oneentity .incident-row .loss", lost, "the root's incidents");
  await found("", ".oneentity .fleet", `confidence ${confidence}`, "the root");
  await found(`/incidents/${incidents[0].id}`, "table.impact", lost, "the incident");
  await found("", ".state", `confidence ${confidence}`, "and its confidence");
}
