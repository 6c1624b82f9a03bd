// PromQL as text: what the page asks about a series, its past and its peers, and
// where an alert's threshold is. Pure.

import { quoted } from "./promql.js";
import { entity } from "./format.js";
import { unitOf } from "./words.js";

const window = "2m"; // over which a counter's rate is taken

/** seriesQuery is the expression of one series of an entity; of a counter, its rate. */
export function seriesQuery(id, metric) {
  const { kind } = entity(id), name = id.slice(id.indexOf(":") + 1), job = kind === "rank" ? `,job=${quoted(name.slice(0, name.lastIndexOf("/")))}` : "";
  const selector = `${metric}{kind=${quoted(kind)},name=${quoted(name)}${job}}`;
  return metricQuery(metric, selector);
}

/** metricQuery is the expression of all series of a metric, or of those of a selector; of a counter, their rates. */
export function metricQuery(metric, selector = metric) { return metric.endsWith("_total") ? `rate(${selector}[${window}])` : selector; }

// tokens splits an expression: strings, numbers, names, operators and brackets,
// each with its place and how many brackets are open around it.
function tokens(expr) {
  const out = [];
  let depth = 0;
  for (const m of expr.matchAll(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|#[^\n]*|[0-9][\w.]*(?:[eE][+-]?\d+)?|\.\d+|[A-Za-z_:][\w:]*|[<>=!]=|=~|!~|[^\s]/g)) {
    const text = m[0];
    if (text.startsWith("#")) continue;
    if (/^[)\]}]$/.test(text)) depth--;
    out.push({ text, at: m.index, end: m.index + text.length, depth });
    if (/^[([{]$/.test(text)) depth++;
  }
  return out;
}

const comparisons = [">", "<", ">=", "<=", "==", "!="];
const setOperators = ["and", "or", "unless"];

/** thresholdOf splits "x > 0.9", or the first part of "x > 0.9 and y < 2": {expr, op, value, limit}; value is NaN where the limit is an expression. null where nothing is compared. */
export function thresholdOf(expr) {
  const all = tokens(expr), set = all.findIndex((t) => t.depth === 0 && setOperators.includes(t.text.toLowerCase()));
  if (set >= 0 && all[set].text.toLowerCase() === "or") return null;
  const first = set < 0 ? all : all.slice(0, set), end = set < 0 ? expr.length : all[set].at;
  if (first.length > 2 && first[0].text === "(" && closes(first) === first.length - 1) return thresholdOf(expr.slice(first[0].end, first.at(-1).at));
  const at = first.findIndex((t) => t.depth === 0 && comparisons.includes(t.text));
  if (at <= 0) return null;
  const limit = expr.slice(first[at].end, end).replace(/^\s*bool\b/, "").replace(/^\s*(on|ignoring)\s*\([^)]*\)/, "").replace(/^\s*group_(left|right)\s*(\([^)]*\))?/, "").trim();
  return { expr: expr.slice(0, first[at].at).trim(), op: first[at].text, value: valueOf(limit), limit };
}

// closes is where the bracket that opens a list of tokens is closed.
function closes(list) { return list.findIndex((t, i) => i > 0 && t.depth === list[0].depth && /^[)\]}]$/.test(t.text)); }

// valueOf reads a number, or a product or quotient of two: "0.9", "(3 * 60)"; NaN of all else.
function valueOf(text) {
  const m = /^([-+]?[\d.]+(?:[eE][+-]?\d+)?)(?:\s*([*/])\s*([\d.]+(?:[eE][+-]?\d+)?))?$/.exec(text.replace(/^\((.*)\)$/s, "$1").trim());
  if (!m) return NaN;
  return m[2] === "*" ? Number(m[1]) * Number(m[3]) : m[2] === "/" ? Number(m[1]) / Number(m[3]) : Number(m[1]);
}

