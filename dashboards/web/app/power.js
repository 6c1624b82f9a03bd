// Power and cooling: what has least margin, racks as a floor plan, the way of the
// power and the way of the heat; and one piece of equipment with its members and
// curves.

import { h, text, attr, show, keyed, changed } from "./dom.js";
import { plural, quantity, called, percent, NONE } from "./format.js";
import { section } from "./parts.js";
import { CellMap, Legend } from "./cells.js";
import { scaleOf } from "./heat.js";
import { history as past, grid, isAborted, unsettled } from "./promql.js";
import { bare } from "./plant.js";
import { Scrub, atOf } from "./time.js";
import { touchedBy, stronger, incidentLines } from "./touched.js";
import { Supply } from "./supply.js";
import { Equipment } from "./equipment.js";

const fewLeast = 8, mostBroken = 12, mostLit = 600;

/** floor are the measures of the floor plan. */
const floor = [
  { id: "load", name: "Load", what: "of the limit", scale: () => scaleOf("ratio"), v: (x) => x.load.ratio, words: percent },
  { id: "alone", name: "On one side alone", what: "of one side's limit, were the other gone", scale: () => scaleOf("ratio"), v: (x) => x.load.alone, words: percent },
  { id: "margin", name: "GPU margin", what: "to slowdown at the hottest GPU", scale: () => scaleOf("margin"), v: (x) => x.heat.margin, words: (v) => quantity(v, "celsius", "") },
  { id: "held", name: "Clocks held", what: "of the time held down by heat or brake", scale: () => scaleOf("root"), v: (x) => x.heat.held, words: percent },
  { id: "inlet", name: "Inlet air", what: "at the warmest inlet", scale: () => scaleOf("span", { low: 15, high: 45 }), v: (x) => x.heat.inlet, words: (v) => quantity(v, "celsius", "") },
];

/** Power is the view. go leads to an address. */
export class Power {
  constructor(store, go) {
    Object.assign(this, { store, go, supply: new Supply() });
    this.headline = h("h1", { tabindex: "-1" }, "Power and cooling");
    this.crumbs = h("p", { class: "back" }, h("a", { href: "/power", "data-go": true }, "← Power and cooling"));
    this.choices = floor.map((m) => h("button", { type: "button", "data-measure": m.id, onclick: () => this.put({ measure: m.id }) }, m.name));
    this.scrub = new Scrub((at) => this.put({ at }));
    this.maps = { floor: this.newMap("Racks"), power: this.newMap("The way of the power"), heat: this.newMap("The way of the heat") };
    this.legends = { floor: new Legend(), power: new Legend(false), heat: new Legend(false) };
    this.note = h("p", { class: "quiet", role: "status", hidden: true });
    this.build();
    this.part = new Equipment(this);
    this.el = h("article", { class: "fabric supply" }, h("header", { class: "head" }, this.crumbs, this.headline), h("div", { class: "controls" }, this.scrub.el), this.note, this.whole, this.part.el);
    this.read();
  }

  newMap(label) {
    return new CellMap({ label, height: 300, tell: (c) => c.tell(), open: (c) => this.go(this.address({ of: c.id })), look: (c) => this.light(c) });
  }

  build() {
    this.lists = { broken: h("ol", { class: "worst" }), power: h("ol", { class: "worst" }), heat: h("ol", { class: "worst" }), incidents: h("ol", { class: "touching" }) };
    this.boxes = {
      broken: section("broken", "Not as it should be", this.lists.broken),
      power: section("leastpower", "Least margin of power", this.lists.power),
      heat: section("leastheat", "Least margin of heat", this.lists.heat),
      incidents: section("touching", "Incidents here", this.lists.incidents),
    };
    this.loops = h("tbody", {});
    const head = ["loop", "flow", "in", "out", "pressure", "margin"].map((w, i) => h("th", { scope: "col", class: i ? "num" : "" }, w));
    this.loopsBox = section("loops", "Coolant loops, the least margin first", h("div", { class: "scrolls" }, h("table", { class: "loops" }, h("thead", {}, h("tr", {}, head)), this.loops)));
    this.whole = h("div", { class: "whole" },
      h("div", { class: "mapside" },
        section("floor", "Racks", h("div", { class: "buttons", role: "group", "aria-label": "What the floor plan shows" }, this.choices), this.legends.floor.el, this.maps.floor.el),
        section("way", "The way of the power: load against limit", this.legends.power.el, this.maps.power.el),
        section("heat", "The way of the heat: margin of the hottest GPU behind it", this.legends.heat.el, this.maps.heat.el),
        this.loopsBox),
      h("div", { class: "listside" }, this.boxes.broken, this.boxes.power, this.boxes.heat, this.boxes.incidents));
  }

