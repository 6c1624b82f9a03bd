// Pictures of the views, for looking at them and for docs/page.md.

/** shoot takes each page at two widths in both themes. */
export async function shoot(browser, { dir, pages }) {
  for (const width of [1280, 390]) for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ viewport: { width, height: width > 500 ? 860 : 844 }, colorScheme, timezoneId: "Europe/Berlin", locale: "en-GB", reducedMotion: "reduce" });
    for (const { name, url, hover, wait, press, width: own, height: tall } of pages) {
      if (own && width < 500) continue; // it is made for a screen of its own
      const page = await context.newPage();
      if (own) await page.setViewportSize({ width: own, height: tall });
      await page.goto(url);
      if (press) {
        await page.locator(".plot .curve").first().waitFor();
        await page.getByRole("button", { name: press }).click();
      }
      await page.locator(wait ?? ".plot .curve, .rows .row, :not(.commands) > .command, .worst li").first().waitFor();
      const whole = !own && name !== "jobs" && !(width < 500 && name === "incident");
      for (let height = 0; whole;) { // what is far below is drawn once it is near, and may be higher than it was thought
        const now = await page.evaluate(() => document.documentElement.scrollHeight);
        if (now <= height) break;
        await page.setViewportSize({ width, height: (height = now) });
        await page.waitForTimeout(200);
      }
      if (hover && width > 500) {
        const box = await page.locator(".plot").first().boundingBox();
        await page.mouse.move(box.x + box.width * hover, box.y + 20);
        await page.locator(".cross").waitFor();
      }
      await page.screenshot({ path: `${dir}/${name}-${own ?? width}-${colorScheme}.png`, fullPage: whole });
      if (name === "empty") {
        await page.keyboard.press("?");
        await page.screenshot({ path: `${dir}/help-${width}-${colorScheme}.png` });
      }
      await page.close();
    }
    await context.close();
  }
}