/** allPeers is an expression without the matchers that choose one entity by name, so that it is of all of its kind; "" where it has none. */
export function allPeers(expr) {
  const all = tokens(expr), cut = [];
  for (let i = 0; i + 2 < all.length; i++) {
    if (all[i].text !== "name" || !["=", "=~"].includes(all[i + 1].text) || all[i].depth === 0) continue;
    const after = all[i + 3]?.text === ",", before = all[i - 1]?.text === ",";
    cut.push([after || !before ? all[i].at : all[i - 1].at, after ? all[i + 3].end : all[i + 2].end]);
  }
  return cut.reduceRight((text, [a, b]) => text.slice(0, a) + text.slice(b), cut.length ? expr : "");
}

/** peersOf are the questions for the peers of an expression: the 10th percentile, the median, the 90th, and how many there are; null where it names nobody. */
export function peersOf(expr) {
  const peers = allPeers(expr);
  return peers ? { lo: `quantile(0.1, ${peers})`, mid: `quantile(0.5, ${peers})`, hi: `quantile(0.9, ${peers})`, count: `count(${peers})` } : null;
}

/** entitiesIn are the entities that an expression names: kind="x" and name="y" in one selector. */
export function entitiesIn(expr) {
  const found = new Set();
  for (const [body] of expr.matchAll(/\{[^{}]*\}/g)) {
    const kind = /\bkind="([^"\\]+)"/.exec(body)?.[1], name = /\bname="([^"\\]+)"/.exec(body)?.[1];
    if (kind && name) found.add(`${kind}:${name}`);
  }
  return [...found];
}

const keepUnit = new Set(["sum", "avg", "min", "max", "quantile", "topk", "bottomk", "avg_over_time", "min_over_time", "max_over_time", "quantile_over_time", "last_over_time", "rate", "irate", "abs", "deriv", "idelta", "delta"]);

/** measureOf is the metric whose values an expression returns, and their unit: {metric: "", unit: "1"} where its text does not say. */
export function measureOf(expr, labels = {}) {
  if (labels.__name__) return { metric: labels.__name__, unit: unitOf(labels.__name__).replace(/\/s$/, "") }; // a counter that is shown as it is
  const none = { metric: "", unit: "1" };
  const all = tokens(expr), metrics = new Set(), calls = [];
  for (const [i, t] of all.entries()) {
    if (!/^[A-Za-z_:]/.test(t.text) || all[i - 1]?.text === "offset") continue;
    const next = all[i + 1]?.text;
    if (next === "(") calls.push(t.text.toLowerCase());
    else if (next === "{" || next === "[" || /_/.test(t.text) && !inBraces(all, i) && !afterGrouping(all, i)) metrics.add(t.text);
    else if (setOperators.includes(t.text)) return none;
  }
  if (all.some((t, i) => /^[*/+%^-]$/.test(t.text) && i > 0 && !inBraces(all, i)) || metrics.size !== 1) return none;
  const [metric] = metrics, wanted = calls.filter((c) => !["by", "without", "on", "ignoring"].includes(c));
  if (!wanted.every((c) => keepUnit.has(c))) return none;
  const unit = unitOf(metric.split(":").find((part) => /_/.test(part)) ?? metric);
  return { metric, unit: wanted.some((c) => c === "rate" || c === "irate") || !unit.endsWith("/s") ? unit : unit.slice(0, -2) };
}

function inBraces(all, at) {
  for (let i = at; i >= 0; i--) {
    if (all[i].text === "{" && all[i].depth < all[at].depth) return true;
    if (all[i].depth === 0) return false;
  }
  return false;
}

// afterGrouping distinguishes labels in "by (a, b)" from metrics.
function afterGrouping(all, at) {
  for (let i = at; i > 0; i--) {
    if (all[i].text === "(" && all[i].depth < all[at].depth) return ["by", "without", "on", "ignoring", "group_left", "group_right"].includes(all[i - 1].text);
  }
  return false;
}

/** exploreAddress is the explorer's address of expressions, over an interval if one is given. */
export function exploreAddress(queries, { from = NaN, to = NaN, last = "" } = {}) {
  const q = new URLSearchParams([queries].flat().map((x) => ["q", x]));
  if (last) q.set("last", last);
  if (from < to) { q.set("from", new Date(from).toISOString()); q.set("to", new Date(to).toISOString()); }
  return `/explore?${q}`;
}