  get title() { return this.of ? called(this.of) : "Power and cooling"; }

  close() {
    this.closed = true;
    this.control?.abort();
    for (const m of Object.values(this.maps)) m.close();
    this.part.close();
  }

  read() {
    const q = new URLSearchParams(location.search);
    this.of = q.get("of") ?? "";
    this.measure = floor.find((m) => m.id === q.get("measure")) ?? floor[0];
    this.at = atOf(location.search);
    for (const b of this.choices) attr(b, "aria-pressed", String(b.dataset.measure === this.measure.id));
    show(this.crumbs, this.of !== "");
    attr(this.crumbs.firstChild, "href", this.address({ of: "" }));
    show(this.whole, this.of === "");
    show(this.part.el, this.of !== "");
  }

  /** address is where one gets to with something changed. */
  address(change) {
    const { of, measure, at } = { of: this.of, measure: this.measure.id, at: this.at, ...change };
    const q = new URLSearchParams({ ...(of && { of }), ...(measure !== floor[0].id && { measure }), ...(Number.isFinite(at) && { at: new Date(at).toISOString() }) });
    return `/power${q.size ? `?${q}` : ""}`;
  }

  put(change) {
    history.replaceState(history.state, "", this.address(change));
    this.located();
  }

  /** located is told that the address changed. */
  located() {
    const before = this.of, at = this.at, measure = this.measure;
    this.read();
    if (before !== this.of) {
      scrollTo(0, 0);
      this.headline.focus({ preventScroll: true });
    }
    if (before !== this.of || measure !== this.measure || !Object.is(at, this.at)) this.ask(true);
    this.update();
    this.draw();
  }

  get moment() { return grid(Number.isFinite(this.at) ? this.at : this.store.tick); }
  get live() { return !Number.isFinite(this.at); }

  /** update brings the view up to what the store knows. */
  update() {
    if (this.closed) return;
    past.settled = this.store.tick - unsettled;
    this.scrub.set(this.store.tick, this.at, [...this.store.incidents.values()]);
    if (Number.isFinite(this.moment) && this.moment !== this.asked) this.ask(false);
    const { marks, incidents } = touchedBy(this.store, this.at);
    const news = changed(this.el, "marks", [[...marks], incidents.map((i) => [i.id, i.revision])]);
    Object.assign(this, { marks, incidents });
    if (news) this.draw();
  }

  async ask(other) {
    const at = this.moment;
    if (!Number.isFinite(at) || this.asking && !other) return;
    this.control?.abort();
    const control = this.control = new AbortController();
    this.asking = true;
    this.asked = at;
    try {
      await this.supply.ask(at, this.store.tick, { signal: control.signal, of: this.of, all: [this.measure.id] });
      if (this.of) await this.part.ask(at, control.signal);
      this.failure = "";
    } catch (error) {
      if (isAborted(error)) return;
      this.failure = error.message;
    }
    if (this.control !== control || this.closed) return;
    this.asking = false;
    this.draw();
  }

  draw() {
    if (!this.marks) return;
    text(this.note, this.failure ? `The history cannot be read: ${this.failure}` : this.supply.truncated ? "There is more than is shown." : "");
    show(this.note, this.note.textContent !== "");
    this.homes = new Map();
    for (const [id, what] of this.marks) {
      const home = this.supply.home(id);
      if (home) this.homes.set(home, stronger(this.homes.get(home), what));
    }
    if (this.of) this.part.draw();
    else this.drawWhole();
  }

