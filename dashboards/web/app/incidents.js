// All incidents that are kept: search, facets, export.

import { h, text, show, replace, changed, attr } from "./dom.js";
import { plural, called, instant, interval } from "./format.js";
import { incidentList, nothing } from "./rows.js";
import { lossOf } from "./parts.js";
import { plant } from "./plant.js";
import { spanOf, withSpan, spanSelect } from "./span.js";
import { Strip } from "./strip.js";

const shownAtFirst = 200;

// Each facet is a parameter of the address, its label, and the values of an incident;
// places are what switches and nodes are in.
const facets = [
  ["state", "State", (i) => [i.state]],
  ["kind", "Kind", (i) => [i.kind ?? "incident"]],
  ["severity", "Severity", (i) => [i.severity]],
  ["domain", "Domain", (i) => [i.root?.domain ?? "under investigation"]],
  ["signature", "Signature", (i) => [i.root?.signature ?? "under investigation"]],
  ["job", "Job", (i) => (i.impact?.jobs ?? []).map((j) => called(j.job))],
  ["rack", "Rack", (i, places) => [placeOf(i, places)]],
  ["feedback", "Feedback", (i) => [(typeof i.verdict === "object" ? i.verdict?.verdict : i.verdict) ?? "none"]],
];

// placeOf is the rack that an incident begins in.
function placeOf(incident, places) {
  const id = incident.root?.entity ?? "", [, kind, head] = /^([^:]+):([^/]*)/.exec(id) ?? [];
  if (kind === "rack") return called(id);
  const place = places?.get(`${["port", "switch", "queue"].includes(kind) ? "switch" : "node"}:${head}`);
  return place ? called(place) : "not known";
}

/** lasting reports whether an incident went on within a span of time. */
export function lasting(i, { from, to }) { return interval(i.onset).from <= to && (i.resolved ? instant(i.resolved) : Infinity) >= from; }

/** chosenOf lists the incidents that hold a text and every chosen facet, the newest first. */
export function chosenOf(incidents, wanted, values, places) {
  const needle = wanted.trim().toLowerCase();
  return incidents.filter((i) => facets.every(([name, , of]) => !values[name] || of(i, places).includes(values[name])) &&
    (!needle || [i.title, i.id, i.root?.entity, i.root?.signature].some((v) => String(v ?? "").toLowerCase().includes(needle))))
    .sort((a, b) => (a.opened < b.opened ? 1 : a.opened > b.opened ? -1 : 0));
}

/** counted writes how many incidents and risks there are. */
export function counted(list) {
  const risks = list.filter((i) => i.kind === "risk").length, incidents = list.length - risks;
  return [(incidents > 0 || risks === 0) && plural(incidents, "incident"), risks > 0 && plural(risks, "risk")].filter(Boolean).join(", ");
}

