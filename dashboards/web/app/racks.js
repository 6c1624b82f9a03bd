// Racks as they stand: what each takes of the power it may take, by shelf, how near
// its nodes are to slowing down, and the coolant that flows through it. The ones with
// the least margin first.

import { h, s, attr, replace, show, changed } from "./dom.js";
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
  if (!changed(el, "racks", [few, isDark()])) return;
  replace(el, few.map((r) => card(r, address)), all.length > few.length && h("p", { class: "quiet" }, `The ${few.length} with the least margin of ${plural(all.length, "rack")} with data.`), few.some((r) => r.nodes.length > 0) && h("p", { class: "quiet" }, "Squares are nodes, darker the nearer their hottest GPU is to slowing down; dashed: no data."));
}

function card(r, address) {
  return h("article", { class: "rackcard", "data-mark": r.mark || null },
    h("h3", {}, h("a", { href: address(r.id), "data-go": true }, called(r.id)), r.mark && h("span", { class: r.mark === "root" ? "t-bad" : "quiet" }, r.mark === "root" ? " an incident begins here" : " an incident passes here")),
    h("div", { class: "rackrow" }, domainSign("power"), h("span", {}, "power"), meter(r.ratio), h("b", { class: "num" }, Number.isFinite(r.ratio) ? percent(r.ratio) : "no limit"), h("span", { class: "quiet" }, Number.isFinite(r.watts) ? quantity(r.watts, "watts", "") : "no data")),
    r.shelves.map((x) => h("div", { class: "rackrow shelf" }, h("span", {}), h("a", { href: address(x.id), "data-go": true }, `shelf ${bare(x.id).split("/").pop()}`), meter(x.ratio), h("span", { class: "num" }, Number.isFinite(x.ratio) ? percent(x.ratio) : "no data"), h("span", {}))),
    r.nodes.length > 0 && h("div", { class: "racknodes" }, nodes(r), h("p", {}, Number.isFinite(r.margin) ? [h("b", {}, quantity(r.margin, "celsius", "")), " to slowdown at ", h("a", { href: address(r.hottest), "data-go": true }, bare(r.hottest))] : "GPU temperatures: no data")),
    r.loops.map((l) => h("div", { class: "rackloop" }, domainSign("cooling"), h("a", { href: address(l.id), "data-go": true }, called(l.id)), " ", coolantWords(l))),
    r.loops.length === 0 && h("div", { class: "rackloop" }, domainSign("cooling"), h("span", { class: "quiet" }, Number.isFinite(r.inlet) ? `air ${quantity(r.inlet, "celsius", "")}` : "no coolant loop is known")));
}

function coolantWords(l) {
  const value = (v, unit) => (v === undefined ? "no data" : quantity(v, unit, ""));
  return l.flow === undefined && l.supply === undefined ? "no data" : `${value(l.flow, "liters_per_minute")}, ${value(l.supply, "celsius")} → ${value(l.return, "celsius")}`;
}

function meter(ratio) {
  const el = s("svg", { class: "meter", height: 9, "aria-hidden": "true" }, s("rect", { class: "all", width: "100%", height: 9 }));
  if (Number.isFinite(ratio)) el.append(s("rect", { class: "part domain", width: `${(100 * Math.min(1, ratio)).toFixed(1)}%`, height: 9 }));
  return h("span", { class: "d-power meterbox" }, el);
}

// nodes are slots, coloured by how near the hottest GPU is to slowing down.
function nodes(r) {
  const scale = scaleOf("margin"), few = r.nodes.slice(0, mostNodes), dark = isDark();
  const el = s("svg", { class: "slots", width: few.length * (slot + 2), height: slot + 2, role: "img", "aria-label": few.map((n) => `${bare(n.id)} ${Number.isFinite(n.margin) ? `${Math.round(n.margin)} degrees to slowdown` : "no data"}`).join(", ") });
  few.forEach((n, i) => {
    const rect = s("rect", { x: i * (slot + 2) + 1, y: 1, width: slot, height: slot, class: Number.isFinite(n.margin) ? "known" : "none" });
    if (Number.isFinite(n.margin)) attr(rect, "fill", shade(scale.share(n.margin), dark).fill);
    el.append(rect);
  });
  return el;
}
