// Many cells on one canvas: bands of groups of cells, each a colour, a mark where an
// incident touches it, and a value that is shown under the pointer or the focus. The
// document has one element for all of them.

import { h, text, attr, show, replace, changed } from "./dom.js";
import { shade, isDark } from "./heat.js";
import { repainted, pixels } from "./repaint.js";

const sizes = [30, 26, 22, 19, 16, 14, 12, 10, 9, 8, 7, 6]; // px of a cell's height, the largest that fits is taken
const wideFrom = 22; // px from which a cell is wide enough for its value
const smallLine = 10; // px below which a group may rather take two lines
const gap = 1, bandGap = 12, columnGap = 28, lineGap = 2;

/**
 * CellMap is the figure. bands: [{label, groups: [{label, cells: [cell]}]}], a cell
 * {id, name, v, mark: "", "root", "chain", words(): what stands in it}. of: {label: what the
 * map shows, describe(cell): lines of text, open(cell), height: px to keep within, beneath:
 * what is drawn under the cells, with gap: px between groups, room: below the last of a
 * band, draw(pen, {bands, box(name)})}.
 */
export class CellMap {
  constructor(of) {
    this.of = of;
    this.bands = [];
    this.flat = [];
    this.at = -1; // the cell under the focus
    this.over = -1; // and under the pointer
    this.lit = new Set(); // ids of what belongs to it
    this.draws = 0;
    this.scale = null;
    this.canvas = h("canvas", { class: "cells", tabindex: "0", role: "slider", "aria-label": of.label, "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0", "aria-valuetext": "arrow keys choose a cell, Enter opens it" });
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.el = h("div", { class: "cellmap" }, this.canvas, this.tip);
    this.listen();
    this.leave = repainted(this.el, { resized: () => { this.laid = false; this.draw(); }, themed: () => { this.colours = null; this.draw(); } });
  }

  close() {
    this.leave();
    cancelAnimationFrame(this.frame);
  }

  listen() {
    const c = this.canvas;
    c.addEventListener("pointermove", (e) => this.point(this.hit(e)));
    c.addEventListener("pointerleave", () => this.point(-1));
    c.addEventListener("click", (e) => { const i = this.hit(e); if (i >= 0) { this.at = i; this.open(i); } });
    c.addEventListener("keydown", (e) => this.key(e));
    c.addEventListener("focus", () => { if (c.matches(":focus-visible")) this.move(Math.max(0, this.at)); });
    c.addEventListener("blur", () => { this.describe(-1); this.draw(); });
  }

  /** set gives the map what it shows; cells that stay keep the focus. */
  set(bands, scale) {
    const focused = this.flat[this.at]?.id;
    const shape = JSON.stringify([this.of.beneath?.gap, this.of.beneath?.room, bands.map((b) => [b.label, b.groups.map((g) => [g.label, g.cells.length])])]);
    if (shape !== this.shape) this.laid = false;
    this.shape = shape;
    this.bands = bands;
    this.scale = scale;
    this.flat = bands.flatMap((b) => b.groups.flatMap((g) => g.cells));
    if (focused !== undefined && this.flat[this.at]?.id !== focused) this.at = this.flat.findIndex((c) => c.id === focused);
    attr(this.canvas, "aria-valuemax", Math.max(0, this.flat.length - 1));
    this.draw();
  }

  /** light shows which cells belong to what is looked at. */
  light(ids) {
    this.lit = ids;
    this.draw();
  }

