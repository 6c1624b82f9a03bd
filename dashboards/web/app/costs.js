// What it costs, asked for again and again while a view that shows it is open:
// losses, coupling, budget, bottlenecks.

import { get } from "./store.js";

const every = 15000; // ms by the stopwatch: these figures move by the minute
const patience = 3000; // ms before another try after a failure

/** The windows that may be chosen, by what the API calls them. */
export const windows = [["1h", "hour"], ["24h", "24 hours"], ["7d", "7 days"], ["30d", "30 days"]];

/** windowOf is the window that the address names, 24h where it names none. */
export function windowOf(search) {
  const wanted = new URLSearchParams(search).get("window");
  return windows.some(([w]) => w === wanted) ? wanted : "24h";
}

/** windowWords writes a window as "24 hours". */
export function windowWords(window) { return windows.find(([w]) => w === window)?.[1] ?? window; }

/** Costs asks for some of the answers, by name, and calls done when it has them. */
export class Costs {
  constructor(names, { window: length, job, done }) {
    Object.assign(this, { names, length, job, done });
    this.answers = {};
    this.span = windowWords(length);
    this.failure = "";
    this.loaded = false; // all were answered at least once
    this.timer = 0;
    this.ask();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  /** over sets the length of the window and asks anew. */
  over(length) {
    this.length = length;
    this.ask();
  }

  async ask() {
    clearTimeout(this.timer);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    let wait = every;
    const asked = this.length;
    if (!document.hidden) {
      try {
        const got = await Promise.all(this.names.map((n) => get(`/api/v1/${n}?${this.#query(n)}`)));
        if (turn !== this.turn || this.closed) return;
        this.names.forEach((n, i) => { this.answers[n] = got[i]; });
        this.span = windowWords(asked); // what the answers are of, while others are asked for
        Object.assign(this, { failure: "", loaded: true });
      } catch (error) {
        this.failure = error.message;
        wait = patience;
      }
    }
    if (turn !== this.turn || this.closed) return;
    this.timer = setTimeout(() => this.ask(), wait);
    this.done();
  }

  #query(name) {
    const q = new URLSearchParams({ window: this.length });
    if (this.job && (name === "losses" || name === "budget")) q.set("job", this.job);
    return q;
  }
}
