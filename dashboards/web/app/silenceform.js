// The form of a silence: matchers, for how long or in which windows, why and by
// whom; beneath it, what it would hold back.

import { h, text, attr, show, replace } from "./dom.js";
import { plural } from "./format.js";
import { sign } from "./words.js";
import { addressOf } from "./parts.js";
import { post } from "./store.js";

const names = ["root", "job", "within", "entity", "signature", "domain", "severity", "kind", "team", "site"];
const ops = [["=", "is"], ["!=", "is not"], ["=~", "matches"], ["!~", "does not match"]];
const lengths = [[1, "1 h"], [4, "4 h"], [24, "1 day"], [168, "7 days"]];
const week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const rest = 400; // ms without a key before the preview is asked for
const remembered = "quintet-name";

/** linkToSilence is the address of a form that is filled in for an incident. */
export function linkToSilence(incident) {
  const q = new URLSearchParams();
  if (incident.root?.entity) q.set("root", incident.root.entity);
  if (incident.root?.signature) q.set("signature", incident.root.signature);
  q.set("comment", `${incident.id}: `);
  return `/silences?${q}`;
}

/** SilenceForm asks for what a silence needs. done(silence) is called with one that was created. */
export class SilenceForm {
  constructor(store, { from, done }) {
    Object.assign(this, { store, done });
    this.rows = h("div", { class: "matcherrows" });
    this.hours = 4;
    this.build();
    this.fill(from);
  }

