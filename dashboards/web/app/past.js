// Curves of any entity over the last hour, from the history: the same figure as an
// incident's evidence.

import { Curves } from "./curves.js";
import { keyOf } from "./series.js";
import { clock } from "./format.js";
import { unitOf } from "./words.js";

const silentAfter = 120e3; // ms without a value, from which on the last one is not now
const hour = 3600e3, least = 600e3; // ms: of a picture, and the shortest one

/** step is how many seconds lie between the points of a curve: three samples of the history, so that rates are smooth. */
export const step = 30;

/** lastHour is the hour that ends at an instant. */
export function lastHour(at) { return { from: at - hour, to: at, step }; }

/** stepOf is the step for a span: as fine as step, and no more than 600 points. */
export function stepOf({ from, to }) { return Math.max(step, Math.ceil((to - from) / 600 / 10000) * 10); }

/** curvesOf turns what a range query answered for entities into curves: counters become rates. */
export function curvesOf(result, role = "witness", every = step) {
  return result.map(({ labels, t, v }) => {
    const metric = labels.__name__ ?? "", counter = metric.endsWith("_total");
    const values = counter ? v.map((x, i) => (i === 0 || t[i] - t[i - 1] > 3 * every * 1000 ? null : rate(v[i - 1], x, (t[i] - t[i - 1]) / 1000))) : v;
    return { entity: `${labels.kind ?? ""}:${labels.name ?? ""}`, metric, unit: unitOf(metric), role, sampled: true, t: counter ? t.slice(1) : t, v: counter ? values.slice(1) : values };
  });
}

// rate is a counter's between two readings. One that fell began anew; one that fell
// by a little did not, it was read twice out of order.
function rate(before, now, seconds) { return (now >= before ? now - before : now > before * 0.9 ? 0 : now) / seconds; }

/** Past is the figure. */
export class Past extends Curves {
  constructor() {
    super();
    this.none = "The history holds nothing of it in this time.";
    this.incident = { state: "past", chain: [], onset: null };
    this.rank = new Map();
  }

  /** show replaces what is drawn. hour: {from, to}; live: its end is now. */
  show(curves, { from, to, live }) {
    this.series.clear();
    this.rank = new Map(curves.map((c, i) => [keyOf(c), i]));
    this.take({ curves });
    const begins = Math.min(...curves.map((c) => c.t[0] ?? Infinity)); // a young history does not fill the hour
    this.from = Number.isFinite(begins) ? Math.min(Math.max(from, begins - least / 10), to - least) : from;
    this.to = to;
    this.failure = "";
    this.incident = { state: live ? "open" : "past", chain: [], onset: null };
    this.update(this.incident, to);
  }

  /** fail says why there is nothing to draw. */
  fail(error) {
    this.series.clear();
    this.failure = error.message;
    this.draw();
  }

  // reading says of when the last value is, where that is not now.
  reading(x) {
    const last = x.t.at(-1);
    if (Number.isFinite(this.cursor) || !this.frame.live || this.to - last < silentAfter) return super.reading(x);
    return { v: x.v.at(-1), note: clock(last).slice(0, 5) };
  }

  ordered() { return [...this.series.values()].sort((a, b) => (this.rank.get(keyOf(a)) ?? 0) - (this.rank.get(keyOf(b)) ?? 0)); }
}
