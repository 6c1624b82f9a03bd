// A recording that is played: the bar to steer it with, above every view, and
// the view that shows what is in it. All times are the recording's.

import { h, s, text, attr, show, replace, changed, keyed } from "./dom.js";
import { clock, duration, instant, universal } from "./format.js";
import { addressOf, entityOf } from "./parts.js";
import { sign, tone } from "./words.js";
import { get, post } from "./store.js";

const poll = { quiet: 2000, busy: 300 }; // ms between two looks
const speeds = [[0.5, "½×"], [1, "1×"], [2, "2×"], [5, "5×"], [10, "10×"], [30, "30×"], [100, "100×"], [0, "max"]];
const before = 20; // s before an incident, where it is gone to: what led to it is seen
const shapes = {
  play: "M4 2l10 6-10 6Z", pause: "M3 2h3.6v12H3ZM9.4 2H13v12H9.4Z", again: "M8 2.5A5.5 5.5 0 1 1 2.9 6l1.5.6A3.9 3.9 0 1 0 8 4.1v2.4L4.2 3.3 8 0Z",
  back: "M2 2h2.4v12H2ZM14 2v12L5.4 8Z", on: "M11.6 2H14v12h-2.4ZM2 2l8.6 6L2 14Z",
};
const drawn = (name) => s("svg", { class: "hand", viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: shapes[name] }));
const stepOf = { plain: 10, far: 60 }; // s by which a key moves

/** Replay is what is known of the recording, and what can be asked of it. */
export class Replay extends EventTarget {
  constructor(store) {
    super();
    this.store = store;
    this.state = null; // as /api/v1/replay says it
    this.trouble = ""; // why it cannot be asked
    store.addEventListener("change", () => this.look());
  }

  /** on reports whether a recording is played. */
  get on() { return this.store.status?.replay === true; }
  get from() { return instant(this.state?.from); }
  get to() { return instant(this.state?.to); }
  get seeking() { return instant(this.state?.seeking); }
  get standing() { return Boolean(this.state) && (this.state.paused || this.state.ended) && !this.state.seeking; }

  /** at is where the recording stands: what the page shows, or what is played to. */
  get at() {
    const at = [this.seeking, this.store.tick, instant(this.state?.at), this.from].find((v) => Number.isFinite(v));
    return Math.min(Math.max(at, this.from), this.to);
  }

  // look asks again and again, once there is something to ask.
  look() {
    if (!this.on || this.asking) return;
    this.asking = true;
    this.ask();
  }

  async ask() {
    clearTimeout(this.next);
    try {
      this.take(await get("/api/v1/replay"));
    } catch (error) {
      this.fail(error);
    }
    this.again();
  }

  again() {
    clearTimeout(this.next);
    const busy = this.failures || this.state?.seeking || !this.state?.marks;
    this.next = setTimeout(() => (document.hidden ? this.again() : this.ask()), busy ? poll.busy : poll.quiet);
  }

  // Once is nothing: between two logs a connection may be cut.
  fail(error) {
    if ((this.failures = (this.failures ?? 0) + 1) < 4) return;
    this.trouble = error.message;
    this.dispatchEvent(new Event("change"));
  }

  // take believes a state; answered says that it is the answer to an order.
  take(state, answered = false) {
    const other = this.state && state.session !== this.state.session;
    this.state = state;
    this.trouble = "";
    this.failures = 0;
    const back = state.seeking && !state.at; // another log is about to begin
    if (other || answered && this.store.held && !back) this.store.begin(); // what was known is of later
    else if (back && Number.isFinite(this.store.tick) && !this.store.held) this.store.hold();
    this.dispatchEvent(new Event("change"));
  }

  /** order asks for paused, speed or seek. */
  async order(what, tries = 2) {
    if (instant(what.seek) < this.store.tick && !this.store.held) this.store.hold();
    try {
      this.take(await post("/api/v1/replay", what), true);
    } catch (error) {
      if (!error.status && tries > 1) return void setTimeout(() => this.order(what, tries - 1), poll.busy);
      this.fail(error);
      if (this.store.held) this.store.begin();
    }
    this.again();
  }

  toggle() {
    if (this.state?.ended) return this.order({ seek: new Date(this.from).toISOString(), paused: false });
    return this.order({ paused: !this.state?.paused });
  }

  /** seek goes to an instant, as far as there is one. */
  seek(ms) {
    const to = Math.min(Math.max(Math.round(ms), this.from), this.to);
    if (Number.isFinite(to)) this.order({ seek: new Date(to).toISOString() });
  }

