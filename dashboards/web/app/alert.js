// One group of alerts of a rule: what the rule says of whom, its expression over
// the last hour, and the incident that says it already.

import { h, text, show, replace, changed, copyButton } from "./dom.js";
import { day, duration, instant, number, plural, NONE } from "./format.js";
import { sign, tone } from "./words.js";
import { timeOf, onsetOf, domainTag, entityLink, lastedFor, addressOf, section, sentenceOf } from "./parts.js";
import { linkToSilence } from "./silenceform.js";
import { history, grid, isAborted, quoted } from "./promql.js";
import { Past, lastHour } from "./past.js";
import { thresholdOf, measureOf, exploreAddress } from "./query.js";
import { Feed } from "./alerts.js";

const every = 15000; // ms of the log between two questions to the history
const fewCurves = 8;
const plain = ["alertname", "severity", "domain"]; // labels that are shown elsewhere

/** Alert shows the group of an id, and stays current. */
export class Alert {
  constructor(store, { id }) {
    Object.assign(this, { store, id, askedAt: NaN, now: new Map() });
    this.control = new AbortController();
    this.state = h("p", { class: "state" });
    this.headline = h("h1", { tabindex: "-1" });
    this.duration = h("b", {});
    this.fate = h("p", { class: "fate" });
    this.rows = h("div", { class: "alerttable" });
    this.more = h("p", { class: "quiet" });
    this.rule = h("div", {});
    this.todo = h("p", {});
    this.curves = new Past();
    this.missing = h("p", { class: "missing" });
    this.content = h("div", { hidden: true }, h("header", { class: "head" }, this.state, this.headline, this.fate),
      section("what", "Description", this.rows, this.more), section("todo", "What to do", this.todo), section("expr", "The rule", this.rule), section("exprpast", "Its expression over the last hour", this.curves.el));
    this.el = h("article", { class: "onealert" }, h("p", { class: "back" }, h("a", { href: "/alerts", "data-go": true }, "← Alerts")), this.missing, this.content);
    this.feed = new Feed(store, `/api/v1/alerts/${encodeURIComponent(id)}`); // the page's title is set from it
  }

  get title() { return this.alert?.title ?? this.id; }

  get sources() { return [this.feed]; }

  get alert() { return this.feed.answer?.alert; }

  close() {
    this.feed.close();
    this.curves.close();
    this.control.abort();
  }

  /** update brings the view up to what is known. */
  update() {
    const { alert: a, store: { tick: now } } = this;
    show(this.content, Boolean(a));
    show(this.missing, !a);
    text(this.missing, a ? "" : `No alert ${this.id} is known here. It may be older than what is kept.`);
    if (!a) return;
    const note = this.feed.answer.note ?? {};
    if (changed(this.state, "facts", [a.revision, a.state, a.severity, day(now)])) replace(this.state, this.facts(a, now));
    text(this.headline, a.title);
    const by = this.store.incidents.get(note.incident);
    if (changed(this.fate, "fate", [note, by?.title])) replace(this.fate, this.fateOf(note, by));
    if (changed(this.rows, "rows", [a.revision, [...this.now]])) this.drawRows(a);
    if (changed(this.rule, "rule", a.revision)) this.drawRule(a);
    text(this.duration, duration(lastedFor(a, now)));
    this.ask(a);
  }

  facts(a, now) {
    const name = a.state === "open" ? a.severity : "resolved", fact = (...parts) => h("span", { class: "fact" }, ...parts);
    return [
      h("span", { class: `badge ${tone(name)}` }, sign(name), a.state === "open" ? a.severity : `ended${a.resolution && a.resolution !== "ceased" ? `: ${a.resolution}` : ""}`),
      a.state !== "open" && fact(`was ${a.severity}`),
      fact("since ", onsetOf(a.onset, now)), fact(a.state === "open" ? "for " : "lasted ", this.duration),
      a.resolved && fact("until ", timeOf(instant(a.resolved), now)),
      fact("at ", entityLink(a.root.entity)), fact(h("b", {}, a.root.signature), " ", domainTag(a.root.domain)), fact(`revision ${a.revision}`)];
  }

  fateOf(note, by) {
    const silenced = (note.silenced_by ?? []).length > 0;
    return [note.incident && ["Part of an open incident: ", h("a", { href: addressOf(note.incident), "data-go": true, "data-row": true }, by ? sentenceOf(by, this.store.tick) : note.incident), ` (${note.why}). Receivers of that incident get no message for this alert. `],
      silenced && [`Silenced by ${note.silenced_by.join(", ")}. `],
      this.alert.state === "open" && !silenced && h("a", { href: linkToSilence(this.alert), "data-go": true }, "Silence …")];
  }

  drawRows(a) {
    const rows = a.alerts ?? [], several = rows.length > 1;
    replace(this.rows, rows.map((one) => {
      const labels = Object.entries(one.labels ?? {}).filter(([n]) => !plain.includes(n)).sort(), now = this.now.get(keyOf(one.labels));
      return h("div", { class: "onerow" },
        several && h("p", { class: "summary" }, one.annotations?.summary ?? ""), one.annotations?.description && h("p", {}, one.annotations.description),
        h("p", { class: "facts" }, h("span", { class: "fact" }, "since ", timeOf(instant(one.starts_at), this.store.tick)),
          typeof one.value === "number" && h("span", { class: "fact" }, "value then ", h("b", {}, number(one.value))),
          a.state === "open" && this.now.size > 0 && h("span", { class: "fact" }, "now ", h("b", {}, now === undefined ? NONE : number(now)))),
        h("p", { class: "labels" }, labels.map(([n, v]) => h("code", {}, `${n}=${v}`))));
    }));
    const rest = (a.alert_count ?? rows.length) - rows.length;
    text(this.more, rest > 0 ? `and ${plural(rest, "other")}` : "");
  }

