// The chain as a picture: from the root to the degraded job, who did what to whom,
// how much later, and how sure that is. Left to right where there is room, top to
// bottom where there is not.

import { h, s, replace } from "./dom.js";
import { entity, called, change, lag, shown, scale } from "./format.js";
import { metricName, domainShape, domainClass } from "./words.js";
import { onsetOf } from "./parts.js";

const columnAtLeast = 158; // px a node and its edge need side by side
const sign = 16; // px of a node's sign

/**
 * chainModel reads nodes and edges from an incident. Where the root itself shows
 * nothing (a host seen by its nic) it stands first, joined by an edge without a lag.
 */
export function chainModel(incident) {
  const nodes = [], edges = [], links = incident.chain ?? [];
  const root = incident.root?.entity ?? ""; // none while the cause is under investigation
  const shows = links.some((l) => l.entity === root);
  if (!shows && root !== "") nodes.push({ entity: root, domain: incident.root.domain, metric: "", text: incident.root.signature, isRoot: true, onset: incident.root.onset });
  const degraded = new Set((incident.impact?.jobs ?? []).map((j) => j.job));
  links.forEach((l) => {
    const index = nodes.length;
    nodes.push({ ...l, text: metricName(l.metric), isRoot: l.entity === root, isDegraded: degraded.has(l.entity) });
    const from = (l.from ?? "") === "" ? (shows || root === "" ? -1 : 0) : nodes.findLastIndex((n, i) => i < index && n.entity === l.from);
    if (from >= 0 && from < index) edges.push({ from, to: index, relation: l.from === "" ? "seen at" : l.relation, lag: l.lag_seconds, uncertainty: l.lag_uncertainty_seconds, implied: l.from === "" });
  });
  return { nodes, edges };
}

/** place gives each node its depth from the root and its lane, as a tree is laid out. */
export function place({ nodes, edges }) {
  const children = nodes.map(() => []), placed = nodes.map(() => null), parent = nodes.map(() => -1);
  for (const e of edges) if (parent[e.to] < 0) { children[e.from].push(e.to); parent[e.to] = e.from; }
  let lanes = 0;
  const order = [];
  const walk = (i, depth, lane) => {
    placed[i] = { depth, lane };
    order.push(i);
    children[i].forEach((c, k) => walk(c, depth + 1, k === 0 ? lane : lanes++));
  };
  nodes.forEach((_, i) => { if (parent[i] < 0) walk(i, 0, lanes++); });
  return { at: placed, order, lanes, depth: Math.max(0, ...placed.map((p) => p.depth)) + 1 };
}

// From what drives to what is driven: heat and power first, the job last.
const bandOrder = ["cooling", "power", "network", "computing", "software"];

/**
 * banded gives each domain that a chain passes lanes of its own: nodes of one domain
 * that stand at one depth lie below each other. Of a chain inside one domain it is
 * the layout itself.
 */
export function banded({ nodes }, layout) {
  const used = [...bandOrder, ...new Set(nodes.map((n) => n.domain).filter((d) => !bandOrder.includes(d)))].filter((d) => nodes.some((n) => n.domain === d));
  if (used.length < 2) return { ...layout, bands: [] };
  const taken = new Map(), rows = new Map();
  const row = nodes.map((n, i) => {
    const key = `${n.domain} ${layout.at[i].depth}`, k = taken.get(key) ?? 0;
    taken.set(key, k + 1);
    rows.set(n.domain, Math.max(rows.get(n.domain) ?? 0, k + 1));
    return k;
  });
  let lanes = 0;
  const bands = used.map((domain) => { const band = { domain, lane: lanes }; lanes += rows.get(domain); return band; });
  const first = Object.fromEntries(bands.map((b) => [b.domain, b.lane]));
  return { ...layout, lanes, bands, at: layout.at.map((p, i) => ({ depth: p.depth, lane: first[nodes[i].domain] + row[i] })) };
}

/** drawChain draws an incident's chain into figure, for its width. onpick(entity) is called when a node is chosen. */
export function drawChain(figure, incident, now, onpick) {
  const model = chainModel(incident);
  const layout = place(model);
  const width = figure.clientWidth || 320;
  const pen = new Pen(figure);
  const across = width / layout.depth >= columnAtLeast && layout.depth > 1;
  const svg = across ? drawAcross(model, banded(model, layout), width, pen, onpick) : drawDown(model, layout, width, pen, onpick);
  replace(figure, svg, spoken(model, now));
}

// Pen measures text as the page will draw it.
class Pen {
  constructor(el) {
    this.context = document.createElement("canvas").getContext("2d");
    this.family = getComputedStyle(el).fontFamily;
  }

  width(value, font) {
    this.context.font = `${font} ${this.family}`;
    return this.context.measureText(value).width;
  }

