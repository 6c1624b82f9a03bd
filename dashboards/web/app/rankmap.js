// Ranks over time as a heat map on one canvas: a row a rank, a column an instant.
// The value of a cell is shown under the pointer, or where the arrow keys are.

import { h, s, text, attr, show, replace, changed } from "./dom.js";
import { clock, quantity, number, isRecording } from "./format.js";
import { shade, isDark, pixels as colours } from "./heat.js";
import { repainted, pixels } from "./repaint.js";
import { select } from "./waiting.js";
import { timeTicks } from "./axis.js";

const least = 2, usual = 14, tallest = 420; // px of a row, and of all of them
const left = 44, bottom = 18; // px for the ranks' numbers, for the times

/** rankNumber is the rank that a name "job/17" ends in. */
export function rankNumber(name) { return Number(String(name).slice(String(name).lastIndexOf("/") + 1)); }

/** tableOf lays series {labels, t, v} out: rows by rank, columns by instant. */
export function tableOf(result) {
  const seen = new Set();
  for (const r of result) for (const t of r.t) seen.add(t);
  const times = [...seen].sort((a, b) => a - b), at = new Map(times.map((t, i) => [t, i]));
  const rows = result.map((r) => {
    const v = new Array(times.length).fill(NaN);
    r.t.forEach((t, i) => { v[at.get(t)] = r.v[i]; });
    return { name: r.labels.name, rank: rankNumber(r.labels.name), v };
  }).sort(byRank);
  return { times, rows };
}

/**
 * continued is a table from an instant on with newer columns: they take the place of
 * its own from where they begin.
 */
export function continued(table, newer, from) {
  const where = (t) => { const i = table.times.findIndex((x) => x >= t); return i < 0 ? table.times.length : i; };
  const first = where(from), end = Math.max(first, where(newer.times[0] ?? Infinity));
  const kept = end - first, come = new Map(newer.rows.map((r) => [r.name, r]));
  const none = (n) => new Array(n).fill(NaN);
  const rows = table.rows.map((r) => ({ ...r, v: r.v.slice(first, end).concat(come.get(r.name)?.v ?? none(newer.times.length)) }));
  const known = new Set(table.rows.map((r) => r.name)), fresh = newer.rows.filter((r) => !known.has(r.name));
  for (const r of fresh) rows.push({ ...r, v: none(kept).concat(r.v) });
  if (fresh.length > 0) rows.sort(byRank);
  return { times: table.times.slice(first, end).concat(newer.times), rows };
}

function byRank(a, b) { return a.rank - b.rank || (a.name < b.name ? -1 : 1); }

/** RankMap is the figure. */
export class RankMap {
  constructor(label) {
    this.table = { times: [], rows: [] };
    this.cell = null;
    this.canvas = h("canvas", { class: "ranks", tabindex: "0", role: "slider", "aria-label": `${label}; arrow keys choose a rank and a moment`, "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0", "aria-valuetext": "no cell chosen" });
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.ramp = s("svg", { class: "rankramp", width: 96, height: 9, "aria-hidden": "true" });
    this.legend = h("p", { class: "quiet ranklegend" }, h("span", {}), this.ramp, h("span", {}));
    this.el = h("div", { class: "rankmap" }, this.canvas, this.tip, this.legend);
    this.canvas.addEventListener("pointermove", (e) => this.point(e));
    this.canvas.addEventListener("pointerleave", () => this.choose(null));
    this.canvas.addEventListener("blur", () => this.choose(null));
    this.canvas.addEventListener("keydown", (e) => this.key(e));
    this.close = repainted(this.el, { resized: () => this.draw(), themed: () => this.draw() });
  }

  /** show takes a table and what it measures. */
  show(table, metric) {
    this.table = table;
    this.metric = metric;
    const all = [];
    for (const r of table.rows) for (const v of r.v) if (Number.isFinite(v)) all.push(v);
    this.low = all.length > 0 ? select(all, 0) : 0;
    this.high = all.length > 0 ? select(all, Math.floor((all.length - 1) * 0.995)) : 1; // one outlier does not pale all others
    if (!(this.high > this.low)) this.high = this.low + (Math.abs(this.low) || 1);
    this.cell = null;
    attr(this.canvas, "aria-valuemax", Math.max(0, table.rows.length * table.times.length - 1));
    text(this.legend.firstChild, `${quantity(this.low, "s")} `);
    text(this.legend.lastChild, ` ${quantity(this.high, "s")}, a row a rank`);
    this.draw();
  }

