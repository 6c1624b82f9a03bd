// The explorer: PromQL over any time, beside an earlier time and the peers, and
// what else changed. What is shown stands in the address.

import { h, text, attr, show, replace, keyed, copyButton } from "./dom.js";
import { clock, change, day, duration, plural, universal, interval } from "./format.js";
import { metricName, metricDomain, domains, domainSign } from "./words.js";
import { entityLink, section } from "./parts.js";
import { incidentList } from "./rows.js";
import { alertList } from "./alerts.js";
import { Prometheus, isAborted } from "./promql.js";
import { Past, stepOf } from "./past.js";
import { spanOf, withSpan, spanSelect } from "./span.js";
import { peersOf, measureOf, entitiesIn, seriesQuery, metricQuery, exploreAddress } from "./query.js";
import { spanBefore, seriesOf, changedIn } from "./changes.js";
import { lasting } from "./incidents.js";
import { get } from "./store.js";
import { once } from "./reading.js";

const every = 10000; // ms of the log between two answers
const mostQueries = 6, mostSeries = 60, mostNeighbours = 40, mostChanges = 15;
const offsets = { "1h": 3600e3, "24h": 86400e3, "7d": 7 * 86400e3 };
const offsetNames = { "": "nothing", "1h": "an hour before", "24h": "a day before", "7d": "a week before" };

/** shownIn is what an address shows: {queries, before, peers}. */
export function shownIn(search) {
  const q = new URLSearchParams(search), before = q.get("before") ?? "";
  return { queries: q.getAll("q").map((x) => x.trim()).filter(Boolean).slice(0, mostQueries), before: Object.hasOwn(offsets, before) ? before : "", peers: q.get("peers") === "1" };
}

/** withShown is a query with what is shown in it. */
export function withShown(search, { queries, before, peers }) {
  const q = new URLSearchParams(search);
  for (const key of ["q", "before", "peers"]) q.delete(key);
  for (const query of queries) q.append("q", query);
  if (before) q.set("before", before);
  if (peers) q.set("peers", "1");
  return q.size ? `?${q}` : "";
}

// labelsOf writes what distinguishes a series of an answer from the others.
function labelsOf(labels) { return Object.entries(labels).filter(([n]) => !["__name__", "kind", "name"].includes(n)).sort().map(([n, v]) => `${n}=${v}`).join(", "); }

/** curvesOfAnswer turns the answer of one expression into curves; those with the greatest values first. */
export function curvesOfAnswer(result, query, place) {
  const peak = (r) => r.v.reduce((most, v) => Math.max(most, Math.abs(v) || 0), 0);
  return [...result].sort((a, b) => peak(b) - peak(a)).slice(0, mostSeries).map((r) => {
    const { kind, name, __name__: metric } = r.labels, entity = kind && name ? `${kind}:${name}` : "", measure = measureOf(query, r.labels);
    return { entity, metric: `${place} ${JSON.stringify(r.labels)}`, name: measure.metric, title: metric ? metricName(metric) : query, unit: measure.unit, role: "witness", sampled: true, t: r.t, v: r.v, group: String(place),
      query: metric && entity ? seriesQuery(entity, metric) : query, labels: labelsOf(r.labels), place };
  });
}

/** Explored is the figure: an earlier time and the peers are drawn with each curve. */
class Explored extends Past {
  row(x) {
    const row = super.row(x), labels = this.labels.get(x.metric);
    attr(row.querySelector("a.what"), "title", x.query);
    if (labels) row.querySelector(".label").append(h("span", { class: "what quiet labels" }, labels));
    return row;
  }

  /** put draws curves with what is drawn beside each. */
  put(curves, span, beside) {
    this.labels = new Map(curves.map((c) => [c.metric, c.labels]));
    keyed(this.rows, [], {}); // a row of the same key may have another title
    this.show(curves, span);
    for (const x of this.series.values()) for (const [name, values] of Object.entries(beside(x))) if (values) x.beside(name, values);
    this.draw();
  }
}

// metricList lists metrics by domain, each leading to its series; last those of no domain: recorded by rules, or of processes.
function metricList(names) {
  const links = (list) => list.map((name) => [h("a", { class: "entity", href: exploreAddress(metricQuery(name)), "data-go": true, title: metricName(name) }, h("code", {}, name)), " "]);
  const by = Map.groupBy(names, (name) => (name.includes(":") ? "" : metricDomain(name))), rest = by.get("") ?? [];
  return [h("dl", { class: "neighbours metrics" }, domains.filter((d) => by.has(d)).map((d) => [h("dt", {}, domainSign(d), d), h("dd", {}, links(by.get(d)))])),
    rest.length > 0 && h("details", {}, h("summary", {}, `${plural(rest.length, "metric")} recorded by rules or of processes`), h("p", {}, links(rest)))];
}

