// Silences: which hold messages back now, which will, which did; and a new one,
// with what it would hold back before it does.

import { h, text, attr, show, replace, changed, keyed } from "./dom.js";
import { plural, instant, duration, NBSP } from "./format.js";
import { sign, tone } from "./words.js";
import { timeOf, section, addressOf } from "./parts.js";
import { get, post } from "./store.js";
import { SilenceForm } from "./silenceform.js";

const every = 10000; // ms by the stopwatch
const fewExpired = 10;
const signs = { active: "stalled", pending: "new", expired: "ended" };

/** said writes a matcher as people read it. */
export function said(m) { return `${m.name}${NBSP}${m.op ?? "="}${NBSP}${m.value}`; }

/** Silences is the view of all silences. */
export class Silences {
  constructor(store) {
    this.store = store;
    this.headline = h("h1", { tabindex: "-1" }, "Silences");
    this.trouble = h("p", { class: "complaint", role: "alert" });
    this.list = h("ul", { class: "silences" });
    this.none = h("p", { class: "quiet" });
    this.expired = h("ul", { class: "silences" });
    this.form = new SilenceForm(store, { from: new URLSearchParams(location.search), done: (one) => this.created(one) });
    this.notice = h("p", { class: "notice", role: "status" });
    this.past = section("expired", "Expired", this.expired);
    this.el = h("article", { class: "silencing" }, h("header", { class: "head" }, this.headline, h("p", { class: "fleet" }, "A silence holds messages back. Incidents are found, shown and counted as ever."), this.trouble),
      h("div", { class: "two" },
        section("standing", "In force and to come", this.notice, this.list, this.none),
        section("newsilence", "A new silence", this.form.el)),
      this.past);
    this.ask();
  }

  get title() { return "Silences"; }

  get sources() { return [this]; }

  get loaded() { return Boolean(this.all); }

  /** located reads the address anew: another silence was asked for. */
  located() { this.form.fill(new URLSearchParams(location.search)); }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.form.close();
  }

  async ask() {
    clearTimeout(this.timer);
    try {
      this.all = (await get("/api/v1/silences")).silences ?? [];
      this.failure = "";
      text(this.trouble, "");
    } catch (error) {
      this.failure = error.message;
      text(this.trouble, `Silences are not available: ${error.message}`);
    }
    if (this.closed) return;
    this.timer = setTimeout(() => this.ask(), every);
    this.store.changed();
  }

  created(one) {
    this.made = one;
    this.ask();
  }

  async expire(id) {
    try {
      await post(`/api/v1/silences/${encodeURIComponent(id)}/expire`, {});
      this.made = null;
      text(this.notice, "Expired.");
    } catch (error) {
      text(this.trouble, `Not expired: ${error.message}`);
    }
    this.ask();
  }

  /** update brings the view up to what is known. */
  update() {
    this.form.update();
    if (this.made) {
      const { mutes } = this.all.find((x) => x.id === this.made.id) ?? this.made;
      text(this.notice, `Silenced. It holds back ${plural((mutes ?? []).length, "open incident")} now.`);
    }
    const standing = this.all.filter((x) => x.state !== "expired"), past = this.all.filter((x) => x.state === "expired").slice(0, fewExpired);
    const muted = new Set(standing.flatMap((x) => x.mutes ?? [])).size;
    text(this.headline, standing.length === 0 ? "Nothing is silenced" : `${plural(standing.length, "silence")}${muted ? `, ${plural(muted, "open incident")} held back` : ""}`);
    show(this.none, standing.length === 0);
    text(this.none, "None: receivers get every incident they are routed.");
    for (const [list, some] of [[this.list, standing], [this.expired, past]]) keyed(list, some, { key: (x) => x.id, create: () => h("li", {}), update: (el, x) => this.draw(el, x) });
    show(this.past, past.length > 0);
  }

  draw(el, x) {
    const now = this.store.tick;
    if (!changed(el, "silence", [x, this.titles(x), Math.floor(now / 60000)])) return;
    attr(el, "data-state", x.state);
    replace(el,
      h("p", { class: "matchers" }, h("span", { class: `stateof ${tone(signs[x.state])}` }, sign(signs[x.state]), x.state), x.matchers.map((m) => h("code", {}, said(m)))),
      h("p", {}, x.comment, h("span", { class: "quiet" }, ` by ${x.created_by}`)),
      h("p", { class: "quiet" }, "from ", timeOf(instant(x.start), now), x.end ? [" to ", timeOf(instant(x.end), now)] : ", without an end",
        x.state === "active" && x.end && Number.isFinite(now) ? `, ${duration((instant(x.end) - now) / 1000)} left` : "", (x.windows ?? []).map((w) => `; ${windowSaid(w)}`)),
      (x.mutes ?? []).length > 0 && h("p", {}, "Holds back: ", this.titles(x).map(([id, title], i) => [i > 0 ? "; " : "", h("a", { href: addressOf(id), "data-go": true }, title)])),
      x.state === "expired" ? h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => this.form.again(x) }, "Silence again"))
        : h("div", { class: "buttons" }, h("button", { type: "button", "aria-label": `Expire: ${x.matchers.map(said).join(", ")}`, onclick: () => this.expire(x.id) }, "Expire")));
  }

  titles(x) { return (x.mutes ?? []).slice(0, 20).map((id) => [id, this.store.incidents.get(id)?.title ?? id]); }
}

function windowSaid(w) {
  return `${w.days?.length ? w.days.join(", ") : "every day"} at ${w.at} for ${duration(w.minutes * 60)}${w.zone ? ` (${w.zone})` : " (UTC)"}`;
}
