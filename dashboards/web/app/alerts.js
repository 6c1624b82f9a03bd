// What our own rules alert of: a list of it, the list's view, and who asks for it.

import { h, text, attr, show, replace, changed, keyed } from "./dom.js";
import { day, duration, interval, instant, number, plural, NBSP } from "./format.js";
import { sign, domainSign, domainClass } from "./words.js";
import { setTime, section, rootOf, lastedFor } from "./parts.js";
import { get } from "./store.js";

const every = 10000; // ms by the stopwatch: rules are evaluated every 15 s
const soon = 1000; // ms, while an alert that began a short time ago belongs to no incident: it may open any moment
const youngFor = 60000; // ms of the log
const fewEnded = 50, most = 300; // groups: what is open first

/** addressOfAlert is the page's address of a group of alerts. */
export function addressOfAlert(id) { return `/alerts/${encodeURIComponent(id)}`; }

/** Feed asks for what fires, every few seconds until it is closed. The store is said to have changed when there is an answer. */
export class Feed {
  constructor(store, path) {
    Object.assign(this, { store, path });
    this.answer = null;
    this.failure = ""; // why there is none
    this.status = 0;
    this.ask();
  }

  /** loaded reports whether the API answered, be it that there is no such thing. */
  get loaded() { return Boolean(this.answer) || this.status === 404; }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  // awaits reports whether an incident may soon include an alert that is in none.
  awaits() { return lone(this.answer ?? {}).some((a) => this.store.tick - instant(a.opened) < youngFor); }

  async ask() {
    if (!document.hidden || !this.answer) {
      try {
        this.answer = await get(this.path);
        Object.assign(this, { failure: "", status: 0 });
      } catch (error) {
        Object.assign(this, { failure: error.message, status: error.status ?? 0 });
      }
    }
    if (this.closed) return;
    this.timer = setTimeout(() => this.ask(), this.awaits() ? soon : every);
    this.store.changed();
  }
}

// lone are the alerts of an answer that fire and that no open incident includes.
function lone({ alert, note, alerts = alert ? [alert] : [], notes = {} }) {
  return alerts.filter((a) => a.state === "open" && a.severity !== "info" && !(notes[a.id] ?? note)?.incident);
}

const severities = ["critical", "warning", "info"];

/** firing puts what fires in order: what no incident says first, then by severity, the last to begin first. */
export function firing(answer) {
  const said = (a) => (answer.notes?.[a.id]?.incident ? 1 : 0);
  return (answer.alerts ?? []).filter((a) => a.state === "open").sort((a, b) => said(a) - said(b) || severities.indexOf(a.severity) - severities.indexOf(b.severity) || instant(b.opened) - instant(a.opened));
}

/** alertList brings list's children up to groups of alerts, a line each. */
export function alertList(list, alerts, notes, now) {
  keyed(list, alerts, { key: (a) => a.id, create: alertRow, update: (row, a) => updateAlert(row, a, notes?.[a.id], now) });
}

function alertRow(a) {
  const part = (cls, ...more) => h("span", { class: cls }, ...more);
  return h("li", {}, h("a", { class: "row incident-row alert-row", href: addressOfAlert(a.id), "data-go": true, "data-row": true },
    part("mark"), part("sentence"), part("since", h("span", { class: "unseen" }, "since "), h("time", {}), h("span", { class: "for" })), part("loss"), part("root")));
}

function updateAlert(li, a, note, now) {
  const row = li.firstChild, part = (cls) => row.querySelector(`:scope > .${cls}`);
  const name = a.state === "open" ? a.severity : "resolved", domain = a.root?.domain;
  if (changed(row, "words", [a.revision, a.state, note, day(now)])) {
    replace(part("mark"), sign(name), h("span", { class: "unseen" }, `${name}: `));
    attr(row, "data-state", a.state);
    attr(row, "data-said", note?.incident ? "" : null);
    replace(part("sentence"), h("strong", {}, a.title), note?.incident ? h("span", { class: "cause" }, " part of an incident") : note?.silenced_by?.length ? h("span", { class: "cause" }, " silenced") : null);
    text(part("loss"), valueOf(a));
    replace(part("root"), h("span", { class: `at ${domainClass(domain)}`, title: a.root?.entity }, domainSign(domain), rootOf(a)), h("span", { class: "signature" }, a.root?.signature ?? ""));
  }
  setTime(part("since").querySelector("time"), interval(a.onset).middle, now);
  text(part("since").lastChild, `${a.state === "open" ? "for" : "lasted"} ${duration(lastedFor(a, now))}`);
}

