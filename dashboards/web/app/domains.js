// The five domains as one drawing: who depends on whom, the state of each, what was
// lost to it, and through which others incidents passed.

import { h, s, attr, text, replace, changed } from "./dom.js";
import { gpuTime, duration } from "./format.js";
import { domains, domainSign, domainClass } from "./words.js";
import { domainState, stateMark } from "./states.js";
import { repainted } from "./repaint.js";

const widths = 5; // of a flow, by how much of the largest it is
const narrowBelow = 720; // px: boxes are stacked, and what passed is a list

// Who supplies whom, whatever the site: what is drawn where nothing passed.
const supplies = [["power", "cooling"], ["power", "computing"], ["power", "network"], ["cooling", "computing"], ["cooling", "network"], ["computing", "software"], ["network", "software"]];
const order = ["power", "computing", "software", "cooling", "network"]; // of the boxes, as they are read

/** flowsOf lists what passed from one domain to another: {from, to, lost, lag: seconds or null}, and, with lost 0, who supplies whom. */
export function flowsOf(coupling) {
  const out = [];
  domains.forEach((from, i) => domains.forEach((to, j) => {
    const lost = coupling?.coupling?.[i]?.[j] ?? 0, lag = coupling?.lag_seconds?.[i]?.[j];
    if (lost > 0) out.push({ from, to, lost, lag: typeof lag === "number" ? lag : null });
    else if (supplies.some(([a, b]) => a === from && b === to)) out.push({ from, to, lost: 0, lag: null });
  }));
  return out;
}

/** lagWords say how much later the second began. */
export function lagWords(lag) {
  if (lag === null) return "";
  return Math.abs(lag) < 0.5 ? "at once" : `${duration(Math.abs(lag))} ${lag < 0 ? "earlier" : "later"}`;
}

/** Domains is the drawing. */
export class Domains {
  constructor() {
    this.svg = s("svg", { class: "flowlines", "aria-hidden": "true" });
    this.boxes = new Map(order.map((d) => [d, h("div", { class: `domainbox at-${d} ${domainClass(d)}`, "data-domain": d })]));
    this.list = h("ul", { class: "flows" });
    this.stage = h("div", { class: "domainstage" }, this.svg, [...this.boxes.values()]);
    this.caption = h("figcaption", { class: "quiet" });
    this.el = h("figure", { class: "coupling" }, this.stage, this.list, this.caption);
    this.flows = [];
    this.leave = repainted(this.stage, { resized: () => this.drawFlows(), themed: () => {} });
  }

  close() { this.leave(); }

  /** draw brings it up to what is known: states, and losses and coupling of a period, which span names. */
  draw({ health, losses, coupling, span }) {
    const facts = domains.map((d) => domainState(health, d));
    text(this.caption, `Arrows lead from what supplies to what depends on it. A strong one: GPU time lost in the last ${span} in incidents whose chain passed that way, and how much later the second began.`);
    if (!changed(this.el, "domains", [facts, losses?.domains, coupling?.coupling, coupling?.lag_seconds])) return;
    this.flows = flowsOf(coupling);
    for (const [d, box] of this.boxes) this.drawBox(box, d, facts[domains.indexOf(d)], losses);
    const passed = this.flows.filter((f) => f.lost > 0).sort((a, b) => b.lost - a.lost);
    replace(this.list, passed.map((f) => h("li", {}, domainSign(f.from), f.from === f.to ? `within ${f.from}` : [`${f.from} → `, domainSign(f.to), f.to], ": ", h("b", {}, gpuTime(f.lost)), f.lag !== null && f.from !== f.to && `, ${lagWords(f.lag)}`)));
    this.drawFlows();
  }

  drawBox(box, d, state, losses) {
    attr(box, "data-state", state.state);
    const own = this.flows.find((f) => f.from === d && f.to === d);
    replace(box, h("p", { class: "domainname" }, domainSign(d), h("b", {}, d), h("span", { class: "lostto" }, lostTo(losses, d))),
      h("p", { class: "how" }, stateMark(state), state.reason && h("span", { class: "why" }, ` ${state.reason}`)),
      own && h("p", { class: "own quiet", "data-from": d, "data-to": d }, `${gpuTime(own.lost)} in chains within it`));
  }