  /** draw draws all of it once, with the next frame, however often it is asked to. */
  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); });
  }

  // lay finds the largest cells with which everything fits, and where each stands.
  lay(width) {
    this.gutters = this.flat.length === 0 ? [0, 0] : gutters(this.bands, width);
    for (const size of sizes) {
      this.places = place(this.bands, { width, size, gutters: this.gutters, apart: this.of.beneath?.gap ?? lineGap, room: this.of.beneath?.room ?? 0, centred: Boolean(this.of.beneath) });
      if (this.places.height <= (this.of.height ?? 520) && (this.places.whole || size < smallLine)) break;
    }
    this.laid = true;
    this.width = width;
    const ratio = pixels(this.canvas);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.places.height * ratio);
    this.canvas.style.height = `${this.places.height}px`;
  }

  paint() {
    const width = this.el.clientWidth;
    if (width === 0 || !this.scale) return;
    if (!this.laid || width !== this.width) this.lay(width);
    const began = performance.now();
    const ink = this.canvas.getContext("2d"), ratio = pixels(this.canvas);
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.clearRect(0, 0, width, this.places.height);
    this.colours ??= coloursOf(this.el);
    const pen = { ink, dark: isDark(), scale: this.scale, ...this.colours };
    for (const l of this.places.labels) label(pen, l);
    this.beneath(pen);
    ink.font = `11px ${pen.font}`;
    ink.textAlign = "center";
    for (let i = 0; i < this.flat.length; i++) cell(pen, this.flat[i], this.places.boxes[i]);
    for (let i = 0; i < this.flat.length; i++) if (this.flat[i].mark) mark(pen, this.flat[i].mark, this.places.boxes[i]);
    for (let i = 0; i < this.flat.length; i++) if (this.lit.has(this.flat[i].id)) ring(pen, this.places.boxes[i], pen.text);
    const shown = this.over >= 0 ? this.over : this.focused() ? this.at : -1;
    if (this.places.boxes[shown]) ring(pen, this.places.boxes[shown], pen.focus);
    this.draws++;
    performance.measure("cells", { start: began, end: performance.now() });
    performance.clearMeasures("cells");
  }

  beneath(pen) {
    if (!this.of.beneath) return;
    const boxes = new Map(this.flat.map((c, i) => [c.name, this.places.boxes[i]]));
    this.of.beneath.draw(pen, { bands: this.bands, box: (name) => boxes.get(name) });
  }

  focused() { return document.activeElement === this.canvas; }

  hit(e) {
    if (!this.places) return -1;
    const x = e.offsetX, y = e.offsetY;
    return this.places.boxes.findIndex((b) => x >= b.x - gap && x < b.x + b.w + gap && y >= b.y - gap && y < b.y + b.h + gap);
  }

  point(i) {
    if (i === this.over) return;
    this.over = i;
    this.canvas.style.cursor = i >= 0 && this.of.open ? "pointer" : "";
    this.describe(i);
    this.of.look?.(this.flat[i] ?? null);
    this.draw();
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || this.flat.length === 0) return;
    const last = this.flat.length - 1;
    const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, ArrowUp: this.beside(-1), ArrowDown: this.beside(1), Home: 0, End: last }[e.key];
    if (e.key === "Enter" || e.key === " ") { if (this.at >= 0) this.open(this.at); } else if (e.key === "Escape") this.describe(-1);
    else if (to === undefined) return;
    else this.move(Math.min(last, Math.max(0, to)));
    e.preventDefault();
  }

  // beside is the cell above or below the one that is chosen.
  beside(by) {
    const from = this.places?.boxes[this.at];
    if (!from) return 0;
    let best = this.at, least = Infinity;
    this.places.boxes.forEach((b, i) => {
      const down = (b.y - from.y) * by;
      if (down <= 1) return;
      const away = down * 4 + Math.abs(b.x - from.x);
      if (away < least) { least = away; best = i; }
    });
    return best;
  }

  move(i) {
    this.at = i;
    this.over = -1;
    this.describe(i);
    this.of.look?.(this.flat[i] ?? null);
    this.draw();
  }

  open(i) { if (this.flat[i]) this.of.open?.(this.flat[i]); }

  /** describe says what cell i is, beside it and to a screen reader; -1 says nothing. */
  describe(i) {
    const c = this.flat[i], box = this.places?.boxes[i];
    show(this.tip, Boolean(c && box));
    if (!c || !box) return;
    const lines = this.of.describe(c);
    replace(this.tip, lines.map((l, k) => (k === 0 ? h("b", {}, l) : h("span", {}, l))));
    attr(this.canvas, "aria-valuenow", i);
    attr(this.canvas, "aria-valuetext", lines.join(", "));
    const wide = this.tip.offsetWidth, left = Math.min(this.width - wide, Math.max(0, box.x + box.w / 2 - wide / 2));
    this.tip.style.left = `${left}px`;
    const above = box.y > this.tip.offsetHeight + 6;
    this.tip.style.top = `${above ? box.y - this.tip.offsetHeight - 5 : box.y + box.h + 5}px`;
  }
}

// coloursOf are the colours and the font of a theme, as the styles of el have them.
function coloursOf(el) {
  const style = getComputedStyle(el), colour = (name) => style.getPropertyValue(name).trim();
  return { line: colour("--strong"), text: colour("--ink"), soft: colour("--soft"), paper: colour("--paper"), bad: colour("--bad"), focus: colour("--focus"), font: style.fontFamily };
}

// gutters are the widths left of cells for the labels of bands and groups; on a
// narrow figure the band's stands above.
function gutters(bands, width) {
  const long = (labels) => Math.min(110, 8 + 6.6 * Math.max(0, ...labels.map((l) => l.length)));
  const group = long(bands.flatMap((b) => b.groups.map((g) => g.label)));
  return width < 560 ? [0, group] : [long(bands.map((b) => b.label)), group];
}