  drawRule(a) {
    const one = a.alerts?.[0];
    replace(this.rule, one?.expr ? [h("pre", { class: "expr", tabindex: "0", "aria-label": "PromQL" }, one.expr), h("p", { class: "sharing" }, "PromQL ", copyButton("the PromQL", () => one.expr), h("a", { href: exploreAddress(thresholdOf(one.expr)?.expr ?? one.expr), "data-go": true }, "explore"))] : h("p", { class: "quiet" }, "No alert with this id."));
    replace(this.todo, todoOf(one?.annotations));
    show(this.todo.parentElement, this.todo.hasChildNodes());
    show(this.curves.el.parentElement, Boolean(one?.expr));
  }

  // ask asks the history for the rule's expression, as far as it is of these alerts:
  // where it compares, what is compared and with what, so that the curve goes on
  // where the rule is quiet.
  async ask(a) {
    const expr = a.alerts?.[0]?.expr, live = a.state === "open", at = grid(live ? this.store.tick : instant(a.resolved), 15000);
    if (!expr || this.asking || !Number.isFinite(at) || !(at - this.askedAt >= every || Number.isNaN(this.askedAt))) return;
    this.asking = true;
    this.askedAt = at;
    const hour = lastHour(at), split = thresholdOf(expr), range = (query) => history.range(query, hour, this.control.signal);
    const mine = (r) => (a.alerts ?? []).find((one) => within(r.labels, one.labels));
    try {
      const [fires, compared, limits] = await Promise.all([range(expr), split ? range(near(split.expr, a)).catch(failedOnly) : [], split && Number.isNaN(split.value) ? range(split.limit).catch(failedOnly) : []]);
      const own = fires.filter(mine), drawn = compared.filter(mine), shown = (drawn.length ? drawn : own).slice(0, fewCurves);
      this.now = new Map(own.filter((r) => at - r.t.at(-1) <= 60e3).map((r) => [keyOf(mine(r).labels), r.v.at(-1)]));
      const measure = measureOf(split?.expr ?? expr);
      this.curves.show(shown.map((r) => ({ ...measure, name: measure.metric, entity: entityIn(r.labels, a.root.entity), metric: wordsOf(r.labels) || a.root.signature, title: wordsOf(r.labels) || split?.expr || a.root.signature, query: expr, role: "root", t: r.t, v: r.v })), { ...hour, live });
      if (drawn.length) this.drawLimit(shown, split, limits);
    } catch (error) {
      if (!isAborted(error)) this.curves.fail(error);
    }
    this.asking = false;
    if (!this.control.signal.aborted) this.update();
  }

  // drawLimit draws where the rule begins to fire: a number, or a curve of its own.
  drawLimit(shown, { op, value, limit }, limits) {
    for (const [i, x] of [...this.curves.series.values()].entries()) {
      const own = Number.isNaN(value) ? limits.find((r) => within(r.labels, shown[i].labels)) : { value };
      if (own) x.beside("limit", own);
    }
    this.curves.draw();
    text(this.curves.note, `Dashed: the rule fires at values ${op} ${Number.isNaN(value) ? limit : number(value)}.`);
  }
}

// todoOf is what the annotations of an alert say to do: the rule's runbook, with
// `code` as in Markdown, or else the address that a rule of the site's own names.
function todoOf({ runbook, runbook_url: book } = {}) {
  if (runbook) return runbook.split("`").map((part, i) => i % 2 ? h("code", {}, part) : part);
  return /^https?:/.test(book ?? "") ? [h("a", { href: book, rel: "noreferrer" }, book)] : [];
}

// near is an expression as far as alerts of a rule fired in the last hour: of 16,384
// GPUs those are few. Alerts without an entity are of few series anyway.
function near(expr, a) {
  return a.alerts?.every((one) => one.labels?.kind && one.labels?.name) ? `(${expr}) and on (kind, name) max_over_time(ALERTS{alertname=${quoted(a.alerts[0].labels.alertname ?? "")}}[1h])` : expr;
}

// failedOnly: the alert's own expression is drawn without what it is compared with.
function failedOnly(error) { if (isAborted(error)) throw error; return []; }

// within reports whether an alert has all labels of a series, but for its name.
function within(series, labels) { return Object.entries(series).every(([n, v]) => n === "__name__" || labels?.[n] === v); }

function keyOf(labels) { return JSON.stringify(Object.entries(labels ?? {}).sort()); }

// wordsOf distinguishes series that no entity distinguishes.
function wordsOf(labels) { return labels.kind && labels.name ? "" : Object.entries(labels).filter(([n]) => n !== "__name__").map(([n, v]) => `${n} ${v}`).join(", "); }

function entityIn(labels, otherwise) { return labels.kind && labels.name ? `${labels.kind}:${labels.name}` : otherwise; }