  // drawFlows draws the arrows between the boxes as they stand.
  drawFlows() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (width < narrowBelow) { replace(this.svg); return; }
    attr(this.svg, "viewBox", `0 0 ${width} ${height}`);
    const peak = Math.max(0, ...this.flows.map((f) => f.lost)), between = this.flows.filter((f) => f.from !== f.to);
    replace(this.svg, [...between].sort((a, b) => a.lost - b.lost).map((f) => this.arrow(f, peak)));
  }

  arrow(f, peak) {
    const size = f.lost > 0 ? Math.max(1, Math.ceil((f.lost / peak) * widths)) : 0;
    const { from, to, bend } = ends(this.boxes.get(f.from), this.boxes.get(f.to), f);
    const [a, b] = bend === "down" ? [`${from.x} ${(from.y + to.y) / 2}`, `${to.x} ${(from.y + to.y) / 2}`] : [`${(from.x + to.x) / 2} ${from.y}`, `${(from.x + to.x) / 2} ${to.y}`];
    const dir = bend === "down" ? Math.sign(to.y - from.y) : Math.sign(to.x - from.x), r = 5 + size / 2;
    const head = bend === "down" ? `M${to.x} ${to.y}l${-r} ${-dir * r * 1.5}h${2 * r}Z` : `M${to.x} ${to.y}l${-dir * r * 1.5} ${-r}v${2 * r}Z`;
    const end = bend === "down" ? `${to.x} ${to.y - dir * r * 1.4}` : `${to.x - dir * r * 1.4} ${to.y}`;
    const words = f.lost > 0 && [gpuTime(f.lost), lagWords(f.lag)].filter(Boolean);
    const rises = to.y < from.y - 24; // its words stand below where it begins: it leads away from them
    const [x, y] = bend === "down" ? [from.x + 8, (from.y + to.y) / 2] : rises ? [from.x + dir * 10, from.y + 16 + size / 2] : [from.x + dir * 10, Math.min(from.y, (from.y + to.y) / 2) - 6 - size / 2];
    return s("g", { class: `flow ${f.lost > 0 ? `passed shade${size}` : "supply"} ${domainClass(f.from)}`, "data-from": f.from, "data-to": f.to },
      s("path", { class: "line", d: `M${from.x} ${from.y}C${a} ${b} ${end}` }), s("path", { class: "head", d: head }),
      words && s("text", { x, y, "text-anchor": bend === "down" || dir > 0 ? "start" : "end" }, words.join(", ")));
  }
}

// ends are where an arrow leaves one box and meets another. Those that leave a box by
// one side, or meet it there, are spread over that side by where they lead.
function ends(a, b, { from, to }) {
  const box = (el) => ({ l: el.offsetLeft, t: el.offsetTop, r: el.offsetLeft + el.offsetWidth, b: el.offsetTop + el.offsetHeight, x: el.offsetLeft + el.offsetWidth / 2, h: el.offsetHeight });
  const A = box(a), B = box(b);
  if (Math.abs(A.x - B.x) < 40) {
    const down = B.t > A.t, x = A.x + (down ? -24 : 24);
    return { from: { x, y: down ? A.b : A.t }, to: { x, y: down ? B.t : B.b }, bend: "down" };
  }
  const right = B.x > A.x, part = (own, other, forth) => own.t + own.h * (Math.abs(other.t - own.t) < 20 ? 0.34 : other.t > own.t ? 0.72 : 0.2) + (forth ? 0 : 14);
  const forth = supplies.some(([p, q]) => p === from && q === to);
  return { from: { x: right ? A.r : A.l, y: part(A, B, forth) }, to: { x: right ? B.l : B.r, y: part(B, A, forth) }, bend: "across" };
}

function lostTo(losses, domain) {
  const found = losses?.domains?.find((d) => d.domain === domain);
  return found ? [found.gpu_seconds_lost > 0 ? gpuTime(found.gpu_seconds_lost) : "nothing", " lost to it"] : "";
}