  /** move goes on or back by so many seconds. */
  move(by) { this.seek(this.at + 1000 * by); }

  /** mark goes to the next incident's beginning, or the one before. */
  mark(by) {
    const marks = (this.state?.marks ?? []).map((m) => instant(m.opened) - 1000 * before);
    const to = by > 0 ? marks.find((m) => m > this.at + 500) : marks.findLast((m) => m < this.at - 3000);
    if (to !== undefined) this.seek(to);
    else if (by < 0) this.seek(this.from);
  }

  /** key takes a key that nothing else has taken, and reports whether it meant something. */
  key(event) {
    if (!this.on || !this.state) return false;
    const far = event.shiftKey ? stepOf.far : stepOf.plain;
    const does = { " ": () => this.toggle(), ArrowLeft: () => this.move(-far), ArrowRight: () => this.move(far), "[": () => this.mark(-1), "]": () => this.mark(1) }[event.key];
    if (!does || event.key === " " && event.target.closest?.("button, a, summary, select")) return false;
    does();
    return true;
  }

  /** words say what time does, where it does not simply pass. */
  get words() {
    if (!this.on || !this.state) return "";
    if (this.seeking) return `playing to ${clock(this.seeking)}`;
    if (this.state.ended) return "the recording ends at";
    return this.state.paused ? "paused at" : "";
  }
}

/** ReplayBar is the line with which it is steered. */
export class ReplayBar {
  constructor(of) {
    this.of = of;
    this.play = h("button", { type: "button", class: "play", onclick: () => of.toggle() });
    this.speed = h("select", { "aria-label": "Speed", onchange: () => of.order({ speed: Number(this.speed.value) }) }, speeds.map(([v, words]) => h("option", { value: v }, words)));
    this.range = h("input", { type: "range", step: 1000, "aria-label": "Position in the recording",
      oninput: () => { this.dragging = Number(this.range.value); this.update(); },
      onchange: () => { of.seek(Number(this.range.value)); this.dragging = null; },
      onkeydown: (e) => { if (of.key(e)) e.preventDefault(); } });
    this.marks = s("svg", { class: "marks", "aria-hidden": "true" });
    this.here = h("output", { class: "here" });
    this.dragging = null;
    const side = (by) => h("button", { type: "button", class: "plain", "aria-label": by < 0 ? "To the incident before" : "To the next incident", title: by < 0 ? "To the incident before  [" : "To the next incident  ]", onclick: () => of.mark(by) }, drawn(by < 0 ? "back" : "on"));
    this.name = h("a", { class: "recording", href: "/replay", "data-go": true });
    this.el = h("div", { class: "replaybar", role: "group", "aria-label": "Replay", hidden: true }, this.name,
      h("span", { class: "hands" }, side(-1), this.play, side(1)), this.speed, h("div", { class: "track" }, this.marks, this.range), this.here);
    of.addEventListener("change", () => this.update());
  }

  update() {
    const of = this.of, state = of.state;
    show(this.el, of.on && Boolean(state));
    if (!of.on || !state) return;
    text(this.name, state.recording);
    attr(this.name, "aria-label", `Replay of ${state.recording}`);
    const going = !state.paused && !state.ended;
    const shape = state.ended ? "again" : going ? "pause" : "play";
    if (changed(this.play, "shape", shape)) replace(this.play, drawn(shape));
    const does = state.ended ? "From the beginning" : going ? "Pause" : "Play";
    attr(this.play, "aria-label", does);
    attr(this.play, "title", `${does}  (space)`);
    if (document.activeElement !== this.speed) this.pick(state.speed);
    attr(this.range, "min", of.from);
    attr(this.range, "max", of.to);
    const at = this.dragging ?? of.at;
    if (this.dragging === null && Number(this.range.value) !== Math.round(at)) this.range.value = String(Math.round(at));
    attr(this.range, "aria-valuetext", clock(at));
    text(this.here, of.trouble ? "does not answer" : `${clock(at)} of ${clock(of.to)}`);
    attr(this.here, "title", of.trouble || universal(at));
    attr(this.el, "data-seeking", Boolean(state.seeking) || null);
    if (changed(this.marks, "marks", [state.marks, state.from, state.to])) this.drawMarks();
  }

  pick(speed) {
    if (![...this.speed.options].some((o) => Number(o.value) === speed)) this.speed.append(h("option", { value: speed }, `${speed}×`));
    if (Number(this.speed.value) !== speed) this.speed.value = String(speed);
  }

