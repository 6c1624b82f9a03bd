// The evidence as curves on one time axis, and the crosshair over them.

import { h, s, text, attr, show, replace, keyed } from "./dom.js";
import { clock, universal, instant, interval, quantity, called, zone, isRecording } from "./format.js";
import { metricName, metricDomain, domainClass, domainSign } from "./words.js";
import { niceMax, timeTicks } from "./axis.js";
import { entityLink } from "./parts.js";
import { Series, keyOf } from "./series.js";
import { exploreAddress, seriesQuery } from "./query.js";
import { checkpointsOf, marksOf, within } from "./happened.js";
import { Frame, drawPlot, unfinished, gutter, plotHeight } from "./plot.js";

const shownAtFirst = 10; // curves, and all that claims were read from; the rest waits behind a button
const flagsHeight = 22, axisHeight = 20;
const stamps = /\d{4}-\d\d-\d\dT[\d:.]+Z/g; // times as the server writes them
const roles = ["effect", "root", "chain", "witness"];

/** Curves is the figure: feed it with take, bring it up to date with update. */
export class Curves {
  constructor() {
    this.series = new Map();
    this.from = NaN;
    this.to = NaN;
    this.cursor = NaN; // ms, where the crosshair stands
    this.all = false;
    this.none = "No samples of this incident are held any more.";
    this.build();
  }

