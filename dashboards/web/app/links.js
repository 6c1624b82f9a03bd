// Links of the fabric between the cells of its switches: as wide as their load,
// coloured as the measure says, broken where they are down. A site of many switches
// has them put together by plane and tier, since a line of less than a few pixels
// shows nothing.

import { history as past, together, apart } from "./promql.js";
import { plant, bare, lastPart } from "./plant.js";
import { measures, byEveryPort, bySwitch, possible, valueWords } from "./measures.js";
import { shade } from "./heat.js";
import { plural } from "./format.js";

const mostSwitches = 160, mostOfPlane = 160; // beyond which links are put together
const gapOfLines = 46, gapOfBundles = 24, stubLength = 13, leastApart = 3; // px
const mostBehind = 20000; // ms of the log between the two parts of what is drawn
const faint = 0.03, visible = 0.35; // shares of a scale: below the first a link is grey, above it is at least as strong as the second

const joined = new WeakMap(); // ports, as the plant lists them -> their links: a list is kept for a minute

const use = measures.find((m) => m.id === "use"), downs = measures.find((m) => m.id === "down");

/** linksOf puts the ports of a fabric together as links: [{a, b, ports: [port entities], ends: [[switch, port] of each], peer}], a and b switches, b "" where a host is plugged in, peer its adapter. */
export function linksOf(ports) {
  if (!joined.has(ports)) joined.set(ports, join(ports));
  return joined.get(ports);
}

function join(ports) {
  const pairs = new Map(), out = [];
  for (const p of ports) {
    if (!p.peer) continue;
    const own = bare(p.id).split("/")[0], end = [own, bare(p.id).slice(own.length + 1)];
    if (p.peer.startsWith("nic:")) { out.push({ a: own, b: "", ports: [p.id], ends: [end], peer: p.peer }); continue; }
    if (!p.peer.startsWith("port:")) continue;
    const other = bare(p.peer).split("/")[0], [a, b] = own < other ? [own, other] : [other, own], key = `${a} ${b}`;
    if (!pairs.has(key)) pairs.set(key, { a, b, ports: [], ends: [], peer: "" });
    pairs.get(key).ports.push(p.id);
    pairs.get(key).ends.push(end);
  }
  return [...pairs.values(), ...out];
}

/** Links keeps what is known of them at one moment. */
export class Links {
  constructor() { this.forget(); }

  forget() { Object.assign(this, { links: [], known: [], together: false, loads: new Map(), read: {} }); }

  /** ask asks for links and their values as of an instant. switches are the fabric's, m is what colours them; live reports that the view follows the log. */
  async ask(switches, m, { at, now, live, signal }) {
    if (switches.length > mostSwitches || most(switches) > mostOfPlane) {
      const { result } = await past.first(bySwitch(use), (q) => past.instant(q, at, signal));
      Object.assign(this, { together: true, links: [], known: [], loads: new Map(result.map((r) => [r.labels.switch, r.v])) });
      return;
    }
    const zeros = this.known.length > 0 && this.known.every((x) => Number.isFinite(x.load)) ? " > 0" : ""; // where all loads are known, a value of zero draws and lists nothing
    const parts = { width: { loads: byEveryPort(use) }, colour: { down: `${byEveryPort(downs)} > 0`, ...(m !== use && { values: byEveryPort(m) + zeros }) } };
    const due = this.#due(m, at, live), questions = Object.assign({}, ...due.map((part) => parts[part]));
    const [list, answer] = await Promise.all([plant.list("port", { now }), past.instant(together(questions), at, signal)]);
    const links = linksOf(list.entities), found = Object.entries(apart(questions, answer)).map(([name, of]) => [name, ofPorts(of)]);
    const read = this.read = { ...this.read, ...Object.fromEntries(found), ...Object.fromEntries(due.map((part) => [part, at])) };
    Object.assign(this, { together: false, links, measure: m, known: known(links, { ...read, values: m === use ? read.loads : read.values, m }) });
  }