  draw() {
    const { times, rows } = this.table, width = this.el.clientWidth;
    if (width === 0 || rows.length === 0) return;
    this.row = Math.max(least, Math.min(usual, Math.floor(tallest / rows.length)));
    const height = this.row * rows.length, ratio = pixels(this.canvas), dark = isDark();
    this.column = (width - left) / times.length;
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round((height + bottom) * ratio) });
    this.canvas.style.height = `${height + bottom}px`;
    const pen = this.canvas.getContext("2d"), style = getComputedStyle(this.el);
    pen.scale(ratio, ratio);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.picture(dark), left, 0, width - left, height);
    for (let k = 1; this.row > 4 && k <= rows.length; k++) pen.clearRect(left, k * this.row - 1, width - left, 1);
    this.marks(pen, style, height);
    if (changed(this.ramp, "dark", dark)) replace(this.ramp, Array.from({ length: 24 }, (_, i) => s("rect", { x: i * 4, width: 4, height: 9, fill: shade(i / 23, dark).fill })));
  }

  // picture has a point for every cell: forty thousand rectangles take a quarter of
  // a second, and as many points a few milliseconds.
  picture(dark) {
    if (this.painted?.dark === dark && this.painted.table === this.table) return this.painted.out;
    const { times, rows } = this.table, out = new OffscreenCanvas(times.length, rows.length), pen = out.getContext("2d");
    const data = pen.createImageData(times.length, rows.length), points = new Uint32Array(data.data.buffer), all = colours(dark), last = all.length - 1, step = last / (this.high - this.low);
    let at = 0;
    for (const r of rows) for (const v of r.v) {
      if (Number.isFinite(v)) points[at] = all[Math.min(last, Math.max(0, Math.round((v - this.low) * step)))];
      at++;
    }
    pen.putImageData(data, 0, 0);
    this.painted = { dark, table: this.table, out };
    return out;
  }

  marks(pen, style, height) {
    const { times, rows } = this.table;
    pen.fillStyle = style.getPropertyValue("--soft");
    pen.font = `11px ${style.fontFamily}`;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const apart = Math.max(1, Math.ceil(14 / this.row));
    rows.forEach((r, k) => { if (k % apart === 0) pen.fillText(String(Number.isFinite(r.rank) ? r.rank : k), left - 6, (k + 0.5) * this.row); });
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    const from = times[0], to = times.at(-1);
    const ticks = timeTicks(from, to, this.column * times.length, 96), seconds = ticks.some((t) => t % 60000 !== 0);
    for (const t of ticks) {
      const x = left + ((t - from) / (to - from || 1)) * this.column * times.length;
      if (x < left + 20 || x > left + this.column * times.length - 16) continue;
      pen.fillText(seconds || isRecording(t) ? clock(t) : clock(t).slice(0, 5), x, height + 13);
    }
    if (!this.cell) return;
    pen.strokeStyle = style.getPropertyValue("--focus");
    pen.lineWidth = 2;
    pen.strokeRect(left + this.cell.i * this.column, this.cell.k * this.row, Math.max(3, this.column), Math.max(3, this.row));
  }

  point(e) {
    const box = this.canvas.getBoundingClientRect();
    this.choose({ i: Math.floor((e.clientX - box.left - left) / this.column), k: Math.floor((e.clientY - box.top) / this.row) });
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { times, rows } = this.table, by = e.shiftKey ? 10 : 1;
    const at = this.cell ?? { i: times.length - 1, k: 0 };
    const to = { ArrowLeft: { i: at.i - by, k: at.k }, ArrowRight: { i: at.i + by, k: at.k }, ArrowUp: { i: at.i, k: at.k - by }, ArrowDown: { i: at.i, k: at.k + by }, Home: { i: 0, k: at.k }, End: { i: times.length - 1, k: at.k } }[e.key];
    if (e.key === "Escape") this.choose(null);
    if (!to) return;
    e.preventDefault();
    const inside = (v, n) => Math.min(n - 1, Math.max(0, v));
    this.choose({ i: inside(to.i, times.length), k: inside(to.k, rows.length) });
  }

  choose(cell) {
    const { times, rows } = this.table;
    const row = cell && rows[cell.k], t = cell && times[cell.i];
    this.cell = row && t !== undefined ? cell : null;
    show(this.tip, Boolean(this.cell));
    if (this.cell) {
      const v = row.v[cell.i], words = `rank ${Number.isFinite(row.rank) ? number(row.rank) : row.name}, ${clock(t)}: ${Number.isFinite(v) ? quantity(v, "s", this.metric) : "no data"}`;
      text(this.tip, words);
      const x = left + cell.i * this.column;
      this.tip.style.left = `${Math.min(x + 10, Math.max(0, this.el.clientWidth - 190))}px`;
      this.tip.style.top = `${Math.min(cell.k * this.row + 16, this.row * rows.length)}px`;
      attr(this.canvas, "aria-valuetext", words);
      attr(this.canvas, "aria-valuenow", cell.k * times.length + cell.i);
    }
    this.draw();
  }
}
