// What the views of maps have in common: what is shown stands in the address, and
// the history is asked for the moment that it names.

import { h, attr, show, changed } from "./dom.js";
import { history as past, grid, isAborted, unsettled } from "./promql.js";
import { Scrub, atOf } from "./time.js";
import { measureOf } from "./measures.js";
import { touchedBy } from "./touched.js";

/**
 * MapView is such a view. of: {path, name, measures: [{id, name}], hint(measure): what
 * its button says besides}. A view has whole, what is shown of all, and part, what is
 * shown of one; answer(at, signal) asks, draw() draws.
 */
export class MapView {
  constructor(store, go, { path, name, measures, hint }) {
    Object.assign(this, { store, go, path, measures });
    this.headline = h("h1", { tabindex: "-1" }, name);
    this.crumbs = h("p", { class: "back" }, h("a", { href: path, "data-go": true }, `← ${name}`));
    this.choices = measures.map((m) => h("button", { type: "button", "data-measure": m.id, title: hint?.(m), onclick: () => this.put({ measure: m.id }) }, m.name));
    this.scrub = new Scrub((at) => this.put({ at }));
    this.note = h("p", { class: "quiet", role: "status", hidden: true });
    this.loaded = false; // the history answered, be it that it cannot
  }

  get sources() { return [this.store, this]; }

  /** await asks for the moment, where that was not asked for. */
  await() { if (Number.isFinite(this.moment) && this.moment !== this.asked) this.ask(false); }

  close() {
    this.closed = true;
    this.control?.abort();
    this.part.close();
  }

  // read takes what is shown from the address.
  read() {
    const q = new URLSearchParams(location.search);
    this.of = q.get("of") ?? "";
    this.measure = measureOf(q.get("measure"), this.measures);
    this.at = atOf(location.search);
    for (const b of this.choices) attr(b, "aria-pressed", String(b.dataset.measure === this.measure.id));
    show(this.crumbs, this.of !== "");
    attr(this.crumbs.firstChild, "href", this.address({ of: "" }));
    show(this.whole, this.of === "");
    show(this.part.el, this.of !== "");
  }

  /** address is where one gets to with something changed. */
  address(change) {
    const { of, measure, at } = { of: this.of, measure: this.measure.id, at: this.at, ...change };
    const q = new URLSearchParams({ ...(of && { of }), ...(measure !== this.measures[0].id && { measure }), ...(Number.isFinite(at) && { at: new Date(at).toISOString() }) });
    return `${this.path}${q.size ? `?${q}` : ""}`;
  }

  // put changes what is shown without a step in the browser's history.
  put(change) {
    history.replaceState(history.state, "", this.address(change));
    this.located();
  }

  /** located is called when the address changed. */
  located() {
    const { of, at, measure } = this;
    this.read();
    if (of !== this.of) {
      scrollTo(0, 0);
      this.headline.focus({ preventScroll: true });
    }
    if (of !== this.of || measure !== this.measure || !Object.is(at, this.at)) this.ask(true);
    this.update();
  }

  /** moment is the instant that is shown, on the history's grid. */
  get moment() { return grid(Number.isFinite(this.at) ? this.at : this.store.tick); }

  get live() { return !Number.isFinite(this.at); }

  /** update brings the view up to what the store knows. */
  update() {
    if (this.closed) return;
    past.settled = this.store.tick - unsettled;
    this.scrub.set(this.store.tick, this.at, [...this.store.incidents.values()]);
    this.await();
    const { marks, incidents } = touchedBy(this.store, this.at);
    const news = changed(this.el, "marks", [[...marks], incidents.map((i) => [i.id, i.revision])]);
    Object.assign(this, { marks, incidents });
    if (news) this.draw();
  }

  // ask asks the history for the moment. What is under way is given up only for
  // another choice: a slow answer is better than none.
  async ask(other) {
    const at = this.moment;
    if (!Number.isFinite(at) || this.asking && !other) return;
    this.control?.abort();
    const control = this.control = new AbortController();
    this.asking = true;
    this.asked = at;
    try {
      await this.answer(at, control.signal);
      this.failure = "";
    } catch (error) {
      if (isAborted(error)) return;
      this.failure = error.message;
    }
    if (this.control !== control || this.closed) return;
    this.asking = false;
    const first = !this.loaded;
    this.loaded = true;
    if (first) this.store.changed(); else this.draw();
  }
}
