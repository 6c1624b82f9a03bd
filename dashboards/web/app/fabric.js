// The fabric: every switch as a cell, by plane and tier; a switch with its ports; a
// port with its curves.

import { h, text, attr, show, keyed } from "./dom.js";
import { plural } from "./format.js";
import { section } from "./parts.js";
import { CellMap, Legend } from "./cells.js";
import { scaleOf } from "./heat.js";
import { MapView } from "./mapview.js";
import { history as past } from "./promql.js";
import { plant, bare, planeOf, tierOf } from "./plant.js";
import { measures, bySwitch, variants, possible, valueWords, brief } from "./measures.js";
import { stronger, switchOf, Cables, incidentLines } from "./touched.js";
import { Links, portName } from "./links.js";
import { SwitchPart } from "./switch.js";

const shownWorst = 10;

/** Fabric is the view. go leads to an address. */
export class Fabric extends MapView {
  constructor(store, go) {
    super(store, go, { path: "/fabric", name: "Fabric", measures, hint: (m) => `${m.fold === "max" ? "Of each switch's worst port" : "Of all ports of a switch"}: ${m.what}` });
    Object.assign(this, { values: new Map(), switches: [], names: new Set(), works: new Map(), cables: new Cables(), links: new Links() });
    this.map = new CellMap({ label: "Switches of the fabric", beneath: this.beneath(), describe: (c) => this.describeCell(c), open: (c) => this.go(this.address({ of: c.id })) });
    this.legend = new Legend();
    this.worst = h("ol", { class: "worst" });
    this.touching = h("ol", { class: "touching" });
    this.worstLinks = h("ol", { class: "worst" });
    this.key = h("p", { class: "quiet linkkey" });
    this.whole = h("div", { class: "whole" },
      h("div", { class: "mapside" }, this.legend.el, this.map.el, this.key),
      h("div", { class: "listside" }, (this.worstBox = section("worst", "Worst switches", this.worst)), (this.linksBox = section("worstlinks", "Worst links", this.worstLinks)), (this.touchingBox = section("touching", "Incidents here", this.touching))));
    this.part = new SwitchPart(this);
    this.el = h("article", { class: "fabric" }, h("header", { class: "head" }, this.crumbs, this.headline),
      h("div", { class: "controls" }, h("div", { class: "buttons", role: "group", "aria-label": "What is shown" }, this.choices), this.scrub.el),
      this.note, this.whole, this.part.el);
    this.read();
  }

  /** overall is the picture of all of it. */
  get overall() { return { map: this.map, legend: this.legend }; }

  get title() { return this.of ? bare(this.of) : "Fabric"; }

  close() {
    super.close();
    this.map.close();
  }

  read() {
    super.read();
    if (this.valuesOf !== this.measure) this.shown = this.measure;
  }

  async answer(at, signal) {
    const [list] = await Promise.all([plant.list("switch", { now: this.store.tick }), this.of ? this.part.ask(at, signal) : this.measureAll(at, signal)]);
    if (!this.of) await this.links.ask(list.entities, this.shown, { at, now: this.store.tick, live: this.live, signal }).catch((error) => { this.links.forget(); if (signal.aborted) throw error; });
    this.truncated = list.truncated;
    this.switches = list.entities;
    this.names = new Set(list.entities.map((e) => bare(e.id)));
  }

  // beneath are the links, as the map of cells draws them.
  beneath() {
    const view = this;
    return { get gap() { return view.links.gap; }, get room() { return view.links.room; }, draw: (pen, where) => view.links.draw(pen, { ...where, marks: view.marks ?? new Map() }) };
  }

  async measureAll(at, signal) {
    const m = this.measure, all = variants(m).flatMap((v) => bySwitch(v).map((question) => ({ v, question })));
    const from = this.works.get(m.id) ?? 0, turned = [...all.slice(from), ...all.slice(0, from)]; // what was answered before is asked first
    const { at: n, result } = await past.first(turned, (x) => past.instant(x.question, at, signal));
    if (n >= 0) this.works.set(m.id, (from + n) % all.length);
    this.shown = turned[Math.max(0, n)].v;
    this.values = new Map(result.filter((r) => r.labels.switch).map((r) => [r.labels.switch, possible(r.v, this.shown)]));
    this.odd = [...this.values.values()].filter(Number.isNaN).length;
    this.valuesOf = m;
  }

  /** scale is what colours mean now. */
  scale(values) { return scaleOf(this.shown.scale, { peak: Math.max(0, ...[...values].filter(Number.isFinite)) }); }

  draw() {
    if (!this.marks) return;
    text(this.note, this.failure ? `The history cannot be read: ${this.failure}` : this.truncated ? "There are more switches than are shown." : this.odd > 0 && !this.of ? `${plural(this.odd, "value")} left out: no time can be longer than itself. A counter stepped back.` : "");
    show(this.note, this.note.textContent !== "");
    if (this.of) this.part.draw();
    else this.drawWhole();
    incidentLines(this.touching, this.touchedHere(), this.store.tick);
    show(this.touchingBox, this.touching.childElementCount > 0);
  }