/** Explore is the view of the address; go leads to another. */
export class Explore {
  constructor(store, go) {
    Object.assign(this, { store, go, history: new Prometheus(), askedAt: -Infinity, rows: [] });
    this.headline = h("h1", { tabindex: "-1" }, "Explore");
    this.names = h("datalist", { id: "metricnames" });
    this.inputs = h("div", { class: "queries" });
    this.add = h("button", { type: "button", class: "plain", onclick: () => { this.rows.push(this.input("")); this.drawInputs(); this.rows.at(-1).box.focus(); } }, "Add an expression");
    this.form = h("form", { class: "exploreform", onsubmit: (e) => { e.preventDefault(); this.run(); } }, this.inputs, this.names, h("div", { class: "buttons" }, h("button", { type: "submit" }, "Run"), this.add));
    this.time = spanSelect((last) => this.spanned({ last }));
    this.before = h("select", { onchange: () => this.to({ before: this.before.value }) }, Object.entries(offsetNames).map(([value, words]) => h("option", { value }, words)));
    this.peers = h("input", { type: "checkbox", onchange: () => this.to({ peers: this.peers.checked }) });
    const move = (label, fn) => h("button", { type: "button", class: "plain", onclick: () => this.moved(fn) }, label);
    this.controls = h("div", { class: "explorebar" }, h("label", {}, h("span", { class: "quiet" }, "Time"), " ", this.time),
      move("← Earlier", (w) => [-w / 2, -w / 2]), move("Later →", (w) => [w / 2, w / 2]), move("Zoom out", (w) => [-w / 2, w / 2]),
      h("label", {}, h("span", { class: "quiet" }, "Compare with"), " ", this.before), h("label", {}, this.peers, " peers"), h("span", {}, h("span", { class: "quiet" }, "Link "), copyButton("the link", () => location.href)));
    this.which = h("p", { class: "quiet which" });
    this.trouble = h("p", { class: "complaint", role: "alert" });
    this.curves = new Explored();
    this.curves.none = "No series in this time.";
    this.curves.zoomed = (from, to) => this.spanned({ from, to });
    this.find = h("button", { type: "button", onclick: () => this.changes() }, "What else changed here?");
    this.found = h("div", { class: "changes" });
    this.incidents = h("ol", { class: "rows" });
    this.alerts = h("ol", { class: "rows" });
    this.parts = { incidents: section("explore-incidents", "Incidents in this time", this.incidents), alerts: section("explore-alerts", "Alerts in this time", this.alerts), changes: section("explore-changes", "What else changed", this.find, this.found) };
    this.figure = section("explore-curves", "Series", this.which, this.curves.el);
    this.kept = { loaded: false, failure: "" }; // the names of metrics
    this.metrics = h("div", {});
    this.start = section("explore-metrics", "Metrics in the history", this.metrics);
    once(this.metrics, [this.kept]);
    this.el = h("article", { class: "explore" }, h("header", { class: "head" }, this.headline), this.form, this.controls, this.trouble, this.start, this.figure, this.parts.changes, this.parts.incidents, this.parts.alerts);
    this.located();
    this.listNames();
  }

  get title() { return "Explore"; }

  close() {
    this.closed = true;
    this.control?.abort();
    this.curves.close();
  }

  async listNames() {
    try {
      const { data = [] } = await get("/prometheus/api/v1/label/__name__/values");
      replace(this.names, data.map((value) => h("option", { value })));
      this.kept.loaded = true;
      replace(this.metrics, metricList(data));
    } catch (error) {
      this.kept.failure = error.message; // names can be typed
    }
    once(this.metrics, [this.kept]);
  }

  // ------------------------------------------------------------ the address

  /** located reads what the address shows. */
  located() {
    const { queries, before, peers } = shownIn(location.search);
    this.queries = queries;
    this.rows = (this.queries.length ? this.queries : [""]).map((q) => this.input(q));
    this.drawInputs();
    this.before.value = before;
    this.peers.checked = peers;
    this.askedAt = -Infinity;
    replace(this.found);
    this.alertsIn = [];
    this.store.changed();
  }