  build() {
    this.flags = s("svg", { class: "flags", height: flagsHeight, "aria-hidden": "true" });
    this.rows = h("div", { class: "plots" });
    this.axis = s("svg", { class: "ticks", height: axisHeight, "aria-hidden": "true" });
    this.cross = h("div", { class: "cross", hidden: true }, h("span", { class: "at" }));
    // The slider is a sibling of the rows: there are links in them, and a slider may hold none.
    this.hand = h("div", { class: "hand", tabindex: "0", role: "slider", "aria-label": "Moment in the curves; arrow keys move it", "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0" });
    this.stage = h("div", { class: "stage" },
      this.hand,
      h("div", { class: "curve flagrow" }, h("div", { class: "label" }), this.flags, h("div", { class: "reading" })),
      this.rows,
      h("div", { class: "curve tickrow" }, h("div", { class: "label" }), this.axis, h("div", { class: "reading" })),
      this.cross);
    this.more = h("button", { type: "button", class: "more", hidden: true, onclick: () => { this.all = !this.all; this.draw(); } });
    this.note = h("p", { class: "quiet" });
    this.lacking = h("p", { class: "complaint lacking" });
    this.empty = h("p", { class: "quiet" }, "Reading the curves …");
    this.el = h("div", { class: "curves", id: "curves" }, this.empty, this.stage, this.lacking, this.note, this.more);
    this.listen();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.el);
  }

  listen() {
    const stage = this.stage;
    stage.addEventListener("pointermove", (e) => this.point(e));
    stage.addEventListener("pointerdown", (e) => this.point(e));
    stage.addEventListener("pointerdown", (e) => { if (this.zoomed && e.button === 0) this.dragged = this.timeAt(e); });
    stage.addEventListener("pointerup", (e) => this.zoom(this.timeAt(e)));
    stage.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse") this.move(NaN); });
    this.hand.addEventListener("keydown", (e) => this.key(e));
    this.hand.addEventListener("blur", () => this.move(NaN));
  }

  close() { this.observer.disconnect(); }

  /** take merges an answer of /api/v1/incidents/{id}/curves. */
  take(answer) {
    for (const curve of answer.curves ?? []) {
      const key = keyOf(curve);
      if (!this.series.has(key)) this.series.set(key, new Series(curve));
      this.series.get(key).add(curve.t ?? [], curve.v ?? []);
    }
    const from = instant(answer.from), to = instant(answer.to);
    if (!(this.from <= from)) this.from = from;
    if (!(this.to >= to)) this.to = to;
    if (typeof answer.tick === "string") { // where the next question begins, and up to which the curves are known
      this.since = answer.tick;
      this.received = instant(answer.tick);
    }
    text(this.note, (answer.note ?? "").replace(stamps, (t) => clock(instant(t))));
    this.taken = true;
  }

  /** update redraws for what is now known of the incident; now is the log's time. */
  update(incident, now) {
    this.incident = incident;
    this.now = now;
    this.draw();
  }

  // order: the series of claims as they are stated, then the degraded job, the
  // root, the chain as it goes, other series of the root.
  ordered() {
    const chain = (this.incident.chain ?? []).map((l) => l.entity);
    const place = (x) => { const i = chain.indexOf(x.entity); return i < 0 ? chain.length : i; };
    const own = (x) => (this.linkOf(x) ? 0 : 1);
    const claimed = (x) => { const i = this.claims(x)[0]?.place ?? -1; return i < 0 ? Infinity : i; };
    return [...this.series.values()].sort((a, b) => compare(claimed(a), claimed(b)) || role(a) - role(b) || place(a) - place(b) || own(a) - own(b));
  }

  // claims are those of the incident that were read from a series.
  claims(x) { return (this.incident.claims ?? []).map((c, place) => ({ ...c, place })).filter((c) => c.entity === x.entity && c.metric === x.metric); }

  linkOf(series) { return (this.incident.chain ?? []).find((l) => l.entity === series.entity && l.metric === series.metric); }

  draw() {
    if (!this.incident) return;
    const sorted = this.ordered(), few = Math.max(shownAtFirst, sorted.filter((x) => this.claims(x).length > 0).length);
    const hasCurves = sorted.length > 0 && this.to > this.from;
    show(this.stage, hasCurves);
    show(this.empty, !hasCurves);
    text(this.lacking, this.taken ? lackingWords((this.incident.claims ?? []).filter((c) => !(this.series.get(keyOf(c))?.t.length > 0))) : "");
    text(this.empty, this.failure ? `The curves cannot be read: ${this.failure}` : this.taken ? this.none : "Reading the curves …");
    show(this.more, hasCurves && sorted.length > few);
    if (!hasCurves || this.el.clientWidth === 0) return;
    text(this.more, this.all ? "Show fewer" : `Show ${sorted.length - few} more`);
    const visible = this.all ? sorted : sorted.slice(0, few);
    keyed(this.rows, visible, { key: keyOf, create: (x) => this.row(x), update: () => {} });
    this.frame = this.newFrame();
    const peaks = peaksOf(visible, this.frame, (x) => this.checkpointsAt(x));
    for (const x of visible) this.drawRow(x, peaks.get(family(x)));
    drawFlags(this.flags, this.frame);
    drawAxis(this.axis, this.frame);
    this.move(this.cursor);
  }

  newFrame() {
    const { opened, resolved, state, onset } = this.incident;
    const live = state === "open";
    const frame = new Frame(this.from, live ? Math.max(this.to, this.now || 0) : this.to, this.flags.clientWidth || this.rows.firstChild.querySelector(".plot").clientWidth);
    frame.live = live;
    frame.received = Math.min(frame.to, Number.isFinite(this.received) ? this.received : frame.to);
    frame.onset = onset;
    frame.checkpoints = checkpointsOf(this.incident, frame.to);
    frame.events = marksOf(this.incident).filter((m) => m.at >= frame.from && m.at <= frame.to);
    frame.ticks = timeTicks(frame.from, frame.to, frame.width - gutter, frame.width < 500 ? 72 : 96);
    frame.marks = [{ at: instant(opened), class: "opened", text: "opened" }, { at: instant(resolved), class: "resolved", text: "resolved" }]
      .filter((m) => m.at >= frame.from && m.at <= frame.to);
    return frame;
  }

  row(x) {
    const domain = metricDomain(x.name);
    return h("div", { class: `curve ${domainClass(domain)} role-${roles.includes(x.role) ? x.role : "witness"}`, "data-entity": x.entity, "data-metric": x.metric },
      h("div", { class: "label", title: `${x.entity} ${x.metric}` },
        h("span", { class: "who" }, domainSign(domain), x.entity && entityLink(x.entity)),
        h("a", { class: "what", "data-go": true, "aria-label": `Explore ${titleOf(x)} of ${called(x.entity)}` }, titleOf(x)), h("span", { class: "what claim" })),
      s("svg", { class: "plot", height: plotHeight, role: "img", "aria-label": `${titleOf(x)} of ${called(x.entity)}` }),
      h("div", { class: "reading" }, h("span", { class: "value" }), h("span", { class: "note" })));
  }

  drawRow(x, peak) {
    const row = this.rows.byKey.get(keyOf(x));
    const impact = x.role === "effect" ? (this.incident.impact?.jobs ?? []).find((j) => j.job === x.entity && j.measure === x.metric) : null;
    const claims = this.claims(x), baseline = claims.find((c) => typeof c.baseline === "number")?.baseline;
    const said = claims.map((c) => claimWords(c, x)).join("; ");
    text(row.querySelector(".claim"), claims.length ? `stated: ${claims.map((c) => c.text).filter(Boolean).join("; ") || said}` : "");
    attr(row.querySelector(".claim"), "title", said || null);
    attr(row.querySelector(".plot"), "aria-label", `${titleOf(x)} of ${called(x.entity)}${said && `; ${said}`}`);
    attr(row.querySelector("a.what"), "href", this.addressOf(x));
    drawPlot(row.querySelector(".plot"), { frame: this.frame, series: x, ...peak, before: x.before, peers: x.peers, limit: x.limit, onset: this.linkOf(x)?.onset, expected: impact?.expected ?? baseline, claims, checkpoints: this.checkpointsAt(x), events: this.frame.events.filter((m) => m.entity === x.entity) });
  }

  // addressOf is where a curve can be explored, over the time that is shown.
  addressOf(x) { return exploreAddress(x.query ?? seriesQuery(x.entity, x.metric), this.frame.live ? {} : this.frame); }

  // checkpointsAt are those of the job that a series is of, or whose rank.
  checkpointsAt(x) { return this.frame.checkpoints.get(x.entity.startsWith("rank:") ? `job:${x.entity.slice(5, x.entity.lastIndexOf("/"))}` : x.entity); }

  // reading is what stands right of a plot: the value under the crosshair, or
  // without one the latest of an open incident and the extreme of a closed one.
  reading(x) {
    if (Number.isFinite(this.cursor)) {
      const i = x.at(this.cursor);
      return i < 0 ? { v: NaN, note: "no data" } : { v: x.v[i], i, note: "" };
    }
    if (this.frame.live) return { v: x.v.at(-1), note: "now" };
    const { from } = interval(this.incident.onset);
    const link = this.linkOf(x), fell = link !== undefined && link.now < link.before;
    return { v: x.extremeWithin(from, instant(this.incident.resolved) || this.to, fell), note: fell ? "least" : "peak" };
  }

  /** move puts the crosshair at an instant, or with NaN takes it away. */
  move(ms) {
    if (!this.frame) return;
    this.cursor = Number.isFinite(ms) ? Math.min(this.frame.to, Math.max(this.frame.from, ms)) : NaN;
    const values = [];
    for (const row of this.rows.children) {
      const x = this.series.get(`${row.dataset.entity}\n${row.dataset.metric}`);
      if (!x) continue; // of the answer before
      const r = this.reading(x);
      const value = quantity(r.v, x.unit, x.name);
      text(row.querySelector(".value"), value);
      text(row.querySelector(".note"), r.note);
      this.dot(row.querySelector(".plot"), x, r);
      if (values.length < 6) values.push(`${called(x.entity)} ${titleOf(x)} ${r.note === "no data" ? r.note : value}`);
    }
    this.placeCross(values);
  }

  dot(svg, x, r) {
    const dot = svg.querySelector(".dot");
    const on = r.i !== undefined;
    attr(dot, "visibility", on ? "visible" : "hidden");
    if (!on) return;
    attr(dot, "cx", this.frame.x(x.isSteps ? this.cursor : x.t[r.i]));
    attr(dot, "cy", svg.heightOf(r.v));
  }

  placeCross(values) {
    const on = Number.isFinite(this.cursor), { stage, hand } = this;
    show(this.cross, on);
    attr(hand, "aria-valuemax", Math.round((this.frame.to - this.frame.from) / 1000));
    attr(hand, "aria-valuenow", on ? Math.round((this.cursor - this.frame.from) / 1000) : 0);
    attr(hand, "aria-valuetext", on ? `${clock(this.cursor)}: ${values.join("; ")}` : "no moment chosen");
    if (!on) return;
    const x = this.frame.x(this.cursor);
    this.cross.style.left = `${this.flags.getBoundingClientRect().left - stage.getBoundingClientRect().left + x}px`;
    const label = this.cross.firstChild;
    text(label, clock(this.cursor));
    label.classList.toggle("left", x > this.frame.width - 70);
    attr(label, "title", universal(this.cursor));
  }

  // timeAt is the instant under a pointer, NaN outside the curves.
  timeAt(e) {
    const x = this.frame ? e.clientX - this.flags.getBoundingClientRect().left : NaN;
    return x >= gutter - 4 && x <= this.frame.width + 4 ? this.frame.time(x) : NaN;
  }

  // zoom ends a drag: zoomed(from, to) is called, where the figure has it, with what was dragged over.
  zoom(at) {
    const [from, to] = [this.dragged, at].sort((a, b) => a - b);
    this.dragged = NaN;
    if (this.frame && this.frame.x(to) - this.frame.x(from) > 8) this.zoomed(from, to);
  }

  point(e) {
    if (!this.frame) return;
    const at = this.timeAt(e);
    attr(this.stage, "data-drag", Number.isFinite(this.dragged) ? "" : null);
    this.move(at);
  }

  key(e) {
    if (!this.frame || e.ctrlKey || e.metaKey || e.altKey) return;
    const step = (this.frame.to - this.frame.from > 3600e3 ? 10000 : 1000) * (e.shiftKey ? 10 : 1);
    const begin = [this.cursor, interval(this.incident.onset).middle].find(Number.isFinite) ?? this.frame.to;
    const to = { ArrowLeft: begin - step, ArrowRight: begin + step, Home: this.frame.from, End: this.frame.to, Escape: NaN }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    this.move(to);
  }

  /** find brings the curves of an entity into view and marks them for a moment. */
  find(id) {
    const rows = [...this.rows.children].filter((r) => r.dataset.entity === id);
    for (const row of this.rows.children) row.classList.toggle("found", row.dataset.entity === id);
    const gentle = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    (rows[0] ?? this.el).scrollIntoView({ block: "center", behavior: gentle });
  }
}

