// What is known of power and cooling at a moment: loads against limits, temperatures
// and margins, flows; and who gives power or cold to whom.

import { history as past, quoted, together, apart } from "./promql.js";
import { plant, bare } from "./plant.js";

const listed = ["hall", "row", "rack", "node", "feed", "ups", "pdu", "shelf", "cdu", "loop", "pump", "crah"];

const held = (where) => `max by (node) (sum by (node, gpu) (${["thermal", "brake"].map((why) => `label_replace(rate(gpu_throttle_${why}_seconds_total{${where}}[1m]), "of", "${why}", "kind", ".*")`).join(" or ")}))`;

const questions = {
  ratio: 'rack_power_watts{kind=~"rack|shelf|pdu|row"} / rack_power_limit_watts{kind=~"rack|shelf|pdu|row"}',
  watts: 'rack_power_watts{kind=~"rack|shelf|pdu|row"}',
  nodeRatio: "node_power_watts / node_power_limit_watts",
  margin: "min by (node) (gpu_temperature_margin_celsius)",
  holding: `${held("")} > 0.005`,
  coolant: '{__name__=~"coolant_(flow_liters_per_minute|supply_celsius|return_celsius|pressure_pascals)",kind=~"cdu|loop|rack"}',
  up: 'feed_up{kind=~"feed|pdu|ups|breaker"}',
  dead: "psu_up == 0",
  leaks: "leak_detected == 1",
  charge: "battery_charge_ratio",
};

const groups = [["ratio", "watts", "nodeRatio"], ["margin", "holding", "coolant"], ["up", "dead", "leaks", "charge"]].map((names) => Object.fromEntries(names.map((n) => [n, questions[n]])));

/** usual is what the history is asked for at every moment. */
export const usual = groups.map((g) => ({ names: Object.keys(g), query: together(g) }));

/** details are asked for some nodes only, or, of what is shown of all, for all: of(nodes, "" for all). */
export const details = {
  nodeWatts: (nodes) => `node_power_watts${nodes && `{name=~${nodes}}`}`,
  hottest: (nodes) => `max by (node) (gpu_temperature_celsius${nodes && `{node=~${nodes}}`})`,
  held: (nodes) => held(nodes && `node=~${nodes}`),
  inlet: (nodes) => `inlet_celsius{${nodes ? `kind="node",name=~${nodes}` : 'kind=~"node|rack|row|crah|hall"'}}`,
};

const mostDetailed = 64; // nodes that are asked for by name