// place puts every cell and label somewhere. Bands that leave room for another
// stand in columns.
function place(bands, { width, size, gutters: [left, second], apart, room, centred }) {
  const w = size >= wideFrom ? Math.round(size * 1.7) : size;
  const most = Math.max(1, ...bands.flatMap((b) => b.groups.map((g) => g.cells.length)));
  const natural = Math.min(width, left + second + most * (w + gap));
  const columns = Math.max(1, Math.min(bands.length, Math.floor((width + columnGap) / (natural + columnGap))));
  const perLine = Math.max(1, Math.floor(((columns > 1 ? natural : width) - left - second) / (w + gap)));
  const boxes = [], labels = [];
  const tall = size + gap, heads = left === 0 ? 15 : 0;
  let top = 1, height = 0;
  bands.forEach((band, n) => {
    const column = n % columns, x0 = column * (natural + columnGap);
    if (column === 0 && n > 0) { top += height + bandGap; height = 0; }
    let y = top + (band.label ? heads : 0);
    if (band.label) labels.push({ text: band.label, x: x0, y: left === 0 ? top + 10 : y + size / 2 + 4, strong: true });
    let labelled = -Infinity;
    for (const group of band.groups) {
      if (group.label && y - labelled >= 11) { // no label upon another
        labels.push({ text: group.label, x: x0 + left, y: y + size / 2 + 4 });
        labelled = y;
      }
      const indent = centred ? Math.floor((Math.min(perLine, most) - Math.min(perLine, group.cells.length)) * (w + gap) / 2) : 0;
      group.cells.forEach((_, i) => boxes.push({ x: x0 + left + second + indent + (i % perLine) * (w + gap) + 1, y: y + Math.floor(i / perLine) * tall, w, h: size }));
      y += Math.ceil(group.cells.length / perLine) * tall + apart;
    }
    y += room - (apart - lineGap);
    height = Math.max(height, y - top);
  });
  return { boxes, labels, whole: perLine >= most, height: Math.ceil(top + height + 3) };
}

function label(pen, l) {
  pen.ink.font = `${l.strong ? "600 " : ""}12px ${pen.font}`;
  pen.ink.fillStyle = l.strong ? pen.text : pen.soft;
  pen.ink.textAlign = "left";
  pen.ink.fillText(l.text, l.x, l.y);
}

function cell(pen, c, b) {
  const { ink } = pen;
  ink.lineWidth = 1;
  if (!Number.isFinite(c.v)) { // not received: no colour, and struck through
    ink.strokeStyle = pen.line;
    ink.strokeRect(b.x + .5, b.y + .5, b.w - 1, b.h - 1);
    ink.beginPath();
    ink.moveTo(b.x + 1, b.y + b.h - 1);
    ink.lineTo(b.x + b.w - 1, b.y + 1);
    ink.stroke();
    return;
  }
  const tone = shade(pen.scale.share(c.v), pen.dark);
  ink.fillStyle = tone.fill;
  ink.fillRect(b.x, b.y, b.w, b.h);
  if (b.h < wideFrom) return;
  ink.fillStyle = tone.ink;
  ink.fillText(c.words(), b.x + b.w / 2, b.y + b.h / 2 + 4, b.w - 3);
}

// mark shows by shape: a triangle where an incident begins, a ring where it passes.
function mark(pen, what, b) {
  const inset = b.h >= wideFrom ? 9 : 1; // in the corner: neither value nor colour is hidden
  const { ink } = pen, x = b.x + b.w - inset, y = b.y + inset, r = Math.max(3.5, Math.min(7, b.h * .36));
  const outline = () => {
    ink.beginPath();
    if (what === "root") { ink.moveTo(x, y - r); ink.lineTo(x + r, y + r * .8); ink.lineTo(x - r, y + r * .8); ink.closePath(); } else ink.arc(x, y, r * .8, 0, 7);
  };
  outline();
  ink.lineWidth = 5;
  ink.strokeStyle = pen.paper;
  ink.stroke();
  ink.lineWidth = 2;
  ink.fillStyle = ink.strokeStyle = what === "root" ? pen.bad : pen.text;
  if (what === "root") ink.fill();
  ink.stroke();
}

function ring(pen, b, colour) {
  pen.ink.lineWidth = 4;
  pen.ink.strokeStyle = pen.paper;
  pen.ink.strokeRect(b.x - 1, b.y - 1, b.w + 2, b.h + 2);
  pen.ink.lineWidth = 2;
  pen.ink.strokeStyle = colour;
  pen.ink.strokeRect(b.x - 1, b.y - 1, b.w + 2, b.h + 2);
}

/** legend is the scale's colours with what they stand for, drawn into a canvas of its own. */
export class Legend {
  constructor(keys = true) {
    this.canvas = h("canvas", { class: "ramp", width: 240, height: 10, "aria-hidden": "true" });
    this.ticks = h("div", { class: "rampticks" });
    this.el = h("div", { class: "legend" }, h("div", { class: "rampbox" }, this.canvas, this.ticks),
      keys && ["none", "root", "passes"].map((k, i) => h("span", { class: "keyof" }, h("i", { class: `key ${k}`, "aria-hidden": "true" }), ["no data", "an incident begins here", "or passes"][i])));
  }

  /** draw shows a scale; write writes a value. */
  draw(scale, write) {
    const dark = isDark(), ticks = scale.ticks.map((v) => ({ words: write(v), share: scale.share(v) }));
    if (!changed(this.el, "scale", [dark, ticks])) return;
    const ink = this.canvas.getContext("2d");
    for (let x = 0; x < 240; x++) {
      ink.fillStyle = shade(x / 239, dark).fill;
      ink.fillRect(x, 0, 1, 10);
    }
    replace(this.ticks, ticks.map(({ words, share }) => {
      const tick = h("span", {}, words);
      tick.style.left = `${share * 100}%`;
      if (share < .02) attr(tick, "data-end", "left"); else if (share > .98) attr(tick, "data-end", "right");
      return tick;
    }));
  }
}