  build() {
    const changedNow = () => this.soon();
    this.more = h("button", { type: "button", onclick: () => { this.add({ name: "job", op: "=", value: "" }).focus(); } }, "Add a matcher");
    this.spans = lengths.map(([hours, words]) => h("button", { type: "button", "aria-pressed": String(hours === this.hours), "data-hours": hours, onclick: () => this.last(hours) }, words));
    this.start = h("input", { type: "datetime-local", "aria-label": "Not before", oninput: changedNow });
    this.recurs = h("input", { type: "checkbox", id: "recurs", onchange: () => { show(this.windows, this.recurs.checked); this.soon(); } });
    this.days = week.map((d) => h("label", {}, h("input", { type: "checkbox", value: d, onchange: changedNow }), d));
    this.at = h("input", { type: "time", value: "02:00", "aria-label": "Window begins at", oninput: changedNow });
    this.minutes = h("input", { type: "number", min: 1, max: 10080, value: 120, "aria-label": "Minutes that the window lasts", oninput: changedNow });
    this.zone = h("input", { type: "text", value: Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC", "aria-label": "Time zone of the window", oninput: changedNow });
    this.windows = h("div", { class: "windows", hidden: true }, h("div", { class: "days", role: "group", "aria-label": "Days of the window" }, this.days), h("div", {}, "at ", this.at, " for ", this.minutes, " min, ", this.zone));
    this.comment = h("input", { type: "text", required: true, maxlength: 500, id: "silencewhy" });
    this.by = h("input", { type: "text", required: true, maxlength: 100, id: "silenceby", autocomplete: "username" });
    this.create = h("button", { type: "submit", class: "primary" }, "Silence");
    this.complaint = h("p", { class: "complaint", role: "alert" });
    this.preview = h("div", { class: "preview", role: "status" });
    try { this.by.value = localStorage.getItem(remembered) ?? ""; } catch { /* storage refused: it is asked for each time */ }
    const line = (label, ...what) => h("div", { class: "line" }, h("span", { class: "quiet" }, label), h("div", { class: "buttons" }, what));
    this.el = h("form", { class: "silenceform", onsubmit: (e) => { e.preventDefault(); this.submit(); } },
      h("fieldset", {}, h("legend", { class: "quiet" }, "Incidents for which all of this holds"), this.rows, this.more),
      line("for", this.spans), line("not before", this.start, h("span", { class: "quiet" }, "now, where it is empty")),
      h("div", { class: "line" }, h("span", {}), h("label", {}, this.recurs, " only in windows that recur by the week (maintenance)")), this.windows,
      h("div", { class: "line" }, h("label", { class: "quiet", for: "silencewhy" }, "why"), this.comment),
      h("div", { class: "line" }, h("label", { class: "quiet", for: "silenceby" }, "by"), this.by),
      this.preview, h("div", { class: "buttons" }, this.create), this.complaint);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  update() { if (!this.asked && Number.isFinite(this.store.tick)) this.soon(); }

  /** fill takes what an address says. */
  fill(q) {
    replace(this.rows);
    for (const name of names) if (q.get(name)) this.add({ name, op: "=", value: q.get(name) });
    if (this.rows.childElementCount === 0) this.add({ name: "root", op: "=", value: "" });
    this.comment.value = q.get("comment") ?? "";
    this.soon();
  }

  /** again takes what an expired silence said. */
  again(x) {
    replace(this.rows);
    for (const m of x.matchers) this.add(m);
    this.comment.value = x.comment;
    this.soon();
    this.rows.querySelector("input")?.focus();
  }

  add(m) {
    const choose = (label, list, value) => h("select", { "aria-label": label, onchange: () => this.soon() }, list.map((o) => {
      const [v, words] = Array.isArray(o) ? o : [o, o];
      return h("option", { value: v, selected: v === value }, words);
    }));
    const value = h("input", { type: "text", value: m.value, "aria-label": "Value", placeholder: "gpu:n012/3, or with *", oninput: () => this.soon() });
    const row = h("div", { class: "matcherrow" }, choose("What is compared", names, m.name), choose("How", ops, m.op ?? "="), value,
      h("button", { type: "button", class: "plain", "aria-label": "Remove this matcher", onclick: () => { row.remove(); this.soon(); } }, "×"));
    this.rows.append(row);
    return value;
  }

  last(hours) {
    this.hours = hours;
    for (const b of this.spans) attr(b, "aria-pressed", String(Number(b.dataset.hours) === hours));
    this.soon();
  }

  body() {
    const matchers = [...this.rows.children].map((row) => {
      const [name, op, value] = row.querySelectorAll("select, input");
      return { name: name.value, op: op.value, value: value.value.trim() };
    }).filter((m) => m.value !== "");
    const start = this.start.value ? new Date(this.start.value).getTime() : NaN;
    const out = { matchers, created_by: this.by.value.trim() || "somebody", comment: this.comment.value.trim() || "-" };
    if (Number.isFinite(start)) out.start = new Date(start).toISOString();
    if (Number.isFinite(this.store.tick)) out.end = new Date(Math.max(this.store.tick, Number.isFinite(start) ? start : 0) + this.hours * 3600e3).toISOString();
    if (this.recurs.checked) out.windows = [{ days: this.days.map((l) => l.firstChild).filter((b) => b.checked).map((b) => b.value), at: this.at.value, minutes: Number(this.minutes.value), zone: this.zone.value.trim() }];
    return out;
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), rest);
  }

  // look asks what it would hold back.
  async look() {
    if (this.closed) return;
    const body = this.body(), turn = (this.turn = (this.turn ?? 0) + 1);
    if (!Number.isFinite(this.store.tick)) return;
    this.asked = true;
    if (body.matchers.length === 0) { replace(this.preview, h("p", { class: "quiet" }, "Say what it is to hold back.")); return; }
    try {
      const seen = await post("/api/v1/silences/preview", body);
      if (turn === this.turn && !this.closed) replace(this.preview, previewOf(seen));
    } catch (error) {
      if (turn === this.turn && !this.closed) replace(this.preview, h("p", { class: "complaint" }, error.message));
    }
  }

  async submit() {
    text(this.complaint, "");
    const body = this.body();
    if (body.matchers.length === 0) { text(this.complaint, "Say what it is to hold back: at least one matcher."); return; }
    try { localStorage.setItem(remembered, this.by.value.trim()); } catch { /* it is asked for again */ }
    try {
      const one = await post("/api/v1/silences", body);
      this.comment.value = "";
      this.done(one);
    } catch (error) {
      text(this.complaint, `Not silenced: ${error.message}`);
    }
  }
}

function previewOf(seen) {
  const row = (i) => h("li", {}, sign(i.state === "open" ? i.severity : "resolved"), h("a", { href: addressOf(i.id), "data-go": true }, i.title), i.in_window === false && h("span", { class: "quiet" }, " (outside the windows)"));
  const open = seen.open ?? [], recent = seen.recent ?? [];
  return [
    h("p", {}, h("b", {}, open.length ? `It would hold back ${plural(open.length, "open incident")}` : "It would hold back no open incident"), seen.active === false && open.length ? ", once it is in force" : "", `; ${seen.matched ?? open.length + recent.length} of ${seen.of ?? "all"} of the last seven days.`),
    open.length + recent.length > 0 && h("ul", {}, open.slice(0, 10).map(row), recent.slice(0, 5).map(row)),
  ];
}
