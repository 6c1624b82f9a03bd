// What is not known yet: nothing is stated until its sources have answered.

import { h, text, attr } from "./dom.js";

/** unread returns what to write while a source has no answer: that it is read, or why it cannot be; "" when all have one. A source: {loaded, failure}. */
export function unread(sources) {
  const first = sources.find((s) => !s.loaded);
  return !first ? "" : first.failure ? `No data: ${first.failure}` : "Reading …";
}

/** once calls draw when all sources have answered; until then el shows what unread returns in the place of its content. */
export function once(el, sources, draw = () => {}) {
  const words = unread(sources);
  attr(el, "data-reading", words === "" ? null : "");
  if (words === "") {
    el.reading?.remove();
    el.reading = null;
    return draw();
  }
  if (!el.reading) el.prepend((el.reading = h("p", { class: "quiet unanswered" })));
  text(el.reading, words);
}
