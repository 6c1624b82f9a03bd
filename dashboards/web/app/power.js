// Power and cooling: what has least margin, racks as a floor plan, the power path
// and the heat path; and one piece of equipment with its members and curves.

import { h, text, attr, show, keyed } from "./dom.js";
import { plural, quantity, called, percent, NONE } from "./format.js";
import { section } from "./parts.js";
import { CellMap, Legend } from "./cells.js";
import { scaleOf } from "./heat.js";
import { MapView } from "./mapview.js";
import { bare } from "./plant.js";
import { stronger, incidentLines } from "./touched.js";
import { Supply, greatest } from "./supply.js";
import { drawRacks } from "./racks.js";
import { Equipment } from "./equipment.js";

const fewLeast = 8, mostBroken = 12, mostLit = 600;

/** floor are the measures of the floor plan. */
const floor = [
  { id: "load", name: "Load", what: "of the limit", scale: () => scaleOf("ratio"), v: (s, id) => s.load(id).ratio, words: percent },
  { id: "alone", name: "On one side alone", what: "of one side's limit, were the other gone", scale: () => scaleOf("ratio"), v: (s, id) => s.load(id).alone, words: percent },
  { id: "margin", name: "GPU margin", what: "to slowdown at the hottest GPU", scale: () => scaleOf("margin"), v: (s, id) => s.heat(id).margin, words: (v) => quantity(v, "celsius", "") },
  { id: "held", name: "Clocks held", what: "of the time held down by heat or brake", scale: () => scaleOf("root"), v: (s, id) => s.heat(id).held, words: percent },
  { id: "inlet", name: "Inlet air", what: "at the warmest inlet", scale: () => scaleOf("span", { low: 15, high: 45 }), v: (s, id) => s.heat(id).inlet, words: (v) => quantity(v, "celsius", "") },
];

/** Power is the view. go leads to an address. */
export class Power extends MapView {
  constructor(store, go) {
    super(store, go, { path: "/power", name: "Power and cooling", measures: floor });
    this.supply = new Supply();
    this.made = new WeakMap(); // equipment -> its cell: an update makes no new ones
    this.maps = { floor: this.newMap("Racks"), power: this.newMap("Power path"), heat: this.newMap("Heat path") };
    this.legends = { floor: new Legend(), power: new Legend(false), heat: new Legend(false) };
    this.build();
    this.part = new Equipment(this);
    this.el = h("article", { class: "fabric supply" }, h("header", { class: "head" }, this.crumbs, this.headline), h("div", { class: "controls" }, this.scrub.el), this.note, this.whole, this.part.el);
    this.read();
  }

  newMap(label) {
    return new CellMap({ label, height: 300, describe: (c) => c.describe(), open: (c) => this.go(this.address({ of: c.id })), look: (c) => this.light(c) });
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
    this.racks = h("div", { class: "rackcards" });
    this.whole = h("div", { class: "whole" },
      h("div", { class: "mapside" },
        section("racks", "Racks with the least margin", this.racks),
        section("floor", "All racks", h("div", { class: "buttons", role: "group", "aria-label": "What the floor plan shows" }, this.choices), this.legends.floor.el, this.maps.floor.el),
        section("way", "Power path: load against limit", this.legends.power.el, this.maps.power.el),
        section("heat", "Heat path: margin of the hottest GPU behind it", this.legends.heat.el, this.maps.heat.el),
        this.loopsBox),
      h("div", { class: "listside" }, this.boxes.broken, this.boxes.power, this.boxes.heat, this.boxes.incidents));
  }

  /** overall is the picture of all of it. */
  get overall() { return { map: this.maps.floor, legend: this.legends.floor }; }

  get title() { return this.of ? called(this.of) : "Power and cooling"; }

  close() {
    super.close();
    for (const m of Object.values(this.maps)) m.close();
  }

  located() {
    super.located();
    this.draw(); // another measure of what is known already
  }

  async answer(at, signal) {
    await this.supply.ask(at, this.store.tick, { signal, of: this.of, all: [this.measure.id] });
    if (this.of) await this.part.ask(at, signal);
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
    const racks = this.cells(kinds.get("rack"), m);
    this.maps.floor.set(floorPlan(supply, racks), m.scale());
    this.legends.floor.draw(m.scale(), m.words);
    const load = floor[0], margin = floor[2];
    const band = (label, kind, of) => ({ label, groups: [{ label: "", cells: this.cells(kinds.get(kind), of) }] });
    const some = (b) => b.groups[0].cells.length > 0;
    this.maps.power.set([band("feeds", "feed", load), band("UPS", "ups", load), band("PDUs", "pdu", load), band("shelves", "shelf", load)].filter(some), load.scale());
    this.legends.power.draw(load.scale(), load.words);
    this.maps.heat.set([band("coolant units", "cdu", margin), band("loops", "loop", margin), band("air handlers", "crah", margin)].filter(some), margin.scale());
    this.legends.heat.draw(margin.scale(), margin.words);
    drawRacks(this.racks, { supply, homes: this.homes, address: (id) => this.address({ of: id }) });
    this.drawLists();
    this.drawLoops();
  }