  input(query) {
    const box = h("input", { type: "text", list: "metricnames", class: "expr", value: query, "aria-label": "PromQL expression", spellcheck: "false", autocapitalize: "off", autocomplete: "off", placeholder: "PromQL, such as gpu_power_watts{node=\"n0001\"}" });
    const row = { box, el: h("div", { class: "query" }, box, h("button", { type: "button", class: "plain", "aria-label": "Remove this expression", onclick: () => { this.rows = this.rows.filter((r) => r !== row); if (this.rows.length === 0) this.rows.push(this.input("")); this.run(); } }, "×")) };
    return row;
  }

  drawInputs() {
    replace(this.inputs, this.rows.map((r) => r.el));
    show(this.add, this.rows.length < mostQueries);
  }

  run() {
    const queries = this.rows.map((r) => r.box.value.trim()).filter(Boolean);
    if (JSON.stringify(queries) === JSON.stringify(this.queries)) { this.askedAt = -Infinity; this.store.changed(); } else this.to({ queries });
  }

  to(wanted) { this.go(location.pathname + withShown(location.search, { ...shownIn(location.search), ...wanted })); }

  spanned(span) { this.go(location.pathname + withSpan(location.search, span)); }

  // moved shows another time: by(width) are how far its begin and its end move.
  moved(by) {
    const { from, to } = this.span(), [a, b] = by(to - from), over = Math.max(0, to + b - this.store.tick);
    this.spanned({ from: from + a - over, to: to + b - over });
  }

  span() { return spanOf(location.search, this.store.tick, "1h"); }

  // ------------------------------------------------------------ the answers

  /** update brings the view up to what is known. */
  update() {
    const now = this.store.tick;
    if (!Number.isFinite(now)) return;
    const span = this.span();
    this.time.value = span.last || "own";
    text(this.which, `${whenWords(span.from, span.to)}, ${duration((span.to - span.from) / 1000)}. Drag over the curves to zoom in.`);
    attr(this.which, "title", `${universal(span.from)} to ${universal(span.to)}`);
    const live = span.live && now - this.askedAt >= every;
    if (this.queries.length && (this.askedAt === -Infinity || live)) this.ask(span, now);
    show(this.figure, this.queries.length > 0);
    show(this.start, this.queries.length === 0);
    show(this.parts.changes, this.about().length > 0);
    const incidents = this.queries.length ? [...this.store.incidents.values()].filter((i) => lasting(i, span) && interval(i.onset).to >= span.from).sort((a, b) => (a.opened < b.opened ? 1 : -1)).slice(0, 10) : [];
    incidentList(this.incidents, incidents, now);
    show(this.parts.incidents, incidents.length > 0);
    alertList(this.alerts, this.alertsIn, {}, now);
    show(this.parts.alerts, this.alertsIn.length > 0);
  }

  // about are the entities that are looked at.
  about() {
    const named = this.queries.flatMap(entitiesIn);
    return [...new Set(named.length ? named : [...this.curves.series.values()].map((x) => x.entity).filter(Boolean))].slice(0, 5);
  }

  async ask(span, now) {
    this.askedAt = now;
    this.control?.abort();
    const { signal } = (this.control = new AbortController()), step = stepOf(span), range = { from: span.from, to: span.to, step };
    this.history.settled = now - 120000;
    const { queries, before, peers } = shownIn(location.search), answers = [], beside = [];
    try {
      for (const [i, query] of queries.entries()) {
        const result = await this.history.range(query, range, signal).catch((error) => { throw Object.assign(error, { at: i }); });
        answers.push({ query, result, curves: curvesOfAnswer(result, query, i) });
        beside.push({ before: before && await this.earlier(query, range, offsets[before], signal), peers: peers && await this.around(query, range, signal) });
      }
    } catch (error) {
      if (!isAborted(error) && !this.closed) this.failed(error);
      return;
    }
    if (this.closed || signal.aborted) return;
    this.failed(null);
    this.drawAnswer(answers, beside, span);
    this.store.changed();
  }

  // earlier are the same series of an earlier time, moved to this one.
  async earlier(query, range, ms, signal) {
    const result = await this.history.range(query, { ...range, from: range.from - ms, to: range.to - ms }, signal);
    return new Map(result.map((r) => [JSON.stringify(r.labels), { t: r.t.map((t) => t + ms), v: r.v }]));
  }