  // wrap breaks text into at most lines lines no wider than width; words that do
  // not fit break behind a slash or anywhere, the last line ends in an ellipsis.
  wrap(value, font, width, lines) {
    const out = [];
    let line = "";
    for (const piece of value.split(/(?<=[\s/.,\-→])/u)) {
      let rest = piece;
      if (line !== "" && this.width(line + rest.trimEnd(), font) > width) { out.push(line.trimEnd()); line = ""; }
      while (rest.length > 1 && this.width(rest.trimEnd(), font) > width) {
        let n = rest.length - 1;
        while (n > 1 && this.width(rest.slice(0, n), font) > width) n = Math.min(n - 1, Math.floor(n * 0.9));
        out.push(rest.slice(0, n));
        rest = rest.slice(n);
        if (out.length > lines) break;
      }
      line += rest;
      if (out.length > lines) break;
    }
    if (line.trim() !== "") out.push(line.trimEnd());
    if (out.length <= lines) return out;
    const kept = out.slice(0, lines);
    kept[lines - 1] = kept[lines - 1].replace(/.?$/u, "…");
    return kept;
  }
}

const fonts = { kind: "11px", name: "600 14px", text: "12.5px", value: "600 12.5px" };

// linesOf are the lines of text that stand with a node.
function linesOf(node, pen, width) {
  const e = entity(node.entity);
  const kind = [node.isRoot ? "root" : node.isDegraded ? "degraded job" : "", e.kind].filter(Boolean).join(" · ");
  const out = [{ class: `kind ${domainClass(node.domain)}`, text: kind, step: 14 }];
  for (const text of pen.wrap(e.name, fonts.name, width, 3)) out.push({ class: "name", text, step: 17 });
  for (const text of pen.wrap(node.text, fonts.text, width, 2)) out.push({ class: "what", text, step: 16 });
  if (node.metric) {
    const value = change(node.before, node.now, node.unit, node.metric);
    if (pen.width(value, fonts.value) <= width) out.push({ class: "value", text: value, step: 16 });
    else for (const text of value.split(/(?<=→ )/).flatMap((half) => pen.wrap(half, fonts.value, width, 1))) out.push({ class: "value", text, step: 16 });
  }
  return out;
}

function drawNode(node, x, y, textX, textY, lines, onpick) {
  const g = s("a", { class: `node ${domainClass(node.domain)}${node.isRoot ? " root" : ""}${node.isDegraded ? " degraded" : ""}`, href: "#curves", tabindex: "0", "data-entity": node.entity },
    node.isRoot && s("circle", { class: "ring", cx: x, cy: y, r: sign * 0.82 }),
    s("path", { class: "shape", d: domainShape(node.domain), transform: `translate(${x - sign / 2} ${y - sign / 2})` }));
  let at = textY;
  for (const line of lines) {
    g.append(s("text", { class: line.class, x: textX, y: at }, line.text));
    at += line.step;
  }
  g.addEventListener("click", (e) => { e.preventDefault(); onpick?.(node.entity); });
  return s("g", {}, s("title", {}, `${called(node.entity)}: ${node.why || node.text}`), g); // outside of the link, whose name is what is seen
}

const height = (lines) => lines.reduce((sum, l) => sum + l.step, 0);

// unsure reports whether the order of the two lies within the error of their times.
const unsure = (e) => Math.abs(e.lag) <= e.uncertainty;

function edgeTitle(e, model) {
  if (e.implied) return `${called(model.nodes[e.from].entity)} is seen at ${called(model.nodes[e.to].entity)}`;
  return `${e.full}: ${lag(e.lag, e.uncertainty)} after ${called(model.nodes[e.from].entity)}${unsure(e) ? ", which is within the error of the times" : ""}`;
}

function drawAcross(model, layout, width, pen, onpick) {
  const column = width / layout.depth, top = 26, left = sign;
  const lines = model.nodes.map((n) => linesOf(n, pen, column - (layout.bands.length ? bend + 8 : 22)));
  const laneHeight = Array.from({ length: layout.lanes }, (_, lane) => (layout.bands.length ? 66 : 52) + Math.max(...model.nodes.map((_, i) => (layout.at[i].lane === lane ? height(lines[i]) : 0))));
  const laneTop = laneHeight.map((_, i) => top + laneHeight.slice(0, i).reduce((a, b) => a + b, 0));
  const x = (i) => left + layout.at[i].depth * column, y = (i) => laneTop[layout.at[i].lane];
  const svg = canvas(width, top + laneHeight.reduce((a, b) => a + b, 0) - 30, "across");
  svg.append(...layout.bands.flatMap((b) => bandOf(b, laneTop[b.lane], width)));
  for (const e of model.edges) svg.append(edgeAcross(trimmed(e, pen, column - 40), model, x(e.from), y(e.from), x(e.to), y(e.to)));
  model.nodes.forEach((n, i) => svg.append(drawNode(n, x(i), y(i), x(i) - sign / 2, y(i) + 32, lines[i], onpick)));
  return svg;
}

