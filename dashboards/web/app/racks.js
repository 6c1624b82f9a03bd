// Racks as they stand: what each takes of the power it may take, by shelf, how near
// its nodes are to slowing down, and the coolant that flows through it. The ones with
// the least margin first.

import { h, s, text, attr, replace, show, changed, keyed } from "./dom.js";
import { called, percent, quantity, plural } from "./format.js";
import { domainSign } from "./words.js";
import { scaleOf, shade, isDark } from "./heat.js";
import { bare } from "./plant.js";

const fewRacks = 6, mostNodes = 36, slot = 15; // px of a node

/** ranked are the racks of which something is known, those that an incident touches first, then the least margin: [{id, ratio, margin, watts, shelves, nodes, loops}]. */
export function ranked(supply, homes) {
  const all = supply.kinds.get("rack").map((e) => {
    const behind = supply.behind.get(e.id) ?? [], of = (kind) => behind.filter((x) => x.startsWith(`${kind}:`)).sort();
    const { ratio, watts } = supply.load(e.id), { margin, node, inlet } = supply.heat(e.id);
    return { id: e.id, ratio, watts, margin, hottest: node, inlet, shelves: of("shelf").map((id) => ({ id, ratio: supply.load(id).ratio })),
      nodes: of("node").map((id) => ({ id, margin: supply.get("margin", id) })), loops: of("loop").map((id) => ({ id, ...supply.coolant.get(id) })), mark: homes.get(e.id) ?? "" };
  }).filter((r) => [r.ratio, r.watts, r.margin].some(Number.isFinite) || r.loops.some((l) => l.flow !== undefined));
  const weight = (r) => (r.mark === "root" ? 4 : r.mark ? 3 : 0) + Math.max(Number.isFinite(r.ratio) ? r.ratio : 0, Number.isFinite(r.margin) ? 1 - r.margin / 40 : 0);
  return all.sort((a, b) => weight(b) - weight(a));
}

/** drawRacks brings el up to what is known: at most six racks. address(id) is where one leads. */
export function drawRacks(el, { supply, homes, address }) {
  const all = ranked(supply, homes), few = all.slice(0, fewRacks);
  show(el.parentElement, few.length > 0);
  el.notes ??= [h("p", { class: "quiet" }), h("p", { class: "quiet" }, "Squares are nodes, in the colours of GPU margin below; dashed: no data.")];
  if (!el.notes[0].parentElement) el.append(...el.notes);
  keyed(el, few, { key: (r) => r.id, create: () => h("article", { class: "rackcard" }), update: (card, r) => drawCard(card, r, address) });
  text(el.notes[0], `The ${few.length} with the least margin of ${plural(all.length, "rack")} with data.`);
  show(el.notes[0], all.length > few.length);
  show(el.notes[1], few.some((r) => r.nodes.length > 0));
}

// drawCard makes a rack's parts anew where there are others, and else writes only
// what has another value.
function drawCard(el, r, address) {
  const parts = [r.mark, r.shelves, r.nodes, r.loops].map((list) => (list.map ? list.map((x) => x.id) : list));
  if (changed(el, "parts", parts)) {
    el.made = made(r, address);
    attr(el, "data-mark", r.mark || null);
    replace(el, el.made.all);
  }
  const { power, shelves, slots, margin, loops, air } = el.made;
  power.set(r.ratio);
  text(power.share, Number.isFinite(r.ratio) ? percent(r.ratio) : "no limit");
  text(power.watts, Number.isFinite(r.watts) ? quantity(r.watts, "watts", "") : "no data");
  r.shelves.forEach((x, i) => { shelves[i].set(x.ratio); text(shelves[i].share, Number.isFinite(x.ratio) ? percent(x.ratio) : "no data"); });
  if (slots) colour(slots, r.nodes);
  if (margin && changed(margin, "facts", [r.margin, r.hottest])) replace(margin, Number.isFinite(r.margin) ? [h("b", {}, quantity(r.margin, "celsius", "")), " to slowdown at ", h("a", { href: address(r.hottest), "data-go": true }, bare(r.hottest))] : "GPU temperatures: no data");
  r.loops.forEach((l, i) => text(loops[i], coolantWords(l)));
  text(air, Number.isFinite(r.inlet) ? `air ${quantity(r.inlet, "celsius", "")}` : "no coolant loop is known");
}

// made are the elements of a rack's card; values come later.
function made(r, address) {
  const power = { ...meter(), share: h("b", { class: "num" }), watts: h("span", { class: "quiet" }) };
  const shelves = r.shelves.map(() => ({ ...meter(), share: h("span", { class: "num" }) }));
  const slots = r.nodes.length > 0 && nodes(r.nodes), margin = slots && h("p", {}), loops = r.loops.map(() => h("span", {})), air = h("span", { class: "quiet" });
  const cooling = (...what) => h("div", { class: "rackloop" }, domainSign("cooling"), what);
  return { power, shelves, slots, margin, loops, air, all: [
    h("h3", {}, h("a", { href: address(r.id), "data-go": true }, called(r.id)), r.mark && h("span", { class: r.mark === "root" ? "t-bad" : "quiet" }, r.mark === "root" ? " an incident begins here" : " an incident passes here")),
    h("div", { class: "rackrow" }, domainSign("power"), h("span", {}, "power"), power.el, power.share, power.watts),
    r.shelves.map((x, i) => h("div", { class: "rackrow shelf" }, h("span", {}), h("a", { href: address(x.id), "data-go": true }, `shelf ${bare(x.id).split("/").pop()}`), shelves[i].el, shelves[i].share, h("span", {}))),
    slots && h("div", { class: "racknodes" }, slots, margin),
    r.loops.map((l, i) => cooling(h("a", { href: address(l.id), "data-go": true }, called(l.id)), " ", loops[i])),
    r.loops.length === 0 && cooling(air)] };
}

function coolantWords(l) {
  const value = (v, unit) => (v === undefined ? "no data" : quantity(v, unit, ""));
  return l.flow === undefined && l.supply === undefined ? "no data" : `${value(l.flow, "liters_per_minute")}, ${value(l.supply, "celsius")} → ${value(l.return, "celsius")}`;
}

// meter is a bar: {el, set(ratio)}; NaN is none.
function meter() {
  const part = s("rect", { class: "part domain", height: 9, width: 0 });
  return { el: h("span", { class: "d-power meterbox" }, s("svg", { class: "meter", height: 9, "aria-hidden": "true" }, s("rect", { class: "all", width: "100%", height: 9 }), part)),
    set: (ratio) => attr(part, "width", Number.isFinite(ratio) ? `${(100 * Math.min(1, ratio)).toFixed(1)}%` : 0) };
}

// nodes are slots, which colour fills by how near the hottest GPU is to slowing down.
function nodes(list) {
  const few = list.slice(0, mostNodes);
  return s("svg", { class: "slots", width: few.length * (slot + 2), height: slot + 2, role: "img" }, few.map((_, i) => s("rect", { x: i * (slot + 2) + 1, y: 1, width: slot, height: slot })));
}

function colour(slots, list) {
  const scale = scaleOf("margin"), few = list.slice(0, mostNodes), dark = isDark();
  attr(slots, "aria-label", few.map((n) => `${bare(n.id)} ${Number.isFinite(n.margin) ? `${Math.round(n.margin)} degrees to slowdown` : "no data"}`).join(", "));
  few.forEach((n, i) => {
    const known = Number.isFinite(n.margin);
    attr(slots.children[i], "class", known ? "known" : "none");
    attr(slots.children[i], "fill", known ? shade(scale.share(n.margin), dark).fill : null);
  });
}