  // around is where most of the peers are; null where an expression names nobody.
  async around(query, range, signal) {
    const asked = peersOf(query);
    if (!asked) return null;
    const [lo, mid, hi, count] = await Promise.all([asked.lo, asked.mid, asked.hi, asked.count].map((q) => this.history.range(q, range, signal)));
    return mid.length === 1 && lo.length === 1 && hi.length === 1 ? { t: mid[0].t, lo: lo[0].v, mid: mid[0].v, hi: hi[0].v, count: count[0]?.v.at(-1) ?? 0 } : null;
  }

  failed(error) {
    text(this.trouble, error ? `${this.queries[error.at] ?? "The expression"}: ${error.message}` : "");
    for (const [i, r] of this.rows.entries()) attr(r.box, "aria-invalid", error?.at === i ? "true" : null);
    if (error) this.curves.fail(error);
  }

  drawAnswer(answers, beside, span) {
    const curves = answers.flatMap((a) => a.curves), places = new Map(curves.map((c) => [c.metric, c.place]));
    this.curves.put(curves, span, (x) => {
      const { before, peers } = beside[places.get(x.metric)];
      return { before: before && before.get(x.metric.slice(x.metric.indexOf("{"))), peers };
    });
    const dropped = answers.reduce((sum, a) => sum + Math.max(0, a.result.length - a.curves.length), 0), shown = shownIn(location.search);
    const peers = beside.map((b) => b.peers).filter(Boolean), nobody = shown.peers && peers.length < answers.length;
    text(this.curves.note, [plural(curves.length, "series", "series"), dropped > 0 && `${plural(dropped, "other")} with smaller values not drawn`, shown.before && `grey: ${offsetNames[shown.before]}${beside.every((b) => !b.before?.size) ? " (no data)" : ""}`,
      peers.length > 0 && `shaded: the 10th to the 90th percentile of ${plural(Math.round(Math.max(...peers.map((p) => p.count))), "peer")}, dotted: their median`, nobody && "an expression without name=\"…\" has no peers"].filter(Boolean).join("; "));
  }

  // ------------------------------------------------------ what else changed

  async changes() {
    const span = this.span(), ids = this.about(), range = spanBefore(span);
    replace(this.found, h("p", { class: "quiet" }, "Comparing …"));
    const query = location.search, current = () => !this.closed && location.search === query;
    try {
      const edges = (await Promise.all(ids.map((id) => get(`/api/v1/topology?${new URLSearchParams({ entity: id, hops: 1 })}`).catch(() => ({}))))).flatMap((a) => a.edges ?? []);
      const near = [...new Set([...ids, ...edges.filter((e) => !e.end).flatMap((e) => [e.from, e.to])])].slice(0, mostNeighbours);
      const all = (await Promise.all(seriesOf(near).map((q) => this.history.range(q, range)))).flat();
      const alerts = ((await get("/api/v1/alerts?state=all&limit=300").catch(() => ({}))).alerts ?? []).filter((a) => lasting(a, span) && near.includes(a.root?.entity));
      if (!current()) return;
      this.alertsIn = alerts.slice(0, 10);
      this.drawChanges(changedIn(all, span.from, range.step), all.length, near.length, span);
      this.store.changed();
    } catch (error) {
      if (current()) replace(this.found, h("p", { class: "complaint", role: "alert" }, `What changed is not known: ${error.message}`));
    }
  }

  drawChanges(changes, of, entities, span) {
    const row = (c) => h("li", {}, h("span", {}, entityLink(c.entity)), h("a", { href: exploreAddress(seriesQuery(c.entity, c.metric), span.live ? { last: span.last } : span), "data-go": true }, metricName(c.metric)), h("b", {}, change(c.before, c.now, c.unit, c.metric)));
    replace(this.found, h("p", { class: "quiet" }, `${plural(changes.length, "series", "series")} of ${of} differ${changes.length === 1 ? "s" : ""} from the ${duration((span.to - span.from) / 1000)} before (${plural(entities, "entity", "entities")}: these and their neighbours); those that differ most for their scatter first.`),
      h("ul", { class: "changelist" }, changes.slice(0, mostChanges).map(row)));
  }
}

function whenWords(from, to) { return day(from) === day(to) ? `${clock(from)} to ${clock(to)}` : `${day(from)} ${clock(from)} to ${day(to)} ${clock(to)}`; }