/** csvOf writes incidents as RFC 4180. */
export function csvOf(incidents) {
  const cell = (v) => (/[",\n\r]/.test(String(v ?? "")) ? `"${String(v).replaceAll('"', '""')}"` : String(v ?? ""));
  const rows = incidents.map((i) => [i.id, i.state, i.kind, i.severity, i.opened, i.resolved, i.root?.entity, i.root?.domain, i.root?.signature, i.root?.confidence, (i.impact?.jobs ?? []).map((j) => j.job).join(" "), lossOf(i), i.title]);
  return [["id", "state", "kind", "severity", "opened", "resolved", "root", "domain", "signature", "confidence", "jobs", "gpu_seconds_lost", "title"], ...rows].map((r) => r.map(cell).join(",")).join("\r\n");
}

/** Incidents is the view of all of them. */
export class Incidents {
  constructor(store) {
    this.store = store;
    this.headline = h("h1", { tabindex: "-1" });
    this.search = h("input", { type: "search", "aria-label": "Search incidents", placeholder: "sentence, entity, signature", oninput: () => this.chosen() });
    this.selects = Object.fromEntries(facets.map(([name, label]) => [name, h("select", { "aria-label": label, onchange: () => this.chosen() })]));
    this.export = ["csv", "json"].map((kind) => h("button", { type: "button", class: "plain", onclick: () => this.save(kind) }, kind.toUpperCase()));
    this.time = spanSelect((last) => this.spanned({ last }), "all that is kept");
    this.strip = new Strip((from, to) => this.spanned({ from, to }));
    this.places = new Map();
    this.list = h("ol", { class: "rows long" });
    this.none = h("p", { class: "quiet" });
    this.more = h("button", { type: "button", class: "more", onclick: () => { this.everything = true; this.update(); } });
    this.el = h("article", { class: "incidents" }, h("header", { class: "head" }, this.headline),
      this.strip.el,
      h("div", { class: "facets" }, this.search, h("label", {}, h("span", { class: "quiet" }, "Time"), " ", this.time), facets.map(([name, label]) => h("label", {}, h("span", { class: "quiet" }, label), " ", this.selects[name])), h("span", {}, h("span", { class: "quiet" }, "Export "), this.export)),
      this.list, this.none, this.more);
    this.located();
  }

  get title() { return "Incidents"; }

  close() { this.closed = true; }

  // locate asks once for the racks of nodes and switches.
  async locate() {
    const lists = await Promise.allSettled(["node", "switch"].map((kind) => plant.list(kind, { now: this.store.tick })));
    for (const e of lists.flatMap((l) => l.value?.entities ?? [])) if (e.in) this.places.set(e.id, e.in);
    if (!this.closed) this.store.changed();
  }

  /** located reads what the address chooses. */
  located() {
    const q = new URLSearchParams(location.search);
    this.search.value = q.get("q") ?? "";
    this.values = Object.fromEntries(facets.map(([name]) => [name, q.get(name) ?? ""]));
    this.store.changed();
  }

  // chosen keeps what is chosen in the address.
  chosen() {
    for (const [name] of facets) this.values[name] = this.selects[name].value;
    const q = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries({ q: this.search.value.trim(), ...this.values })) if (value) q.set(name, value); else q.delete(name);
    history.replaceState(history.state, "", `${location.pathname}${q.size ? `?${q}` : ""}`);
    this.update();
  }

  spanned(span) {
    history.replaceState(history.state, "", location.pathname + withSpan(location.search, span));
    this.update();
  }

  save(kind) {
    const body = kind === "csv" ? csvOf(this.found) : JSON.stringify({ incidents: this.found }, null, 1);
    const url = URL.createObjectURL(new Blob([body], { type: kind === "csv" ? "text/csv" : "application/json" }));
    const a = h("a", { href: url, download: `incidents.${kind}` });
    a.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  /** update brings the view up to what the store knows. */
  update() {
    const { store } = this, all = [...store.incidents.values()], span = spanOf(location.search, store.tick);
    if (!this.asked && Number.isFinite(store.tick)) { this.asked = true; this.locate(); }
    const then = all.filter((i) => lasting(i, span));
    for (const [name, label, of] of facets) this.fill(name, label, then.flatMap((i) => of(i, this.places)));
    this.found = chosenOf(then, this.search.value, this.values, this.places);
    this.time.value = span.last || (span.live ? "" : "own");
    this.strip.draw(chosenOf(all, this.search.value, this.values, this.places), span, store.tick);
    text(this.headline, this.found.length === all.length ? counted(all) : `${this.found.length} of ${counted(all)}`);
    incidentList(this.list, this.everything ? this.found : this.found.slice(0, shownAtFirst), this.store.tick);
    nothing(this.none, this.found.length === 0 ? "None." : "");
    show(this.more, !this.everything && this.found.length > shownAtFirst);
    text(this.more, `Show all ${this.found.length}`);
  }

  // fill lists the values of a facet with how many incidents have each.
  fill(name, label, values) {
    const counts = new Map();
    for (const v of values) counts.set(v, (counts.get(v) ?? 0) + 1);
    if (this.values[name] && !counts.has(this.values[name])) counts.set(this.values[name], 0);
    const options = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 100), select = this.selects[name];
    if (!changed(select, "options", [options, this.values[name]])) return;
    replace(select, h("option", { value: "" }, "any"), options.map(([v, n]) => h("option", { value: v }, `${v} (${n})`)));
    select.value = this.values[name];
    attr(select, "data-chosen", this.values[name] ? "" : null);
  }
}
