// The client of the history: /prometheus/api/v1 of the same server. Times are the
// log's, in milliseconds since 1970; the browser's clock has no say. At most a few
// questions are under way, equal ones are asked once, and the latest answers are
// kept, within bounds.

import { rowsOf } from "./columns.js";
import { inThread } from "./thread.js";

const base = "/prometheus/api/v1/";
const mostAtOnce = 4;
const keptAnswers = 64, keptValues = 400000;

/** Prometheus asks instant and range queries. answering is what answers an address, as answerOf does: another thread, unless a test sets something else. */
export class Prometheus {
  #answer;
  #running = 0;
  #queue = []; // what waits for its turn
  #flying = new Map(); // key -> what is asked now, or waits
  #kept = new Map(); // key -> answer, the least recently asked for first
  #values = 0; // in #kept

  /** settled is the instant up to which the history does not change any more: only such answers are kept. */
  settled = Infinity;

  constructor(answering = inThread) { this.#answer = answering; }

  /** instant answers [{labels, v}] as of an instant. */
  instant(query, at, signal) { return this.#ask("query", { query, time: seconds(at) }, { end: at, signal }); }

  /** range answers [{labels, t: [ms], v: [number]}] from and to which, by step seconds. */
  range(query, { from, to, step }, signal) {
    return this.#ask("query_range", { query, start: seconds(from), end: seconds(to), step: String(step) }, { end: to, signal });
  }

  /** first answers the first of several questions that has an answer, and which: {at, result}. ask(question) asks one. */
  async first(questions, ask) {
    for (let at = 0; at < questions.length; at++) {
      const result = await ask(questions[at]);
      if (result.length > 0) return { at, result };
    }
    return { at: -1, result: [] };
  }

  #ask(path, params, { end, signal }) {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const key = `${path}?${new URLSearchParams(params)}`;
    const kept = this.#kept.get(key);
    if (kept) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return Promise.resolve(kept);
    }
    let one = this.#flying.get(key);
    if (!one) this.#flying.set(key, (one = this.#begin(key, end)));
    return this.#wait(one, signal);
  }

  // #wait is one who waits for an answer that others may wait for, too: a question
  // is given up when nobody does any more.
  #wait(one, signal) {
    one.waiting++;
    return new Promise((done, fail) => {
      const leave = () => {
        fail(signal.reason);
        if (--one.waiting > 0) return;
        this.#flying.delete(one.key);
        one.control.abort(signal.reason);
      };
      signal?.addEventListener("abort", leave, { once: true });
      one.answer.then(done, fail).finally(() => signal?.removeEventListener("abort", leave));
    });
  }

  #begin(key, end) {
    const one = { key, end, waiting: 0, control: new AbortController() };
    one.answer = this.#turn(one.control.signal).then(() => this.#send(one)).finally(() => {
      if (this.#flying.get(key) === one) this.#flying.delete(key);
    });
    one.answer.catch(() => {}); // whoever waits gets it; it may be that none does
    return one;
  }

  // #turn waits until few enough are under way.
  #turn(signal) {
    if (this.#running < mostAtOnce) {
      this.#running++;
      return Promise.resolve();
    }
    return new Promise((go, fail) => {
      this.#queue.push(go);
      signal.addEventListener("abort", () => {
        const at = this.#queue.indexOf(go);
        if (at < 0) return;
        this.#queue.splice(at, 1);
        fail(signal.reason);
      }, { once: true });
    });
  }

  #next() {
    const go = this.#queue.shift();
    if (go) go(); else this.#running--;
  }

  async #send(one) {
    try {
      one.control.signal.throwIfAborted();
      const { columns, failed } = await this.#answer(base + one.key, one.control.signal);
      if (failed) throw Object.assign(new Error(failed.message), failed);
      const answer = rowsOf(columns);
      if (one.end <= this.settled) this.#keep(one.key, answer);
      return answer;
    } finally {
      this.#next();
    }
  }

  #keep(key, answer) {
    this.#kept.set(key, answer);
    this.#values += size(answer);
    for (const [oldest, value] of this.#kept) {
      if (this.#kept.size <= keptAnswers && this.#values <= keptValues) return;
      this.#kept.delete(oldest);
      this.#values -= size(value);
    }
  }
}

function seconds(ms) { return (ms / 1000).toFixed(3); }

function size(answer) { return answer.reduce((sum, one) => sum + (one.t ? one.t.length : 1), 0); }

/** unsettled is for how many ms behind the log's tick slow sources may still add to the history. */
export const unsettled = 120000;

/** quoted is a text as a PromQL string. */
export function quoted(v) { return `"${String(v).replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`; }

/**
 * together is several questions, by name, as one: each answer that comes by itself
 * costs the page's thread as much as many of its samples. apart takes its answer
 * apart again.
 */
export function together(questions) { return Object.entries(questions).map(([name, q]) => `label_replace(${q}, "of", "${name}", "", "")`).join(" or "); }

/** apart are the answers to questions that were asked together: {name: [{labels, v}]}. */
export function apart(questions, result) {
  const by = Object.fromEntries(Object.keys(questions).map((name) => [name, []]));
  for (const r of result) by[r.labels.of]?.push(r);
  return by;
}

/** grid is an instant, rounded down to a multiple of cadence ms: equal questions are asked once. */
export function grid(ms, cadence = 10000) { return Math.floor(ms / cadence) * cadence; }

/** is distinguishes a question that was given up from one that failed. */
export function isAborted(error) { return error?.name === "AbortError"; }

/** history is the page's one client. */
export const history = new Prometheus();