// valueOf is what the rule came to; of several alerts, how many they are.
function valueOf(a) {
  const count = a.alert_count ?? a.alerts?.length ?? 0, v = a.alerts?.[0]?.value;
  if (count > 1) return plural(count, "alert");
  return typeof v === "number" ? `value${NBSP}${number(v)}` : "";
}

/** AlertsBox is what the overview shows of it: what fires, but for what is only information. */
export class AlertsBox {
  constructor(store) {
    this.list = h("ol", { class: "rows" });
    this.quiet = h("p", { class: "all" });
    this.el = section("alerts", "Alerts of rules", this.list, this.quiet);
    this.el.hidden = true;
    this.feed = new Feed(store, "/api/v1/alerts?state=open");
  }

  close() { this.feed.close(); }

  update(now) {
    const { answer } = this.feed;
    const open = answer ? firing(answer).filter((a) => a.severity !== "info") : [];
    const own = open.filter((a) => !answer.notes?.[a.id]?.incident), said = open.length - own.length;
    show(this.el, open.length > 0);
    alertList(this.list, own.slice(0, 8), answer?.notes, now);
    const words = [own.length > 8 && `${own.length - 8} more`, said > 0 && `${plural(said, own.length ? "other" : "alert")} that open incidents include`].filter(Boolean).join(", ");
    if (changed(this.quiet, "words", words)) replace(this.quiet, words && h("span", { class: "quiet" }, `${words}. `), h("a", { href: "/alerts", "data-go": true }, "All alerts →"));
  }
}

/** Alerts is the view of all of them. */
export class Alerts {
  constructor(store) {
    this.store = store;
    this.headline = h("h1", { tabindex: "-1" }, "Alerts");
    this.summary = h("p", { class: "fleet" });
    this.trouble = h("p", { class: "complaint", role: "alert" });
    this.open = h("ol", { class: "rows long" });
    this.said = h("ol", { class: "rows long" });
    this.ended = h("ol", { class: "rows long" });
    this.none = h("p", { class: "quiet" });
    this.sections = { open: section("firing", "Firing", this.open, this.none), said: section("said", "Firing, part of an open incident", this.said), ended: section("ended", "Ended", this.ended) };
    this.el = h("article", { class: "alerting" }, h("header", { class: "head" }, this.headline, this.summary, this.trouble), Object.values(this.sections));
    this.feed = new Feed(store, `/api/v1/alerts?limit=${most}`);
  }

  get title() { return "Alerts"; }

  get sources() { return [this.feed]; }

  close() { this.feed.close(); }

  /** update brings the view up to what is known. */
  update() {
    const { store, feed: { answer, failure } } = this, now = store.tick;
    text(this.trouble, failure && `Alerts are not available: ${failure}`);
    for (const box of Object.values(this.sections)) show(box, Boolean(answer));
    if (!answer) return;
    const all = firing(answer), said = all.filter((a) => answer.notes?.[a.id]?.incident), own = all.filter((a) => !said.includes(a));
    const ended = (answer.alerts ?? []).filter((a) => a.state !== "open").sort((a, b) => instant(b.resolved ?? b.updated) - instant(a.resolved ?? a.updated));
    const grave = own.filter((a) => a.severity !== "info").length;
    const fire = (n) => `${plural(n, "alert")} ${n === 1 ? "fires" : "fire"}`;
    text(this.headline, grave ? fire(grave) : said.length ? `${fire(said.length)}, part of open incidents` : "No alert fires");
    text(this.summary, [grave > 0 && said.length > 0 && `${said.length} more ${said.length === 1 ? "is" : "are"} part of open incidents`, "alerts report a value out of bounds; incidents report the cause"].concat(answer.truncated && `no more than ${most} are listed here`).filter(Boolean).join(" · "));
    alertList(this.open, own, answer.notes, now);
    alertList(this.said, said, answer.notes, now);
    alertList(this.ended, ended.slice(0, fewEnded), answer.notes, now);
    show(this.none, own.length === 0);
    text(this.none, "None.");
    show(this.sections.said, said.length > 0);
    show(this.sections.ended, ended.length > 0);
  }
}