// trimmed is an edge whose relation fits; what is cut off is in its title.
function trimmed(e, pen, width) { return { ...e, relation: pen.wrap(String(e.relation ?? ""), fonts.kind, width, 1)[0] ?? "", full: e.relation }; }

const bend = 40; // px before a node at which an edge from another lane comes down, or up

// bandOf is a domain's part of the picture: a line above it, and its name.
function bandOf({ domain, lane }, y, width) {
  return [lane > 0 && s("path", { class: "bandline", d: `M0 ${y - 34}H${width}`, "aria-hidden": "true" }),
    s("text", { class: `bandname ${domainClass(domain)}`, x: 0, y: y - 19, "aria-hidden": "true" }, domain)].filter(Boolean);
}

function edgeAcross(e, model, x0, y0, x1, y1) {
  const level = y0 === y1, down = y1 > y0 ? 8 : -8, xm = x1 - bend;
  const a = x0 + sign * 0.95, b = x1 - sign * 0.95, mid = level ? (a + b) / 2 : xm - 6;
  const path = level ? `M${a} ${y0}H${b - 5}` : `M${a} ${y0}H${xm - 8}q8 0 8 ${down}V${y1 - down}q0 ${down} 8 ${down}H${b - 5}`;
  return s("g", { class: `${edgeClass(e)}${level ? "" : " bent"}`, "aria-hidden": "true" }, s("title", {}, edgeTitle(e, model)),
    s("path", { class: "line", d: path }), s("path", { class: "head", d: `M${b} ${y1}l-8 -4v8Z` }),
    s("text", { class: "relation", x: mid, y: level ? y1 - 8 : y1 - 2 }, e.relation),
    !e.implied && s("text", { class: "lag", x: mid, y: level ? y1 + 16 : y1 + 13 }, lag(e.lag, e.uncertainty)));
}

function drawDown(model, layout, width, pen, onpick) {
  const indent = 18, left = sign, textX = left + (layout.lanes - 1) * indent + sign + 6;
  const lines = model.nodes.map((n) => linesOf(n, pen, width - textX - 4));
  const y = model.nodes.map(() => 0), edgeOf = model.nodes.map((_, i) => model.edges.find((e) => e.to === i));
  let at = 20;
  for (const i of layout.order) {
    if (edgeOf[i]) at += 30;
    y[i] = at;
    at += height(lines[i]) + 12;
  }
  const x = (i) => left + layout.at[i].lane * indent;
  const svg = canvas(width, at - 8, "down");
  for (const e of model.edges) svg.append(edgeDown(trimmed(e, pen, width - textX - 110), model, x(e.from), y[e.from], x(e.to), y[e.to], textX));
  model.nodes.forEach((n, i) => svg.append(drawNode(n, x(i), y[i], textX, y[i] + 1, lines[i], onpick)));
  return svg;
}

function edgeDown(e, model, x0, y0, x1, y1, textX) {
  const b = y1 - sign * 0.95;
  const path = x0 === x1 ? `M${x0} ${y0 + sign * 0.95}V${b - 5}` : `M${x0} ${y0 + sign * 0.95}V${y0 + 24}q0 8 ${Math.min(8, x1 - x0)} 8H${x1 - 8}q8 0 8 8V${b - 5}`;
  return s("g", { class: edgeClass(e), "aria-hidden": "true" }, s("title", {}, edgeTitle(e, model)),
    s("path", { class: "line", d: path }), s("path", { class: "head", d: `M${x1} ${b}l-4 -8h8Z` }),
    s("text", { class: "relation", x: textX, y: y1 - 24 }, e.relation, !e.implied && s("tspan", { class: "lag", dx: 8 }, lag(e.lag, e.uncertainty))));
}

function edgeClass(e) { return `edge${e.implied ? " implied" : ""}${unsure(e) && !e.implied ? " unsure" : ""}`; }

function canvas(width, height, direction) {
  return s("svg", { class: `chain ${direction}`, width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Chain of causes" });
}

// spoken is the same for those who do not see it.
function spoken({ nodes, edges }, now) {
  return h("ol", { class: "unseen" }, nodes.map((n, i) => {
    const e = edges.find((x) => x.to === i);
    const value = n.metric ? `, ${shown(n.before, scale(n.unit, Math.max(Math.abs(n.before ?? 0), Math.abs(n.now ?? 0)), n.metric))} before, ${shown(n.now, scale(n.unit, Math.max(Math.abs(n.before ?? 0), Math.abs(n.now ?? 0)), n.metric))} now` : "";
    return h("li", {}, `${called(n.entity)} (${n.domain}): ${n.why || n.text}${value}. `, n.onset && ["Since ", onsetOf(n.onset, now), ". "], e && !e.implied ? `${e.relation}, ${lag(e.lag, e.uncertainty)} after ${called(nodes[e.from].entity)}.` : "");
  }));
}