  drawWhole() {
    const marks = this.bySwitch(), scale = this.scale(this.values.values());
    const bands = bandsOf(this.switches, (e) => this.cell(e, marks));
    this.map.set(bands, scale);
    this.legend.draw(scale, (v) => this.words(v));
    const cells = this.map.flat.filter((c) => c.v > 0).sort((a, b) => b.v - a.v);
    keyed(this.worst, cells.slice(0, shownWorst), {
      key: (c) => c.id,
      create: (c) => h("li", {}, h("a", { "data-go": true, "data-row": true }, c.name), h("span", { class: "quiet" }), h("span", { class: "num" })),
      update: (el, c) => {
        attr(el.firstChild, "href", this.address({ of: c.id }));
        text(el.children[1], c.where);
        text(el.lastChild, this.words(c.v));
      },
    });
    show(this.worstBox, cells.length > 0);
    this.drawLinks();
    text(this.headline, this.sentence(cells[0]));
  }

  drawLinks() {
    const { links } = this, list = links.worst(shownWorst);
    keyed(this.worstLinks, list, {
      key: (x) => x.port,
      create: () => h("li", {}, h("a", { "data-go": true, "data-row": true }), h("span", { class: "quiet" }), h("span", { class: "num" })),
      update: (el, x) => {
        attr(el.firstChild, "href", this.address({ of: x.port }));
        text(el.firstChild, portName(x.port));
        text(el.children[1], `to ${x.to}`);
        text(el.lastChild, x.words);
      },
    });
    show(this.linksBox, list.length > 0);
    text(this.key, links.together ? "Bands: all links between two tiers of a plane, coloured by the worst switch." : links.links.length ? "Lines: links, as wide as their load and coloured by the measure; thin dashes: no data; red dashes: down. Below a leaf: its hosts." : "");
  }

  cell(e, marks) {
    const name = bare(e.id), v = this.valuesOf === this.measure ? this.values.get(name) ?? NaN : NaN;
    return { id: e.id, name, v, words: () => brief(v, this.shown), mark: marks.get(name) ?? "", where: `${planeOf(e)} ${tierOf(e)}`.trim(), uplinks: e.uplinks };
  }

  // switchOf is the switch that an entity belongs to, if it is one of ours:
  // {name, plugged: it is a host's, on the other end of a cable}.
  switchOf(id) {
    const found = switchOf(id, (n) => this.names.has(n), this.cables, () => this.draw());
    return this.names.has(found.name) ? found : null;
  }

  // bySwitch folds what incidents touch onto switches: what begins in a host's
  // adapter only passes its switch.
  bySwitch() {
    const out = new Map();
    for (const [id, what] of this.marks) {
      const found = this.switchOf(id);
      if (found) out.set(found.name, stronger(out.get(found.name), found.plugged ? "chain" : what));
    }
    return out;
  }

  // touchedHere are the incidents that touch a switch.
  touchedHere() {
    return this.incidents.filter((i) => [i.root?.entity ?? "", ...(i.chain ?? []).map((l) => l.entity)].some((id) => this.switchOf(id)));
  }

  sentence(worst) {
    const n = this.switches.length, m = this.shown;
    if (n === 0) return this.failure ? "The fabric cannot be read" : "No switch is known here";
    const all = plural(n, "switch", "switches");
    if (this.values.size === 0) return `${all}, no data for this`;
    return worst ? `${all}; ${worst.name}: ${this.words(worst.v)} ${m.what}` : `${all}, ${m.none}`;
  }

  /** words writes a value of the measure. */
  words(v) { return valueWords(v, this.shown); }

  describeCell(c) {
    const value = Number.isFinite(c.v) ? `${this.words(c.v)} ${this.shown.what}${this.shown.fold === "max" ? ", at its worst port" : ""}` : "no data";
    return [c.name, c.where, value, c.mark === "root" ? "an incident begins here" : c.mark ? "an incident passes here" : ""].filter(Boolean);
  }
}

const tiers = ["core", "superspine", "spine", "leaf"];
const tierRank = (t) => { const i = tiers.indexOf(t); return i < 0 ? tiers.length : i; };
const numbers = new Intl.Collator("en", { numeric: true });

/** bandsOf groups switches, as they come, by plane, and in it by tier. */
export function bandsOf(switches, cell) {
  const planes = new Map();
  for (const e of switches) {
    const plane = planeOf(e), tier = tierOf(e);
    if (!planes.has(plane)) planes.set(plane, new Map());
    const by = planes.get(plane);
    if (!by.has(tier)) by.set(tier, []);
    by.get(tier).push(cell(e));
  }
  return [...planes].sort(([a], [b]) => numbers.compare(a, b)).map(([label, by]) => ({
    label: label || (planes.size > 1 ? "shared" : ""),
    groups: [...by].sort(([a], [b]) => tierRank(a) - tierRank(b) || numbers.compare(a, b)).map(([tier, cells]) => ({ label: tier, cells })),
  }));
}
