// One small plot: a curve over the shared time axis, from zero.

import { s, replace } from "./dom.js";
import { scale, short, interval, instant } from "./format.js";
import { within } from "./happened.js";

export const gutter = 54; // px left of the plot for the values of its axis
export const plotHeight = 58;
const top = 9, bottom = 5; // px above the greatest value and below zero

/** Frame is what the plots of one picture share: time, width, and what happened when. */
export class Frame {
  constructor(from, to, width) {
    Object.assign(this, { from, to, width, marks: [], ticks: [], onset: null });
  }

  /** x is where an instant stands, in px. */
  x(ms) { return gutter + ((ms - this.from) / (this.to - this.from)) * (this.width - gutter); }

  /** time is the instant that stands at x. */
  time(x) { return this.from + ((x - gutter) / (this.width - gutter)) * (this.to - this.from); }

  inside(ms) { return Math.min(this.width, Math.max(gutter, this.x(ms))); }
}

/**
 * drawPlot draws a series into svg. of: {frame, series, peak: the end of its axis,
 * onset: when it began to look wrong, expected: what it would be without the root, or was before,
 * claims: what is stated of it, checkpoints: [[from, to]] of its job,
 * events: marks of its entity, floor: where its axis begins, 0 if not given,
 * before: {t, v} of an earlier time, moved here, peers: {t, lo, mid, hi},
 * limit: {value} or {t, v} beyond which a rule alerts}.
 */
export function drawPlot(svg, of) {
  const { frame, series, peak, floor = 0 } = of;
  const y = (v) => top + (1 - (v - floor) / (peak - floor)) * (plotHeight - top - bottom);
  const sc = scale(series.unit, peak, series.name);
  replace(svg,
    band(frame, of.onset, "band own"),
    frame.onset && band(frame, frame.onset, "band"),
    frame.ticks.map((t) => s("path", { class: "tick", d: `M${frame.x(t)} ${top}V${plotHeight - bottom}` })),
    holes(frame, series),
    (of.checkpoints ?? []).map((c) => checkpoint(frame, c)),
    (of.claims ?? []).map((c) => stated(frame, c, y)),
    s("path", { class: "grid", d: `M${gutter} ${y(peak)}H${frame.width}` }),
    s("path", { class: "zero", d: `M${gutter} ${y(0)}H${frame.width}` }),
    s("text", { class: "axis", x: gutter - 5, y: y(peak) + 4 }, short(peak, sc)),
    s("text", { class: "axis", x: gutter - 5, y: y(0) + 1 }, "0"),
    floor < 0 && s("text", { class: "axis", x: gutter - 5, y: y(floor) + 1 }, short(floor, sc)),
    of.peers && envelope(frame, of.peers, y),
    of.before && s("path", { class: "before", d: trace(frame, of.before.t, of.before.v, y) }),
    series.isSteps ? steps(frame, series, y, of) : line(frame, series, y),
    !series.isSteps && of.expected > 0 && s("path", { class: "expected", d: `M${gutter} ${y(of.expected)}H${frame.width}` }),
    of.limit && s("path", { class: "limit", d: of.limit.t ? trace(frame, of.limit.t, of.limit.v, y) : `M${gutter} ${round(y(of.limit.value))}H${frame.width}` }),
    frame.marks.map((m) => s("path", { class: `mark ${m.class}`, d: `M${frame.x(m.at)} 0V${plotHeight}` })),
    (of.events ?? []).map((m) => s("path", { class: "mark event", d: `M${frame.x(m.at)} ${top}V${plotHeight - bottom}` }, s("title", {}, m.text))),
    s("circle", { class: "dot", r: 3.2, visibility: "hidden" }));
  svg.heightOf = y;
}

// trace joins the samples that stand within the frame.
function trace(frame, t, v, y) {
  let path = "";
  for (let i = 0; i < t.length; i++) if (t[i] >= frame.from && t[i] <= frame.to && Number.isFinite(v[i])) path += `${path ? "L" : "M"}${round(frame.x(t[i]))} ${round(y(v[i]))}`;
  return path;
}

// envelope draws where most of the peers are, and the middle one.
function envelope(frame, { t, lo, mid, hi }, y) {
  const back = trace(frame, [...t].reverse(), [...lo].reverse(), y);
  return [back && s("path", { class: "peers", d: `${trace(frame, t, hi, y)}${back.replace("M", "L")}Z` }), s("path", { class: "middle", d: trace(frame, t, mid, y) })];
}

function band(frame, onset, name) {
  const { from, to } = interval(onset);
  if (!Number.isFinite(from) || to < frame.from || from > frame.to) return null;
  const a = frame.inside(from);
  return s("rect", { class: name, x: a, y: 0, width: Math.max(1.5, frame.inside(to) - a), height: plotHeight });
}