  drawWhole() {
    const { supply, measure: m } = this, kinds = supply.kinds;
    const racks = this.cells(kinds.get("rack"), (x) => m.v(x), m);
    this.maps.floor.set(floorPlan(supply, racks), m.scale());
    this.legends.floor.draw(m.scale(), m.words);
    const load = floor[0], margin = floor[2];
    const band = (label, kind, of) => ({ label, groups: [{ label: "", cells: this.cells(kinds.get(kind), (x) => of.v(x), of) }] });
    const some = (b) => b.groups[0].cells.length > 0;
    this.maps.power.set([band("feeds", "feed", load), band("UPS", "ups", load), band("PDUs", "pdu", load), band("shelves", "shelf", load)].filter(some), load.scale());
    this.legends.power.draw(load.scale(), load.words);
    this.maps.heat.set([band("coolant units", "cdu", margin), band("loops", "loop", margin), band("air handlers", "crah", margin)].filter(some), margin.scale());
    this.legends.heat.draw(margin.scale(), margin.words);
    this.drawLists();
    this.drawLoops();
  }

  // cells are equipment as cells of a map.
  cells(list, value, m) {
    return list.map((e) => {
      const x = { load: this.supply.load(e.id), heat: this.supply.heat(e.id) }, v = value(x);
      return { id: e.id, name: called(e.id), v, words: () => m.words(v).replace(/\s(%|°C)$/, ""), mark: this.homes.get(e.id) ?? "", tell: () => this.tell(e, x) };
    });
  }

  // tell is what is known of a piece of equipment, in lines.
  tell(e, x) {
    const { supply } = this, c = supply.coolant.get(e.id), down = supply.get("up", e.id) === 0;
    return [called(e.id), down ? "down" : "",
      Number.isFinite(x.load.watts) && !Number.isFinite(x.load.ratio) ? quantity(x.load.watts, "watts", "") : "",
      Number.isFinite(x.load.ratio) ? `${Number.isFinite(x.load.watts) ? `${quantity(x.load.watts, "watts", "")}, ` : ""}${percent(x.load.ratio)} of the limit${x.load.own ? "" : " at the tightest behind it"}` : "",
      Number.isFinite(x.load.alone) ? `${percent(x.load.alone)} of one side's limit, were the other gone` : "",
      c?.flow !== undefined ? `${quantity(c.flow, "liters_per_minute", "")}, ${quantity(c.supply, "celsius", "")} in, ${quantity(c.return, "celsius", "")} out` : "",
      Number.isFinite(x.heat.margin) ? `hottest GPU ${Number.isFinite(x.heat.hottest) ? `${quantity(x.heat.hottest, "celsius", "")}, ` : ""}${quantity(x.heat.margin, "celsius", "")} to slowdown` : "",
      x.heat.held > 0.001 ? `clocks held ${percent(x.heat.held)} of the time` : "",
      Number.isFinite(x.heat.inlet) ? `inlet air ${quantity(x.heat.inlet, "celsius", "")}` : "",
      this.homes.get(e.id) === "root" ? "an incident begins here" : this.homes.get(e.id) ? "an incident passes here" : ""].filter(Boolean);
  }

  // light shows on every map what belongs to the cell that is looked at.
  light(c) {
    const ids = c ? this.supply.related(c.id) : new Set();
    for (const m of Object.values(this.maps)) m.light(ids.size <= mostLit ? ids : new Set([c.id]));
  }

