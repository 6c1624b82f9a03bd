// Scrubbing: which instant is looked at, live or past, with the incidents of that
// time on the track. The address carries it.

import { h, s, text, attr, show, keyed, changed } from "./dom.js";
import { when, universal, interval, instant, duration, called, clock } from "./format.js";
import { setTime } from "./parts.js";
import { grid } from "./promql.js";

const windows = [[1, "1 h"], [6, "6 h"], [24, "24 h"], [168, "7 d"]];
const cadence = 10000; // ms: how often the history has a sample

/** atOf reads the instant that an address names, NaN for live. */
export function atOf(search) { return instant(new URLSearchParams(search).get("at") ?? undefined); }

/** Scrub is the control. moved(at) is called with a choice, NaN of live. */
export class Scrub {
  constructor(moved) {
    this.moved = moved;
    this.at = NaN;
    this.hours = 1;
    this.track = s("svg", { class: "lane", height: 12, "aria-hidden": "true" });
    this.range = h("input", { type: "range", class: "scrub", "aria-label": "The moment that is shown", step: cadence, oninput: () => this.choose(Number(this.range.value)) });
    this.live = h("button", { type: "button", class: "live", "aria-pressed": "true", onclick: () => this.choose(NaN) }, "live");
    this.back = h("button", { type: "button", title: "A minute earlier", onclick: () => this.by(-60000) }, "−1 min");
    this.on = h("button", { type: "button", title: "A minute later", onclick: () => this.by(60000) }, "+1 min");
    this.now = h("time", {});
    this.from = h("span", { class: "quiet edge" });
    this.spans = windows.map(([hours, words]) => h("button", { type: "button", "aria-pressed": String(hours === 1), onclick: () => { this.hours = hours; this.set(this.tick, this.at, this.incidents); } }, words));
    this.el = h("div", { class: "scrubber", role: "group", "aria-label": "Time" },
      h("div", { class: "moment" }, this.live, this.now, this.back, this.on),
      h("div", { class: "trackbox" }, this.track, this.range, this.from),
      h("div", { class: "buttons spans", role: "group", "aria-label": "How far back the track reaches" }, this.spans));
  }

  by(ms) { this.choose((Number.isFinite(this.at) ? this.at : this.tick) + ms); }

  choose(at) {
    const live = !Number.isFinite(at) || at >= grid(this.tick);
    this.set(this.tick, live ? NaN : at, this.incidents);
    this.moved(this.at);
  }

  /** set brings it up to the log's now, the instant chosen and the incidents known. */
  set(tick, at, incidents) {
    if (!Number.isFinite(tick)) return;
    Object.assign(this, { tick, at, incidents });
    const end = grid(tick);
    if (Number.isFinite(at)) while (at < end - this.hours * 3600e3 && this.hours < 168) this.hours = windows[windows.findIndex(([n]) => n === this.hours) + 1][0];
    const begin = Math.max(0, end - this.hours * 3600e3), shown = Number.isFinite(at) ? at : end;
    attr(this.range, "min", begin);
    attr(this.range, "max", end);
    if (Number(this.range.value) !== shown) this.range.value = String(shown);
    attr(this.range, "aria-valuetext", Number.isFinite(at) ? `${when(at, tick)}, ${duration((tick - at) / 1000)} ago` : "live");
    attr(this.live, "aria-pressed", String(!Number.isFinite(at)));
    for (const [i, [hours]] of windows.entries()) attr(this.spans[i], "aria-pressed", String(hours === this.hours));
    setTime(this.now, shown, tick);
    text(this.from, `from ${when(begin, tick)}`);
    attr(this.from, "title", universal(begin));
    this.drawTrack(begin, end);
  }

  // drawTrack shows when incidents began and ended.
  drawTrack(begin, end) {
    const width = this.track.clientWidth || 600, x = (t) => 8 + (Math.min(end, Math.max(begin, t)) - begin) / (end - begin) * (width - 16);
    const seen = (this.incidents ?? []).map(spanOf).filter((i) => (i.to ?? end) >= begin && i.from <= end).slice(0, 200);
    if (!changed(this.track, "spans", [begin, end, width, seen.map((i) => i.id)])) return;
    keyed(this.track, seen, {
      key: (i) => i.id,
      create: (i) => s("path", { class: "span" }, s("title", {}, `${i.name}, ${clock(i.from)}`)),
      update: (el, i) => attr(el, "d", `M${x(i.from).toFixed(1)} 2v8m0-4H${Math.max(x(i.from) + 2, x(i.to ?? end)).toFixed(1)}`),
    });
    show(this.track, true);
  }
}

const spans = new WeakMap(); // a revision of an incident -> its place on the track

// spanOf is when an incident began and ended: {id, name, from, to: undefined while it is open}.
function spanOf(i) {
  let found = spans.get(i);
  if (!found) spans.set(i, (found = { id: `${i.id} ${i.revision}`, name: called(i.root?.entity ?? ""), from: interval(i.onset).middle, to: i.resolved ? instant(i.resolved) : undefined }));
  return found;
}

/** during are the incidents that went on at an instant. */
export function during(store, at) {
  const all = [...store.incidents.values()];
  if (!Number.isFinite(at)) return all.filter((i) => i.state === "open");
  return all.filter((i) => interval(i.onset).from <= at && !(i.resolved && instant(i.resolved) < at));
}
