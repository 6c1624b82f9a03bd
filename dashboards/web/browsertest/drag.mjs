// A drag over a picture, once the page has come to rest: what is read meanwhile moves it.

/** drag presses at one point of a picture and releases at another: x is a part of its width, y in px from its top. */
export async function drag(page, selector, [x1, y1], [x2, y2]) {
  const box = await atRest(page, selector);
  await page.mouse.move(box.x + box.width * x1, box.y + y1);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * x2, box.y + y2);
  await page.mouse.up();
}

// atRest is where a picture is when it was there five frames before.
async function atRest(page, selector) {
  const frames = () => page.evaluate(() => new Promise((done) => { let n = 5; const next = () => (n-- > 0 ? requestAnimationFrame(next) : done()); next(); }));
  for (let was; ;) {
    const is = await page.locator(selector).boundingBox();
    if (was && was.x === is.x && was.y === is.y && was.width === is.width) return is;
    was = is;
    await frames();
  }
}