  drawLists() {
    const { supply } = this, all = (...kinds) => kinds.flatMap((k) => supply.kinds.get(k));
    const power = all("rack", "pdu", "shelf", "row", "node").map((e) => ({ id: e.id, v: supply.get(e.kind === "node" ? "nodeRatio" : "ratio", e.id) })).filter((x) => Number.isFinite(x.v)).sort((a, b) => b.v - a.v);
    const heat = all("node").map((e) => ({ id: e.id, v: supply.get("margin", e.id), held: supply.get("holding", e.id) })).filter((x) => Number.isFinite(x.v)).sort((a, b) => a.v - b.v);
    const broken = supply.broken();
    this.lines(this.lists.power, power.slice(0, fewLeast), (x) => [Number.isFinite(supply.load(x.id).watts) ? quantity(supply.load(x.id).watts, "watts", "") : "", percent(x.v)]);
    this.lines(this.lists.heat, heat.slice(0, fewLeast), (x) => [x.held > 0 ? "clocks held" : "", quantity(x.v, "celsius", "")]);
    this.lines(this.lists.broken, broken.slice(0, mostBroken), (x) => ["", x.words]);
    show(this.boxes.power, power.length > 0);
    show(this.boxes.heat, heat.length > 0);
    show(this.boxes.broken, broken.length > 0);
    const here = this.incidents.filter((i) => ["power", "cooling"].includes(i.root?.domain) || [i.root?.entity ?? "", ...(i.chain ?? []).map((l) => l.entity)].some((id) => supply.home(id)));
    incidentLines(this.lists.incidents, here, this.store.tick);
    show(this.boxes.incidents, here.length > 0);
    text(this.headline, this.sentence(power[0], heat[0], broken));
  }

  lines(list, items, told) {
    keyed(list, items, {
      key: (x) => x.id,
      create: () => h("li", {}, h("a", { "data-go": true, "data-row": true }), h("span", { class: "quiet" }), h("span", { class: "num" })),
      update: (el, x) => {
        const [note, value] = told(x);
        attr(el.firstChild, "href", this.address({ of: x.id }));
        text(el.firstChild, called(x.id));
        text(el.children[1], note);
        text(el.lastChild, value);
      },
    });
  }

  sentence(power, heat, broken) {
    const n = this.supply.kinds.get("rack").length;
    if (n === 0 && !power && !heat) return this.failure ? "Power and cooling cannot be read" : this.asking ? "Reading …" : "No rack is known here";
    const parts = [broken.length === 1 ? `${called(broken[0].id)} ${broken[0].words}` : broken.length ? `${plural(broken.length, "part")} not as they should be` : "",
      power ? `${called(power.id)} at ${percent(power.v)} of its limit` : "", heat ? `${called(heat.id)} ${quantity(heat.v, "celsius", "")} from slowdown` : ""].filter(Boolean);
    return `${plural(n, "rack")}; ${parts.join("; ") || "nothing heard of power and heat"}`;
  }

  drawLoops() {
    const { supply } = this, few = supply.kinds.get("loop").map((e) => ({ e, margin: supply.heat(e.id).margin, c: supply.coolant.get(e.id) ?? {} }))
      .sort((a, b) => (Number.isFinite(a.margin) ? a.margin : 1e9) - (Number.isFinite(b.margin) ? b.margin : 1e9)).slice(0, fewLeast);
    const cell = (v, unit) => (v === undefined ? NONE : quantity(v, unit, ""));
    keyed(this.loops, few, {
      key: (x) => x.e.id,
      create: () => h("tr", {}, h("th", { scope: "row" }, h("a", { "data-go": true })), [1, 2, 3, 4, 5].map(() => h("td", { class: "num" }))),
      update: (el, x) => {
        const a = el.firstChild.firstChild;
        attr(a, "href", this.address({ of: x.e.id }));
        text(a, bare(x.e.id));
        [cell(x.c.flow, "liters_per_minute"), cell(x.c.supply, "celsius"), cell(x.c.return, "celsius"), cell(x.c.pressure, "pascals"), quantity(x.margin, "celsius", "")].forEach((v, i) => text(el.children[i + 1], v));
      },
    });
    show(this.loopsBox, few.length > 0);
  }
}

// floorPlan puts racks where they stand: halls, and rows in them.
function floorPlan(supply, cells) {
  const halls = new Map();
  for (const c of cells) {
    const row = supply.byId.get(c.id)?.in ?? "", hall = supply.byId.get(row)?.in ?? "";
    if (!halls.has(hall)) halls.set(hall, new Map());
    if (!halls.get(hall).has(row)) halls.get(hall).set(row, []);
    halls.get(hall).get(row).push(c);
  }
  return [...halls].map(([hall, rows]) => ({ label: hall ? bare(hall) : "", groups: [...rows].map(([row, list]) => ({ label: row ? bare(row) : "", cells: list })) }));
}