  // cells are equipment as cells of a map.
  cells(list, m) {
    return list.map((e) => {
      let c = this.made.get(e);
      if (!c) {
        c = { id: e.id, name: called(e.id), words: () => c.of.words(c.v).replace(/\s(%|°C)$/, ""), describe: () => this.describe(e.id) };
        this.made.set(e, c);
      }
      return Object.assign(c, { of: m, v: m.v(this.supply, e.id), mark: this.homes.get(e.id) ?? "" });
    });
  }

  // describe is what is known of a piece of equipment, in lines.
  describe(id) {
    const { supply } = this, load = supply.load(id), heat = supply.heat(id), c = supply.coolant.get(id), down = supply.get("up", id) === 0;
    const watts = Number.isFinite(load.watts) ? quantity(load.watts, "watts", "") : "";
    return [called(id), down ? "down" : "",
      Number.isFinite(load.ratio) ? `${watts && `${watts}, `}${percent(load.ratio)} of the limit${load.own ? "" : " at the tightest behind it"}` : watts,
      Number.isFinite(load.alone) ? `${percent(load.alone)} of one side's limit, were the other gone` : "",
      c?.flow !== undefined ? `${quantity(c.flow, "liters_per_minute", "")}, ${quantity(c.supply, "celsius", "")} in, ${quantity(c.return, "celsius", "")} out` : "",
      Number.isFinite(heat.margin) ? `hottest GPU ${Number.isFinite(heat.hottest) ? `${quantity(heat.hottest, "celsius", "")}, ` : ""}${quantity(heat.margin, "celsius", "")} to slowdown` : "",
      heat.held > 0.001 ? `clocks held ${percent(heat.held)} of the time` : "",
      Number.isFinite(heat.inlet) ? `inlet air ${quantity(heat.inlet, "celsius", "")}` : "",
      this.homes.get(id) === "root" ? "an incident begins here" : this.homes.get(id) ? "an incident passes here" : ""].filter(Boolean);
  }

  // light shows on every map what belongs to the cell that is looked at.
  light(c) {
    const ids = c ? this.supply.related(c.id) : new Set();
    for (const m of Object.values(this.maps)) m.light(ids.size <= mostLit ? ids : new Set([c.id]));
  }

  drawLists() {
    const { supply } = this, ids = (...kinds) => kinds.flatMap((k) => supply.kinds.get(k)).map((e) => e.id), least = (list, value) => greatest(list, fewLeast, value).map((x) => ({ id: x.of, v: x.v }));
    const power = least(ids("rack", "pdu", "shelf", "row", "node"), (id) => supply.get(id.startsWith("node:") ? "nodeRatio" : "ratio", id));
    const heat = least(ids("node"), (id) => -supply.get("margin", id)).map(({ id, v }) => ({ id, v: -v, held: supply.get("holding", id) }));
    const broken = supply.broken();
    this.lines(this.lists.power, power, (x) => [Number.isFinite(supply.load(x.id).watts) ? quantity(supply.load(x.id).watts, "watts", "") : "", percent(x.v)]);
    this.lines(this.lists.heat, heat, (x) => [x.held > 0 ? "clocks held" : "", quantity(x.v, "celsius", "")]);
    this.lines(this.lists.broken, broken.slice(0, mostBroken), (x) => ["", x.words]);
    show(this.boxes.power, power.length > 0);
    show(this.boxes.heat, heat.length > 0);
    show(this.boxes.broken, broken.length > 0);
    const here = this.incidents.filter((i) => ["power", "cooling"].includes(i.root?.domain) || [i.root?.entity ?? "", ...(i.chain ?? []).map((l) => l.entity)].some((id) => supply.home(id)));
    incidentLines(this.lists.incidents, here, this.store.tick);
    show(this.boxes.incidents, here.length > 0);
    text(this.headline, this.sentence(power[0], heat[0], broken));
  }

  lines(list, items, describe) {
    keyed(list, items, {
      key: (x) => x.id,
      create: () => h("li", {}, h("a", { "data-go": true, "data-row": true }), h("span", { class: "quiet" }), h("span", { class: "num" })),
      update: (el, x) => {
        const [note, value] = describe(x);
        attr(el.firstChild, "href", this.address({ of: x.id }));
        text(el.firstChild, called(x.id));
        text(el.children[1], note);
        text(el.lastChild, value);
      },
    });
  }

  sentence(power, heat, broken) {
    const n = this.supply.kinds.get("rack").length;
    if (n === 0 && !power && !heat) return this.failure ? "Power and cooling cannot be read" : "No rack is known here";
    const parts = [broken.length === 1 ? `${called(broken[0].id)} ${broken[0].words}` : broken.length ? `${plural(broken.length, "part")} not as they should be` : "",
      power ? `${called(power.id)} at ${percent(power.v)} of its limit` : "", heat ? `${called(heat.id)} ${quantity(heat.v, "celsius", "")} from slowdown` : ""].filter(Boolean);
    return `${plural(n, "rack")}; ${parts.join("; ") || "no data for power and heat"}`;
  }

  drawLoops() {
    const { supply } = this, few = greatest(supply.kinds.get("loop"), fewLeast, (e) => { const { margin } = supply.heat(e.id); return Number.isFinite(margin) ? -margin : -Infinity; })
      .map(({ of: e }) => ({ e, margin: supply.heat(e.id).margin, c: supply.coolant.get(e.id) ?? {} }));
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