/** named are entities' names as a regular expression of PromQL. */
export function named(ids) { return quoted(ids.map((id) => bare(id).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")); }

const idOf = (labels) => (labels.kind && labels.name ? `${labels.kind}:${labels.name}` : labels.node ? `node:${labels.node}` : "");

/** Supply holds the plant's lists and the values of one moment. */
export class Supply {
  constructor() {
    this.kinds = new Map(listed.map((k) => [k, []]));
    this.byId = new Map();
    this.of = new Map([...Object.keys(questions), ...Object.keys(details)].map((q) => [q, new Map()])); // question -> id -> number
    this.coolant = new Map(); // id -> {flow, supply, return, pressure}
    this.behind = new Map(); // id -> what it feeds, cools or holds
    this.nodesOf = new Map();
    this.suppliers = new Map(); // id -> through whom it takes its load
    this.#forget();
  }

  /** ask asks for lists and values as of an instant; in full for what is in or behind one piece, or of all for some details. */
  async ask(at, now, { signal, of, all }) {
    const lists = Promise.all(listed.map((k) => plant.list(k, { now })));
    const often = this.#usual(at, signal);
    this.take(await lists);
    const nodes = of.startsWith("node:") ? [of] : of ? this.nodes(of) : [], some = nodes.length > 0 && nodes.length <= mostDetailed;
    const wanted = Object.entries(details).filter(([name]) => some || all.includes(name));
    for (const name of Object.keys(details)) if (!wanted.some(([w]) => w === name)) this.answered(name, []); // what was of another moment
    const failed = await often;
    await this.#answers(wanted.map(([name, q]) => [name, q(some ? named(nodes) : "")]), at, signal);
    if (failed.length === usual.length) throw failed[0];
  }

  // #usual takes the answers to what is asked at every moment, and returns why some
  // could not be had.
  async #usual(at, signal) {
    const all = await Promise.allSettled(usual.map(({ query }) => past.instant(query, at, signal)));
    signal.throwIfAborted();
    groups.forEach((g, i) => { for (const [name, result] of Object.entries(apart(g, all[i].value ?? []))) this.answered(name, result); });
    return all.filter((a) => a.status === "rejected").map((a) => a.reason);
  }

  // #answers takes what is answered; what is not is unknown.
  async #answers(asked, at, signal) {
    const all = await Promise.allSettled(asked.map(([, q]) => past.instant(q, at, signal)));
    signal.throwIfAborted();
    asked.forEach(([name], i) => this.answered(name, all[i].value ?? []));
  }

  // #forget is for new answers: what was folded of the last ones is kept by entity,
  // since a plant has thousands and each is asked for several times.
  #forget() {
    this.loads = new Map();
    this.heats = new Map();
  }

  answered(name, result) {
    this.#forget();
    if (name === "coolant") {
      this.coolant = new Map();
      for (const { labels, v } of result) {
        const id = idOf(labels), one = this.coolant.get(id) ?? {};
        one[/coolant_(flow|supply|return|pressure)/.exec(labels.__name__ ?? "")?.[1]] = v;
        this.coolant.set(id, one);
      }
      return;
    }
    this.of.set(name, new Map(result.map((r) => [idOf(r.labels), r.v])));
  }

  // take learns the lists, and from them who is behind what.
  take(lists) {
    if (this.lists && lists.every((l, i) => l === this.lists[i])) return;
    this.lists = lists;
    this.truncated = lists.some((l) => l.truncated);
    listed.forEach((k, i) => this.kinds.set(k, lists[i].entities));
    this.byId = new Map(lists.flatMap((l) => l.entities).map((e) => [e.id, e]));
    this.behind = new Map();
    for (const e of this.byId.values()) for (const from of [e.in, ...(e.fed_by ?? []), ...(e.cooled_by ?? [])]) {
      if (!from) continue;
      if (!this.behind.has(from)) this.behind.set(from, []);
      this.behind.get(from).push(e.id);
    }
    this.nodesOf = new Map();
    this.suppliers = new Map();
    this.#forget();
  }

  get(question, id) { return this.of.get(question).get(id) ?? NaN; }

  /** nodes are the nodes behind an entity: in it, fed or cooled by it. */
  nodes(id) {
    if (!this.nodesOf.has(id)) this.nodesOf.set(id, [...this.reach(id, (x) => this.behind.get(x) ?? [])].filter((x) => x.startsWith("node:")));
    return this.nodesOf.get(id);
  }

  // reach is everything that next leads to. Rows and halls hold what they do not
  // supply: a way goes through them only from them.
  reach(id, next) {
    const seen = new Set([id]);
    for (const x of seen) {
      if (x !== id && /^(row|hall|site):/.test(x)) continue;
      for (const y of next(x)) if (seen.size < 5000) seen.add(y);
    }
    return seen;
  }

  /** related is what an entity depends on and what depends on it. */
  related(id) {
    const above = this.reach(id, (x) => { const e = this.byId.get(x); return e ? [e.in, ...(e.fed_by ?? []), ...(e.cooled_by ?? []), ...(e.kind === "rack" ? (this.behind.get(x) ?? []).filter((y) => /^(shelf|loop):/.test(y)) : [])].filter(Boolean) : []; });
    return new Set([...above, ...this.reach(id, (x) => this.behind.get(x) ?? [])]);
  }

  /** load is what an entity takes: {ratio: of its limit, watts, alone: of one side's limit, were the other gone}. */
  load(id) {
    let found = this.loads.get(id);
    if (!found) this.loads.set(id, (found = this.#load(id)));
    return found;
  }

  #load(id) {
    const node = id.startsWith("node:"), own = this.get(node ? "nodeRatio" : "ratio", id), watts = this.get(node ? "nodeWatts" : "watts", id);
    const below = this.#through(id).map((x) => this.load(x));
    if (below.length === 0) return { ratio: own, own: Number.isFinite(own), watts, alone: NaN };
    const ratio = Number.isFinite(own) ? own : worst(below.map((b) => b.ratio));
    const all = sum(below.map((b) => b.watts));
    const limits = below.map((b) => b.watts / b.ratio).filter(Number.isFinite);
    return { ratio, own: Number.isFinite(own), watts: Number.isFinite(watts) ? watts : all, alone: id.startsWith("rack:") && limits.length > 1 ? all / Math.min(...limits) : NaN };
  }

  // #through are the pieces whose loads add up to an entity's.
  #through(id) {
    let found = this.suppliers.get(id);
    if (!found) {
      const of = id.startsWith("rack:") ? /^shelf:/ : /^(feed|ups):/.test(id) ? /^(ups|pdu):/ : null;
      this.suppliers.set(id, (found = of ? (this.behind.get(id) ?? []).filter((x) => of.test(x)) : []));
    }
    return found;
  }

  /** heat is how warm it is behind an entity: {margin: least degrees to slowdown, node: where, hottest, held, inlet}. */
  heat(id) {
    let found = this.heats.get(id);
    if (!found) this.heats.set(id, (found = this.#heat(id)));
    return found;
  }

  #heat(id) {
    const [margins, hottests, helds, holdings, inlets] = ["margin", "hottest", "held", "holding", "inlet"].map((q) => this.of.get(q));
    const value = (of, n) => (of.size === 0 ? NaN : of.get(n) ?? NaN), air = !id.startsWith("crah:");
    let margin = NaN, node = "", hottest = NaN, heldFor = NaN, inlet = value(inlets, id);
    for (const n of id.startsWith("node:") ? [id] : this.nodes(id)) {
      const m = value(margins, n);
      if (!(m >= margin) && Number.isFinite(m)) { margin = m; node = n; }
      hottest = most(hottest, value(hottests, n));
      heldFor = most(heldFor, most(value(helds, n), value(holdings, n)));
      if (air) inlet = most(inlet, value(inlets, n));
    }
    return { margin, node, hottest, held: heldFor, inlet };
  }

  /** home is what shows an entity on the maps: itself, or what it lies in. */
  home(id) {
    for (let i = 0; i < 4; i++) {
      const kind = id.slice(0, id.indexOf(":")), parts = bare(id).split("/");
      if (["rack", "feed", "ups", "pdu", "shelf", "cdu", "loop", "crah"].includes(kind)) return id;
      const e = this.byId.get(id);
      if (e?.in) id = e.in;
      else if (["gpu", "nic", "fan", "nvlink", "nvswitch", "queue", "optic"].includes(kind)) id = `node:${parts[0]}`;
      else if (kind === "psu") id = `shelf:${parts.slice(0, -1).join("/")}`;
      else if (kind === "pump") id = `cdu:${parts[0]}`;
      else if (kind === "battery") id = `ups:${bare(id)}`;
      else if (kind === "valve") id = `loop:${bare(id)}`;
      else return "";
    }
    return "";
  }

  /** broken is what is not as it should be: [{id, words}]. */
  broken() {
    const out = [];
    for (const [id, v] of this.of.get("up")) if (v === 0) out.push({ id, words: "is down" });
    for (const [id] of this.of.get("leaks")) out.push({ id, words: "detects a leak" });
    for (const [id] of this.of.get("dead")) out.push({ id, words: "delivers nothing" });
    for (const [id, v] of this.of.get("charge")) if (v < 0.8) out.push({ id, words: `holds ${Math.round(v * 100)} % of its charge` });
    return out;
  }
}

function worst(values) { return values.filter(Number.isFinite).reduce(most, NaN); }
function most(a, b) { return Number.isNaN(a) || b > a ? b : a; }
function sum(values) { const known = values.filter(Number.isFinite); return known.length ? known.reduce((a, b) => a + b, 0) : NaN; }

/** greatest are the n of a list with the greatest value, the greatest first, those without one left out: [{of, v}]. The rest is not put in order. */
export function greatest(list, n, value) {
  const out = [];
  for (const of of list) {
    const v = value(of);
    if (Number.isNaN(v) || out.length === n && !(v > out[n - 1].v)) continue;
    let at = out.length;
    while (at > 0 && v > out[at - 1].v) at--;
    out.splice(at, 0, { of, v });
    if (out.length > n) out.pop();
  }
  return out;
}