  drawMarks() {
    const { from, to, state } = this.of, share = (ms) => (100 * (Math.min(Math.max(ms, from), to) - from)) / (to - from);
    replace(this.marks, (state.marks ?? []).map((m) => {
      const left = share(instant(m.opened)), right = m.resolved ? share(instant(m.resolved)) : 100;
      return s("g", { class: tone(m.kind === "risk" ? "info" : m.severity) },
        s("rect", { class: "span", x: `${left}%`, width: `${Math.max(right - left, 0.2)}%`, y: 9, height: 4 }), s("rect", { class: "begin", x: `${left}%`, width: 3, y: 3, height: 16 }));
    }));
  }
}

/** ReplayView shows what the recording is and what is in it. */
export class ReplayView {
  constructor(store, of) {
    this.store = store;
    this.of = of;
    this.headline = h("h1", { tabindex: "-1" });
    this.facts = h("p", { class: "quiet" });
    this.list = h("ol", { class: "rows marked" });
    this.none = h("p", { class: "quiet" });
    this.found = h("section", { "aria-labelledby": "h-found" }, h("h2", { id: "h-found" }, "What is in it"), this.list, this.none);
    this.how = h("section", { "aria-labelledby": "h-how" }, h("h2", { id: "h-how" }, "How to move in it"),
      h("dl", { class: "keys" }, [["space", "pause, go on"], ["← →", "back and on by 10 s; Shift: by a minute"], ["[ ]", "to the incident before, to the next"]].map(([k, what]) => [h("dt", {}, h("kbd", {}, k)), h("dd", {}, what)])),
      h("p", { class: "quiet" }, "Seeking back replays the recording up to that time: all views show what was known then and nothing later. Everything on this page is from the recording; no message is sent."));
    this.off = h("section", {}, h("p", {}, "No recording is played here. This shows one, with pause, speed and seeking:"), h("pre", {}, "quintet replay FILE --serve"),
      h("p", { class: "quiet" }, "FILE is a trace, such as ", h("code", {}, "quintet capture --incident ID -o FILE"), " writes, or the folder of a bundle."));
    this.el = h("article", { class: "replay" }, h("header", { class: "head" }, this.headline, this.facts), this.found, this.how, this.off);
    this.changed = () => this.update();
    of.addEventListener("change", this.changed);
  }

  get title() { return "Replay"; }

  close() { this.of.removeEventListener("change", this.changed); }

  update() {
    const { of } = this, state = of.state, on = of.on && Boolean(state);
    show(this.found, on);
    show(this.how, on);
    show(this.off, !of.on && this.store.loaded);
    text(this.headline, on ? `Replay of ${state.recording}` : "Replay");
    if (!on) return text(this.facts, "");
    const pace = state.ended ? "it has ended" : state.seeking ? `playing to ${clock(of.seeking)}` : state.paused ? "paused" : state.speed === 0 ? "as fast as possible" : state.speed === 1 ? "as fast as it happened" : `${state.speed} times as fast as it happened`;
    text(this.facts, `${clock(of.from)} to ${clock(of.to)}, ${duration((of.to - of.from) / 1000)}; at ${clock(of.at)}: ${pace}.`);
    keyed(this.list, state.marks ?? [], { key: (m) => m.id, create: (m) => this.row(m), update: (el, m) => this.renew(el, m) });
    text(this.none, state.marks ? (state.marks.length ? "" : "No incident. No job is degraded.") : "The engine is run over all of it, to mark what there is to see …");
  }

  row(m) {
    const go = (ms, words) => h("button", { type: "button", onclick: () => this.of.seek(ms) }, words);
    const el = h("li", {}, h("div", { class: "row mark-row" }, h("span", { class: "mark" }, sign(m.kind === "risk" ? "info" : m.severity)), h("div", { class: "what" }),
      h("div", { class: "when" }), h("div", { class: "buttons" }, go(instant(m.opened) - 1000 * before, "to its beginning"), m.resolved && go(instant(m.resolved), "to its end"))));
    replace(el.querySelector(".when"), clock(instant(m.opened)), m.resolved ? ` to ${clock(instant(m.resolved))}` : ", not over at the end");
    return el;
  }

  // renew shows it as it is known at this moment of the recording.
  renew(el, m) {
    const known = this.store.incidents.has(m.id);
    if (!changed(el, "known", known)) return;
    const words = h("span", {}, h("strong", {}, m.title));
    replace(el.querySelector(".what"), known ? h("a", { href: addressOf(m.id), "data-go": true, "data-row": true }, words) : words, h("p", { class: "quiet" }, entityOf(m.root), ", ", m.signature, known ? "" : " – not yet known at this moment"));
  }
}