// claimWords is the mean that a claim was read from, and over which interval.
function claimWords(c, x) {
  const error = typeof c.error === "number" && c.error > 0 ? ` ± ${quantity(c.error, x.unit, x.name)}` : "";
  const before = typeof c.baseline === "number" ? `, before ${quantity(c.baseline, x.unit, x.name)}` : "";
  return `mean ${quantity(c.value, x.unit, x.name)}${error}${before}, from ${clock(instant(c.from))} to ${clock(instant(c.to))}`;
}

// lackingWords lists claims of whose series no sample is kept.
function lackingWords(claims) {
  return claims.length ? `No samples are kept of: ${claims.map((c) => `${metricName(c.metric)} of ${called(c.entity)}${c.text ? ` (${c.text})` : ""}`).join("; ")}.` : "";
}

function titleOf(x) { return x.title ?? metricName(x.name); }
function compare(a, b) { return a === b ? 0 : a < b ? -1 : 1; }
function role(x) { const i = roles.indexOf(x.role); return i < 0 ? roles.length : i; }

// family: curves that measure the same share their scale, so that heights compare.
function family(x) { return x.group ?? `${x.unit} ${x.metric.replace(/_(tx|rx)_/, "_")}`; }

// A step with a checkpoint in it does not set the axis.
function peaksOf(list, frame, checkpointsAt) {
  const peaks = new Map();
  for (const x of list) {
    const saved = x.isSteps ? checkpointsAt(x) : null;
    const peak = saved ? x.v.reduce((most, v, i) => (within(saved, x.t[i], v) ? most : Math.max(most, v)), 0) : x.peak;
    const known = peaks.get(family(x));
    peaks.set(family(x), { peak: Math.max(known?.peak ?? 0, peak || x.peak, unfinished(frame, x)), floor: Math.min(known?.floor ?? 0, x.least) });
  }
  for (const [k, { peak, floor }] of peaks) peaks.set(k, { peak: peak > 0 || floor === 0 ? niceMax(peak) : 0, floor: floor < 0 ? -niceMax(-floor) : 0 });
  return peaks;
}

