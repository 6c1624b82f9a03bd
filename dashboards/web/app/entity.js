// One entity: its state, incidents and alerts, neighbours, and its curves.

import { h, text, show, replace, changed } from "./dom.js";
import { called, entity as parsed, percent } from "./format.js";
import { section, entityLink, addressOf } from "./parts.js";
import { incidentList } from "./rows.js";
import { alertList } from "./alerts.js";
import { stateMark } from "./states.js";
import { Past, curvesOf, stepOf } from "./past.js";
import { spanOf, withSpan, spanSelect } from "./span.js";
import { Prometheus } from "./promql.js";
import { byName } from "./plant.js";
import { get } from "./store.js";

const every = 10000; // ms of the log between two answers
const mostNeighbours = 60; // of one relation

// Relations as seen from the entity: those that lead to it, and from it.
const words = { contains: ["in", "contains"], connects: ["connected to", "connected to"], pairs: ["paired with", "paired with"], runs: ["runs", "runs on"], feeds: ["power from", "feeds"], cools: ["cooling from", "cools"], uses: ["used by", "uses"], member: ["members", "member of"] };

/** neighboursOf groups the edges at an entity: [[relation in words, [entities]]]. */
export function neighboursOf(id, edges) {
  const groups = new Map();
  for (const e of edges) {
    if (e.end || e.from !== id && e.to !== id) continue;
    const name = (words[e.rel] ?? [e.rel, e.rel])[e.from === id ? 1 : 0];
    if (!groups.has(name)) groups.set(name, new Set());
    groups.get(name).add(e.from === id ? e.to : e.from);
  }
  return [...groups].map(([name, ids]) => [name, [...ids].map((x) => ({ id: x })).sort(byName).map((x) => x.id)]);
}

// mapOf is where the maps show an entity; "" for what they do not show.
function mapOf(id) {
  const view = /^(switch|port):/.test(id) ? "fabric" : /^(rack|row|hall|node|loop|cdu|crah|pdu|ups|feed|shelf|pump|battery):/.test(id) ? "power" : "";
  return view && `/${view}?${new URLSearchParams({ of: id })}`;
}

/** EntityView shows the entity of the address: /entity?of=kind:name. */
export class EntityView {
  constructor(store) {
    this.store = store;
    this.history = new Prometheus();
    this.headline = h("h1", { tabindex: "-1" });
    this.status = h("p", { class: "fleet" });
    this.trouble = h("p", { class: "complaint", role: "alert" });
    this.incidents = h("ol", { class: "rows" });
    this.alerts = h("ol", { class: "rows" });
    this.neighbours = h("dl", { class: "neighbours" });
    this.curves = new Past();
    this.curves.zoomed = (from, to) => this.spanned({ from, to });
    this.time = spanSelect((last) => this.spanned({ last }));
    this.sections = { incidents: section("entity-incidents", "Incidents", this.incidents), alerts: section("entity-alerts", "Alerts", this.alerts),
      neighbours: section("entity-neighbours", "Neighbours", this.neighbours), curves: section("entity-curves", "Series", h("p", { class: "quiet" }, this.time, " drag over the curves to choose an interval"), this.curves.el) };
    this.el = h("article", { class: "oneentity" }, h("header", { class: "head" }, this.headline, this.status, this.trouble), Object.values(this.sections));
    this.located();
  }

  get title() { return this.id ? called(this.id) : "Entity"; }

  get sources() { return [this.store, this]; }

  get loaded() { return Boolean(this.answer) || this.trouble.textContent !== ""; }

  /** await asks for the entity, again after a while. */
  await() { if (this.id && Number.isFinite(this.store.tick) && this.store.tick - this.askedAt >= every) this.ask(); }

  close() {
    this.closed = true;
    this.curves.close();
  }

  // spanned keeps another time in the address.
  spanned(span) {
    history.replaceState(history.state, "", location.pathname + withSpan(location.search, span));
    this.askedAt = -Infinity;
    this.update();
  }

  /** located reads which entity the address means. */
  located() {
    this.id = new URLSearchParams(location.search).get("of") ?? "";
    Object.assign(this, { answer: null, edges: [], askedAt: -Infinity });
    text(this.trouble, this.id ? "" : "The address names no entity: /entity?of=kind:name. Ctrl-K finds one.");
    show(this.sections.curves, this.id !== "");
    this.store.changed();
  }

  async ask() {
    const id = this.id, now = this.store.tick;
    this.askedAt = now;
    const wanted = (fn) => (value) => { if (!this.closed && this.id === id) { fn(value); this.store.changed(); } };
    const kept = parsed(id), name = JSON.stringify(id.slice(id.indexOf(":") + 1));
    get(`/api/v1/entity?entity=${encodeURIComponent(id)}`).then(wanted((a) => { this.answer = a; })).catch(wanted((e) => text(this.trouble, `Its state is not available: ${e.message}`)));
    get(`/api/v1/topology?${new URLSearchParams({ entity: id, hops: 1 })}`).then(wanted((a) => { this.edges = a.edges ?? []; })).catch(() => { /* not in the topology */ });
    this.history.settled = now;
    const span = spanOf(location.search, now, "1h"), step = stepOf(span), query = location.search;
    this.time.value = span.last || "own";
    this.history.range(`{kind=${JSON.stringify(kept.kind)},name=${name},__name__!~"ALERTS.*|.*_info"}`, { from: span.from, to: span.to, step })
      .then(wanted((found) => { if (location.search === query) this.curves.show(curvesOf(found, "witness", step), span); })).catch(wanted((e) => this.curves.fail(e)));
  }

  /** update brings the view up to what is known. */
  update() {
    const { store, answer } = this, now = store.tick;
    text(this.headline, this.title);
    this.await();
    if (answer && changed(this.status, "status", answer)) {
      replace(this.status, stateMark(answer), answer.reason && ` ${answer.reason}`, answer.incident && [" · ", h("a", { href: addressOf(answer.incident), "data-go": true }, answer.incident)], typeof answer.confidence === "number" && ` · confidence ${percent(answer.confidence)}`,
        mapOf(this.id) && [" · ", h("a", { href: mapOf(this.id), "data-go": true }, "on the map")]);
    }
    const related = answer?.related ?? [], alerts = related.filter((x) => x.kind === "alert"), incidents = related.filter((x) => x.kind !== "alert").map((x) => store.incidents.get(x.id) ?? x);
    incidentList(this.incidents, incidents, now);
    alertList(this.alerts, alerts, {}, now);
    show(this.sections.incidents, incidents.length > 0);
    show(this.sections.alerts, alerts.length > 0);
    const groups = neighboursOf(this.id, this.edges);
    show(this.sections.neighbours, groups.length > 0);
    if (changed(this.neighbours, "groups", groups)) replace(this.neighbours, groups.map(([name, ids]) => [h("dt", {}, name), h("dd", {}, ids.slice(0, mostNeighbours).map((x) => [entityLink(x), " "]), ids.length > mostNeighbours && `and ${ids.length - mostNeighbours} more`)]));
  }
}