  // #due are the parts that are read at a moment: while the view follows the log, what
  // makes lines wide and what colours them in turn, since all of it takes too long for
  // one update.
  #due(m, at, live) {
    const { width, colour } = this.read, recent = (t) => t < at && at - t <= mostBehind;
    if (!live || m === use || m !== this.measure || !recent(width) || !recent(colour)) return ["width", "colour"];
    return [width < colour ? "width" : "colour"];
  }

  /** gap is how far apart tiers stand, and room what is left below the last one, px. */
  get gap() { return this.together ? gapOfBundles : this.links.length > 0 ? gapOfLines : 2; }
  get room() { return this.links.some((l) => !l.b) ? stubLength + 2 : 0; }

  /** worst lists links in trouble, the worst first: [{port, words}]. */
  worst(n) {
    const seen = new Set(), bad = (x) => x.down > 0 || this.measure.id !== "use" && (this.measure.unit === "s/s" ? x.v >= 0.005 : x.v > 0);
    return this.known.filter(bad).sort((x, y) => y.down - x.down || (y.v || 0) - (x.v || 0))
      .map((x) => ({ port: x.link.ports[0], to: x.link.b || bare(x.link.peer), words: x.down > 0 ? "down" : valueWords(x.v, this.measure) })).filter((x) => !seen.has(x.port) && seen.add(x.port)).slice(0, n);
  }

  /** draw draws them with a pen of the cells, between boxes: box(name) is where a switch stands. marks returns ports that incidents touch. */
  draw(pen, { bands, box, marks }) {
    if (this.together) { for (const b of bands) this.#bundles(pen, b, box); return; }
    const stubs = new Map();
    for (const x of this.known) {
      const { link } = x, a = box(link.a), b = box(link.b);
      if (a && b) this.#line(pen, x, { a, b, marked: link.ports.some((p) => marks.has(p)) });
      else if (a && !link.b) {
        if (!stubs.has(link.a)) stubs.set(link.a, []);
        stubs.get(link.a).push(x);
      }
    }
    for (const [name, list] of stubs) this.#stubs(pen, box(name), list, marks);
  }

  #stroke({ ink, scale, dark, line, bad, text }, x, marked) {
    const share = Number.isFinite(x.v) ? scale.share(x.v) : 0;
    ink.setLineDash(x.down > 0 ? [3, 4] : Number.isFinite(x.load) || Number.isFinite(x.v) ? [] : [2, 3]);
    ink.strokeStyle = x.down > 0 ? bad : marked ? text : share > faint ? shade(Math.max(visible, share), dark).fill : line;
    ink.lineWidth = x.down > 0 ? 2 : 1 + 4 * Math.min(1, x.load || 0) + (share > faint || marked ? 1 : 0);
  }

  #line(pen, what, { a, b, marked }) {
    const { ink } = pen, [up, low] = a.y < b.y ? [a, b] : [b, a], between = (own, other) => own.x + own.w / 2 + Math.max(-0.35, Math.min(0.35, (other.x - own.x) / 400)) * own.w;
    const x0 = between(up, low), x1 = between(low, up);
    this.#stroke(pen, what, marked);
    ink.beginPath();
    ink.moveTo(x0, up.y + up.h + 1);
    ink.lineTo(x1, low.y - 1);
    ink.stroke();
    ink.setLineDash([]);
  }

  // #stubs are links to hosts, below their switch; where they would be too close
  // together one stands for all, as its worst.
  #stubs(pen, box, list, marks) {
    const { ink } = pen, apart = (box.w - 2) / list.length, marked = ({ link }) => marks.has(link.ports[0]) || marks.has(link.peer), most = (of) => Math.max(...list.map((x) => of(x) || 0));
    const shown = apart < leastApart + 1 ? [{ x: box.x + box.w / 2, what: { load: most((x) => x.load), v: most((x) => x.v), down: most((x) => x.down) }, marked: list.some(marked) }]
      : list.map((what, i) => ({ x: box.x + 1 + apart * (i + 0.5), what, marked: marked(what) }));
    for (const { x, what, marked } of shown) {
      this.#stroke(pen, what, marked);
      ink.lineWidth = Math.min(ink.lineWidth, Math.max(1, apart - 1));
      ink.beginPath();
      ink.moveTo(x, box.y + box.h + 1);
      ink.lineTo(x, box.y + box.h + stubLength);
      ink.stroke();
    }
    ink.setLineDash([]);
  }

  // #bundles are all links between two tiers of a plane as one.
  #bundles(pen, band, box) {
    const { ink } = pen;
    for (let i = 1; i < band.groups.length; i++) {
      const [up, low] = [band.groups[i - 1], band.groups[i]], above = extent(up, box), below = extent(low, box);
      if (!above || !below) continue;
      const loads = low.cells.map((c) => this.loads.get(c.name)).filter(Number.isFinite), values = low.cells.map((c) => c.v).filter(Number.isFinite), share = values.length ? pen.scale.share(Math.max(...values)) : 0;
      ink.fillStyle = share > faint ? shade(Math.max(visible, share), pen.dark).fill : pen.line;
      ink.globalAlpha = 0.28;
      ink.beginPath();
      ink.moveTo(above.l, above.b); ink.lineTo(above.r, above.b); ink.lineTo(below.r, below.t); ink.lineTo(below.l, below.t);
      ink.closePath();
      ink.fill();
      ink.globalAlpha = 1;
      ink.font = `11px ${pen.font}`;
      ink.fillStyle = pen.text;
      ink.textAlign = "left";
      ink.fillText(bundleWords(low.cells, loads), Math.min(above.l, below.l) + 4, (above.b + below.t) / 2 + 4, Math.max(above.r, below.r) - Math.min(above.l, below.l) - 6);
    }
  }
}