function drawFlags(svg, frame) {
  const long = frame.width > 620, parts = [];
  const { from, to, middle, half } = interval(frame.onset);
  if (middle >= frame.from && middle <= frame.to) {
    const a = frame.inside(from), b = Math.max(a + 1.5, frame.inside(to));
    parts.push(s("rect", { class: "band", x: a, y: flagsHeight - 6, width: b - a, height: 6 }));
    const words = long ? `began ${clock(middle)} ± ${half < 1 ? half.toFixed(1) : Math.round(half)} s` : "began";
    parts.push(s("text", { class: "flag onset", x: a - 3, y: 12, "text-anchor": "end" }, words));
  }
  for (const m of frame.events) parts.push(s("path", { class: "mark event", d: `M${frame.x(m.at)} ${flagsHeight - 6}l3 3l-3 3l-3 -3Z` }, s("title", {}, `${clock(m.at)} ${called(m.entity)}: ${m.text}`)));
  for (const m of frame.marks) {
    const x = frame.x(m.at), end = m.class === "resolved" && x > frame.width - (long ? 110 : 60);
    parts.push(s("path", { class: `mark ${m.class}`, d: `M${x} ${flagsHeight - 6}v6` }));
    parts.push(s("text", { class: "flag", x: x + (end ? 0 : 4), y: 12, "text-anchor": end ? "end" : "start" }, long ? `${m.text} ${clock(m.at)}` : m.text));
  }
  replace(svg, parts);
}

function drawAxis(svg, frame) {
  const seconds = frame.ticks.some((t) => t % 60000 !== 0);
  const label = (t) => (seconds || isRecording(t) ? clock(t) : clock(t).slice(0, 5));
  const clear = (t) => isRecording(t) || frame.x(t) > gutter + 28; // of the zone's name, which ends where the curves begin
  replace(svg, frame.ticks.map((t) => [
    s("path", { class: "tick", d: `M${frame.x(t)} 0v4` }),
    clear(t) && s("text", { class: "axis time", x: frame.x(t), y: 15 }, label(t)),
  ]), s("text", { class: "axis zone", x: gutter - 5, y: 15 }, isRecording(frame.from) ? "" : zone(frame.from)));
}
