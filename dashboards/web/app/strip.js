// Incidents over time as a strip of bars: drag over it to choose an interval.

import { h, s, attr, replace, changed } from "./dom.js";
import { instant, interval, called, clock, when } from "./format.js";
import { timeTicks } from "./axis.js";

const height = 44, lanes = 6, edge = 4; // px, rows of bars, px

/** Strip is the picture; chose(from, to) is called with an interval in ms. */
export class Strip {
  constructor(chose) {
    this.svg = s("svg", { class: "strip", height: height + 16, role: "img", "aria-label": "Incidents over time" });
    this.brush = s("rect", { class: "brush", y: 0, height, visibility: "hidden" });
    this.el = h("div", { class: "stripbox" }, this.svg);
    this.svg.addEventListener("pointerdown", (e) => { if (e.button === 0 && this.width) { this.start = this.x(e); this.svg.setPointerCapture(e.pointerId); } });
    this.svg.addEventListener("pointermove", (e) => this.drag(this.x(e)));
    this.svg.addEventListener("pointerup", (e) => {
      const [a, b] = [this.start, this.x(e)].sort((x, y) => x - y);
      this.drag(NaN);
      if (b - a > 5) chose(this.time(a), this.time(b));
    });
    this.svg.addEventListener("pointercancel", () => this.drag(NaN));
  }

  x(e) { return Math.min(this.width - edge, Math.max(edge, e.clientX - this.svg.getBoundingClientRect().left)); }

  time(x) { return this.from + (x - edge) / (this.width - 2 * edge) * (this.to - this.from); }

  drag(x) {
    if (!Number.isFinite(this.start)) return;
    const on = Number.isFinite(x);
    attr(this.brush, "visibility", on ? "visible" : "hidden");
    if (!on) { this.start = NaN; return; }
    attr(this.brush, "x", Math.min(x, this.start));
    attr(this.brush, "width", Math.abs(x - this.start));
  }

  /** draw shows incidents between two instants; without bounds, from the first of them to now. */
  draw(incidents, { from, to }, now) {
    const spans = incidents.map((i) => ({ id: i.id, severity: i.state === "open" ? i.severity : "resolved", name: `${called(i.root?.entity ?? "") || i.id}, ${when(interval(i.onset).middle, now)}`, a: interval(i.onset).from, b: instant(i.resolved) || now })).filter((i) => Number.isFinite(i.a));
    this.from = Number.isFinite(from) ? from : Math.min(now - 3600e3, ...spans.map((i) => i.a));
    this.to = Number.isFinite(to) ? to : now;
    this.width = this.el.clientWidth;
    if (!(this.to > this.from) || !(this.width > 60) || !changed(this.svg, "spans", [spans, Math.round(this.from / 10000), Math.round(this.to / 10000), this.width])) return;
    const at = (t) => edge + (Math.min(this.to, Math.max(this.from, t)) - this.from) / (this.to - this.from) * (this.width - 2 * edge);
    const day = this.to - this.from > 36 * 3600e3;
    replace(this.svg,
      timeTicks(this.from, this.to, this.width, 110).map((t) => [s("path", { class: "tick", d: `M${at(t).toFixed(1)} 0V${height + 3}` }), at(t) < this.width - 60 && s("text", { class: "axis", x: at(t) + 3, y: height + 13 }, day ? when(t, 0).replace(/ \d{4}/, "").replace(/:\d\d$/, "") : clock(t).slice(0, 5))]),
      spans.filter((i) => i.b >= this.from && i.a <= this.to).map((i, n) => s("rect", { class: `span ${i.severity}`, x: at(i.a).toFixed(1), width: Math.max(2, at(i.b) - at(i.a)).toFixed(1), y: 2 + (n % lanes) * 7, height: 5 }, s("title", {}, i.name))),
      this.brush);
  }
}