// checkpoint draws the interval of one, named where there is room.
function checkpoint(frame, [from, to]) {
  if (!(to > frame.from && from < frame.to)) return null;
  const a = round(frame.inside(from)), width = Math.max(2, round(frame.inside(to)) - a);
  return [s("rect", { class: "checkpoint", x: a, y: top, width, height: plotHeight - top - bottom }, s("title", {}, "checkpoint")), width > 66 && s("text", { class: "checkpointname", x: a + 3, y: top + 10 }, "checkpoint")];
}

// stated draws the interval of a claim, and its value over it.
function stated(frame, claim, y) {
  const from = instant(claim.from), to = instant(claim.to);
  if (!(to > frame.from && from < frame.to) || typeof claim.value !== "number") return null;
  const a = round(frame.inside(from)), b = Math.max(a + 2, round(frame.inside(to)));
  return [s("rect", { class: "within", x: a, y: top, width: b - a, height: plotHeight - top - bottom }), s("path", { class: "stated", d: `M${a} ${round(y(claim.value))}H${b}` })];
}

function holes(frame, series) {
  const open = series.openGap();
  return (open ? [...series.gaps, open] : series.gaps).filter(([a, b]) => b > frame.from && a < frame.to).map(([a, b]) => {
    const x = frame.inside(a);
    return s("rect", { class: "gap", x, y: top, width: Math.max(1, frame.inside(b) - x), height: plotHeight - top - bottom });
  });
}

// line joins samples, except across gaps. Where there are more samples than
// pixels it draws the least and the greatest of each pixel.
function line(frame, series, y) {
  const { t, v } = series;
  let path = "", area = "", start = NaN, lastX = NaN, gap = 0, column = NaN, lo = NaN, hi = NaN;
  const end = () => { if (Number.isFinite(start)) area += `V${y(0)}H${start}Z`; };
  for (let i = 0; i < t.length; i++) {
    if (t[i] < frame.from - 2000) continue;
    if (t[i] > frame.to + 2000) break;
    while (gap < series.gaps.length && series.gaps[gap][1] < t[i]) gap++;
    const x = round(frame.x(t[i])), px = Math.floor(x);
    const fresh = !Number.isFinite(lastX) || (gap < series.gaps.length && series.gaps[gap][1] === t[i]);
    if (!fresh && px === column && v[i] >= lo && v[i] <= hi) continue;
    if (px !== column) { column = px; lo = hi = v[i]; }
    lo = Math.min(lo, v[i]); hi = Math.max(hi, v[i]);
    const point = `${x} ${round(y(v[i]))}`;
    if (fresh) { end(); area += `M${x} ${y(0)}L${point}`; start = x; path += `M${point}`; } else { path += `L${point}`; area += `L${point}`; }
    lastX = x;
  }
  end();
  return [s("path", { class: "area", d: area }), s("path", { class: "curve", d: path })];
}

// steps draws each step as wide as it took and as high, and shades what it took
// beyond the expected: that area is what was lost. A step with a checkpoint in it
// counts as no loss, and is cut at the end of the axis.
function steps(frame, series, y, { expected, checkpoints }) {
  const { t, v } = series;
  let path = "", area = "", lost = "", before = NaN;
  for (let i = 0; i < t.length; i++) {
    const begins = t[i] - v[i] * 1000;
    if (t[i] < frame.from || begins > frame.to) continue;
    const a = round(frame.inside(begins)), b = round(frame.inside(t[i])), h = round(Math.max(top, y(v[i])));
    const adjoins = Math.abs(a - before) < 1.5;
    path += `${adjoins ? `L${a}` : `M${a}`} ${h}H${b}`;
    area += `M${a} ${y(0)}V${h}H${b}V${y(0)}Z`;
    if (expected > 0 && v[i] > expected * 1.02 && !within(checkpoints, t[i], v[i])) lost += `M${a} ${y(expected)}V${h}H${b}V${y(expected)}Z`;
    before = b;
  }
  const age = unfinished(frame, series), last = t.at(-1);
  return [
    s("path", { class: "area", d: area }), lost && s("path", { class: "lost", d: lost }),
    expected > 0 && s("path", { class: "expected", d: `M${gutter} ${y(expected)}H${frame.width}` }),
    s("path", { class: "curve", d: path }),
    age > 0 && s("path", { class: "unfinished", d: `M${round(frame.inside(last))} ${y(0)}L${round(frame.inside(frame.received))} ${round(y(age))}` }),
  ];
}

/** unfinished is for how many seconds, as far as the curves are known, a job's step has gone on that should have ended, 0 where none has. */
export function unfinished(frame, series) {
  const age = (frame.received - series.t.at(-1)) / 1000;
  return frame.live && series.isSteps && age > 2 * series.v.at(-1) ? age : 0;
}

function round(v) { return Math.round(v * 10) / 10; }
