// What the page must show of the alerts of rules.

const plain = (s) => s.replaceAll("\u00a0", " ");

/** What rules alert of is shown, but for what an open incident says; each has an address, and says which rule, of whom, since when, and what it comes to. */
export async function alertsOfRules({ page, site, url, check, shot }) {
  const { incidents } = await site.get("/api/v1/incidents");
  await page.goto(url);
  await page.locator("section.alerts .alert-row").first().waitFor();
  const shown = (await page.locator("section.alerts .alert-row").allInnerTexts()).map(plain);
  check(shown.length === 2 && shown[0].includes("LinkDown: 2 at switch:leaf7") && shown[0].includes("2 alerts"), `the gravest first, without what is said and what is for information: ${shown.join(" | ")}`);
  check(shown[1].includes("silenced") && shown[1].includes("at 97"), `a silenced one says so, and its value: ${shown[1]}`);
  check((await page.locator("section.alerts .all").innerText()).includes("1 other that open incidents include"), "what an incident says is counted");
  await page.locator("section.open .incident-row").first().waitFor();
  check(await page.locator("section.open .incident-row").count() === 1, "incidents stay by themselves");
  await page.locator("section.alerts .alert-row").first().focus();
  await page.keyboard.press("j");
  check(await page.evaluate(() => document.activeElement.getAttribute("href")) === "/alerts/alert-000000000000000b", "j goes to the next");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await page.locator(".onealert .onerow").first().waitFor();
  check(new URL(page.url()).pathname === "/alerts/alert-000000000000000a", `it has an address: ${page.url()}`);
  check(await page.evaluate(() => document.activeElement.tagName) === "H1", "the title has the focus");
  await page.getByText("now 0").first().waitFor();
  const words = plain(await page.locator(".onealert").innerText());
  for (const part of ["critical", "switch leaf7", "LinkDown", "network", "port leaf7/eth3: the link is down", "port leaf7/eth4: the link is down", "value then 0", "switch=leaf7", "<b>plane</b>=2", "max_over_time(port_up", "Silence …"]) check(words.includes(part), `it says ${part}: ${words}`);
  check(await page.locator(".onealert .plot, .onealert .curve").count() >= 2, "its expression is drawn, for its own ports");
  check(!words.includes("leaf9"), "and for no others");
  check(plain(await page.locator(".onealert .todo").innerText()).includes("Look at port_up of both ends. Do: reseat, then replace."), "the rule's runbook says what to do");
  check(await page.locator('.onealert .todo code').innerText() === "port_up", "code in it is set as code");
  const outside = await page.locator("a[href]").evaluateAll((all) => all.map((a) => a.href).filter((href) => !href.startsWith(location.origin)));
  check(outside.length === 0, `no link leads outside: ${outside.join(", ")}`);
  check(await page.locator('.onealert a[href="/entity?of=switch%3Aleaf7"]').count() === 1, "it leads to the switch");
  check((await page.locator(".onealert .fate a").getAttribute("href")).includes("signature=LinkDown"), "a silence of it is at hand");
  await shot("alert");
  await page.locator("h1").click();
  await page.goBack();
  await page.locator("section.alerts .alert-row").first().waitFor();
  await page.getByRole("link", { name: "All alerts →" }).click();
  await page.locator("section.ended .alert-row").waitFor();
  check(await page.locator('#bar nav a[aria-current="page"]').innerText() === "Alerts", "the bar says where one is");
  // Lines far down are laid out when they come near; their text is there before.
  check((await page.locator("section.said .alert-row").textContent()).includes("tells the fabric to stop"), "what an incident says is listed by itself");
  const over = await page.locator("section.ended").textContent();
  check(over.includes("FeedDown") && over.includes("lasted"), "what is over is listed, and how long it lasted");
  check((await page.locator("h1").innerText()) === "2 alerts fire", `the title counts: ${await page.locator("h1").innerText()}`);
  await page.locator("section.said .alert-row").click();
  const by = page.locator(".fate a").first();
  await by.waitFor();
  check(await by.getAttribute("href") === `/incidents/${encodeURIComponent(incidents[0].id)}`, "it leads to the incident that says it");
  await by.click();
  await page.locator("h1 strong").waitFor();
  await page.goto(`${url}/alerts/alert-ffffffffffffffff`);
  await page.getByText("No alert alert-ffffffffffffffff is known here").waitFor();
  for (const path of ["/alerts", "/alerts/alert-000000000000000a", "/"]) {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(url + path);
    await page.locator(path.length > 8 ? ".onerow" : ".alert-row").first().waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(wide <= 360, `${path} is ${wide} px wide on a narrow screen`);
  }
}
alertsOfRules.allows = /404/;

/** Where alerts cannot be asked for, the overview leaves them out and their view says why. */
export async function alertsUnreachable({ page, site, url, check }) {
  await site.set("/api/v1/alerts", { error: "no alerts are kept here" }, 501);
  await page.goto(url);
  await page.locator("section.open .incident-row").waitFor();
  check(await page.locator("section.alerts").isHidden(), "there is no such section");
  await page.goto(`${url}/alerts`);
  await page.getByText("No data: no alerts are kept here").waitFor();
}
alertsUnreachable.allows = /501/;