// ofPorts are values by switch and port: to join thousands of names of both took a tenth
// of an update.
function ofPorts(answers) {
  const by = new Map();
  for (const { labels, v } of answers) {
    let ports = by.get(labels.switch);
    if (!ports) by.set(labels.switch, (ports = new Map()));
    ports.set(labels.port, v);
  }
  return by;
}

// known folds what is known of ports onto their links: [{link, load, v, down: how many of its cables}].
function known(links, { loads, down, values, m }) {
  return links.map((link) => {
    let load = NaN, v = NaN, broken = 0;
    for (const [name, port] of link.ends) {
      const l = loads.get(name)?.get(port), x = possible(values.get(name)?.get(port), m);
      if (Number.isFinite(l) && !(load >= l)) load = l;
      if (Number.isFinite(x)) v = Number.isNaN(v) ? x : m.fold === "max" ? Math.max(v, x) : v + x;
      if (down.get(name)?.has(port)) broken++;
    }
    return { link, load, v, down: broken };
  });
}

function bundleWords(cells, loads) {
  const n = cells.reduce((sum, c) => sum + (c.uplinks ?? 0), 0);
  return [n > 0 ? plural(n, "link") : "", loads.length ? `the busiest port at ${Math.round(100 * Math.max(...loads))} %` : "no data"].filter(Boolean).join(", ");
}

function most(switches) {
  const by = new Map();
  for (const e of switches) { const plane = (e.groups ?? []).find((g) => /^(plane|rail):/.test(g)) ?? ""; by.set(plane, (by.get(plane) ?? 0) + (e.uplinks ?? 0) / 2); }
  return Math.max(0, ...by.values());
}

function extent(group, box) {
  const all = group.cells.map((c) => box(c.name)).filter(Boolean);
  return all.length ? { l: Math.min(...all.map((b) => b.x)), r: Math.max(...all.map((b) => b.x + b.w)), t: Math.min(...all.map((b) => b.y)) - 2, b: Math.max(...all.map((b) => b.y + b.h)) + 2 } : null;
}

/** portName is a port in short: its switch and what it is called there. */
export function portName(id) { return `${bare(id).split("/")[0]} ${lastPart(id)}`; }
