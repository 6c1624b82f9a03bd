// What a page must show of the claims of an incident.

/** claimsHaveCurves checks that the page at an incident plots the series of each claim, first and over the claim's interval. */
export async function claimsHaveCurves({ page, check }, incident) {
  await page.locator(".plots .curve").first().waitFor();
  const drawn = await page.locator(".plots > .curve").evaluateAll((rows) => rows.map((r) => ({ key: `${r.dataset.metric} of ${r.dataset.entity}`, stated: r.querySelectorAll(".plot .stated, .plot .within").length, curve: r.querySelector(".plot .curve")?.getAttribute("d") ?? "", words: r.querySelector(".claim").textContent })));
  for (const [i, c] of (incident.claims ?? []).entries()) {
    const row = drawn[i];
    check(row?.key === `${c.metric} of ${c.entity}`, `claim ${i} of ${incident.id} is plotted in its place: ${row?.key}, want ${c.metric} of ${c.entity}`);
    check(row?.curve.includes("L") || row?.curve.includes("H"), `claim ${i} of ${incident.id} has samples: ${c.metric} of ${c.entity}`);
    check(row?.stated === 2 && row.words.startsWith("stated: "), `claim ${i} of ${incident.id} shows its interval and value: ${JSON.stringify(row)}`);
  }
}
