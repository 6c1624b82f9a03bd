// One job: how it does, who waits for whom in it, where it runs, what it cost.

import { h, text, attr, show, replace, changed } from "./dom.js";
import { plural, percent, mfu, factor, quantity, called, gpuTime, change, instant, interval, NONE } from "./format.js";
import { sign, tone } from "./words.js";
import { section } from "./parts.js";
import { once } from "./reading.js";
import { incidentList } from "./rows.js";
import { get, isDegraded } from "./store.js";
import { Prometheus, quoted, grid, isAborted, unsettled } from "./promql.js";
import { Past, curvesOf, lastHour } from "./past.js";
import { RankMap, tableOf, continued } from "./rankmap.js";
import { waitingOf, now } from "./waiting.js";
import { placementOf } from "./placement.js";
import { touchedBy } from "./touched.js";
import { Costs } from "./costs.js";
import { waterfall } from "./budget.js";
import { drawLosses } from "./losses.js";
import { upToDate } from "./uptodate.js";

const every = 15000; // ms of the log between two questions to the history
const mapStep = 15e3, mapSpan = 20 * 60e3; // ms between columns, and of the map
const pieces = 8; // questions in which the past of the ranks that are drawn next is read
const mostRanks = 128; // rows, as many as an update can take in at once and eyes can distinguish; of more, those that wait least and most
const fewRanks = 8, fewNodes = 24;
const measures = [["rank_compute_seconds", "computes"], ["rank_comm_wait_seconds", "waits for others"], ["rank_comm_transfer_seconds", "moves data"]];
const names = measures.map(([m]) => m).join("|"), always = measures.slice(0, 2).map(([m]) => m); // of whom waits for whom; others are read while they are looked at
const drawn = "job_(step_seconds|mfu_ratio|tokens_per_second|data_wait_seconds|checkpoint_seconds|ttft_seconds_p99|itl_seconds_p99|queue_requests|kv_cache_ratio)";
const order = ["job_step_seconds", "job_ttft_seconds_p99", "job_itl_seconds_p99", "job_mfu_ratio", "job_tokens_per_second"];

/** Job shows the job of a name, and stays current. */
export class Job {
  constructor(store, { name }) {
    this.store = store;
    this.name = name;
    this.id = `job:${name}`;
    this.measure = measures[0][0];
    this.control = new AbortController();
    // The parts of the history are read at different updates: together they take too long for one.
    this.parts = [[this.askCurves, (error) => this.curves.fail(error)], [this.askRanks, (error) => this.failRanks(error)], [this.askNext, (error) => this.failRanks(error)]]
      .map(([read, fail]) => ({ at: -Infinity, read: read.bind(this), fail }));
    this.history = new Prometheus();
    this.history.settled = -Infinity; // no question is asked twice
    this.ranksRead = { loaded: false, failure: "" }; // of its ranks
    this.placing = { loaded: false, failure: "" };
    this.build();
    once(this.waits, [this.ranksRead]);
    this.costs = new Costs(["budget", "losses"], { window: "24h", job: this.id, done: () => store.changed() });
    this.place();
  }

  get title() { return this.name; }

  build() {
    this.state = h("p", { class: "state" });
    this.headline = h("h1", { tabindex: "-1" }, this.name);
    this.open = h("ol", { class: "rows" });
    this.curves = new Past();
    this.map = new RankMap("Ranks over time");
    this.choices = measures.map(([m, words]) => h("button", { type: "button", "aria-pressed": String(m === this.measure), "data-measure": m, onclick: () => this.choose(m) }, words));
    this.mapWords = h("p", { class: "quiet" });
    this.waits = h("div", {});
    this.placed = h("div", {});
    this.budget = h("div", {});
    this.lost = h("div", {});
    this.missing = h("p", { class: "missing", hidden: true });
    this.incidents = section("jobincidents", "Its incidents", this.open);
    this.ranks = section("jobranks", "Ranks over time", h("div", { class: "buttons", role: "group", "aria-label": "What is shown of a rank" }, this.choices), this.map.el, this.mapWords);
    this.el = h("article", { class: "onejob" }, h("p", { class: "back" }, h("a", { href: "/jobs", "data-go": true }, "← Jobs")), this.missing,
      h("header", { class: "head" }, this.state, this.headline), this.incidents,
      section("jobcurves", "The last hour", this.curves.el), this.ranks, section("waits", "Who waits for whom", this.waits),
      section("placed", "Where it runs", this.placed),
      h("div", { class: "costs" }, section("joblost", "Lost in 24 hours, by cause", this.lost), section("jobbudget", "Where its GPU time goes", this.budget)));
  }

  close() {
    this.closed = true;
    this.control.abort();
    this.costs.close();
    this.curves.close();
    this.map.close();
  }

  choose(m) {
    this.measure = m;
    if (!this.next?.tables[m]) this.next = null; // it is begun again, with this one
    for (const b of this.choices) attr(b, "aria-pressed", String(b.dataset.measure === m));
    this.drawMap();
  }

  /** update brings the view up to what is known. */
  update() {
    if (this.closed) return;
    const { store } = this, job = store.jobs.get(this.id);
    const mine = [...store.incidents.values()].filter((i) => (i.impact?.jobs ?? []).some((j) => j.job === this.id)).sort((a, b) => (a.state === b.state ? instant(b.opened) - instant(a.opened) : a.state === "open" ? -1 : 1));
    show(this.missing, !job);
    if (!job) text(this.missing, `No job ${this.name} is known here now.`);
    text(this.headline, job ? headline(this.name, job, mine) : this.name);
    if (changed(this.state, "facts", job ?? null)) replace(this.state, facts(job));
    incidentList(this.open, mine.slice(0, 10), store.tick);
    show(this.incidents, mine.length > 0);
    this.mine = mine;
    once(this.budget, [this.costs], () => waterfall(this.budget, this.costs.answers.budget?.jobs?.find((j) => j.job === this.id)));
    once(this.lost, [this.costs], () => drawLosses(this.lost, upToDate(this.costs.answers, mine, this.id).losses));
    once(this.placed, [this.placing], () => this.drawPlaces());
    const at = grid(store.tick, mapStep); // so that columns of one answer are those of the next
    const due = this.parts.filter((p) => at - p.at >= every).sort((a, b) => a.at - b.at)[0];
    if (due && !this.asking && !document.hidden) this.ask(due, at);
  }

  // ask reads one part of the history.
  async ask(part, at) {
    part.at = at;
    this.asking = true;
    try {
      await part.read(at, this.control.signal);
    } catch (error) {
      if (isAborted(error)) return;
      part.fail(error);
    } finally {
      this.asking = false;
    }
    if (this.parts.some((p) => p.at === -Infinity)) this.update();
  }

  async askCurves(at, signal) {
    const hour = lastHour(at), curves = await this.history.range(`{__name__=~"${drawn}",kind="job",job=${quoted(this.name)}}`, hour, signal);
    const place = (r) => { const i = order.indexOf(r.labels.__name__); return i < 0 ? order.length : i; };
    this.curves.show(curvesOf(curves.sort((a, b) => place(a) - place(b)), "effect"), { from: Math.max(hour.from, ...firstOf(curves)), to: at, live: true });
  }

  async askRanks(at, signal) {
    const counted = new Map((await this.history.instant(`count({__name__=~"${names}",job=${quoted(this.name)}}) by (__name__)`, at, signal)).map((r) => [r.labels.__name__, r.v]));
    const size = counted.get(measures[0][0]) ?? 0, { shown } = this;
    // Of what is drawn already only the end is asked for: back to where the history may
    // still change, or what is now where other ranks will soon take its place.
    if (shown?.to > at - mapSpan / 2 && shown.to <= at && shown.size === size) await this.readOn(shown, { at, to: at, from: grid(shown.to - (this.next ? now * mapStep : unsettled), mapStep) });
    else [this.shown, this.next] = [await this.readOn(this.chosen(at, size), { at, to: at }), null];
    for (const b of this.choices) show(b, counted.has(b.dataset.measure) || this.shown.tables[b.dataset.measure]?.rows.length > 0);
    this.drawRanks();
  }

  // askNext reads, of many ranks, those that now wait least and most: a piece at a
  // time, because all of their past takes too long for one update. They take the place
  // of those that are drawn within two minutes or three.
  async askNext(at) {
    const size = this.shown?.size ?? 0;
    if (size <= mostRanks) return;
    const next = this.next ??= this.chosen(at, size), end = next.to + mapSpan / pieces, last = end > at - unsettled;
    await this.readOn(next, { at, to: last ? at : end });
    if (!last || this.next !== next) return;
    [this.shown, this.next] = [next, null];
    this.drawRanks();
  }

  // chosen are the ranks as of an instant, of which nothing is read yet.
  chosen(at, size) {
    const read = size > 0 ? [...always, this.measure] : measures.map(([m]) => m);
    return { at, size, to: at - mapSpan - mapStep, tables: Object.fromEntries(read.map((m) => [m, tableOf([])])) };
  }

  // readOn reads what is chosen from an instant on, or from where it ends, and forgets what is older than the map.
  async readOn(chosen, { at, to, from = chosen.to + mapStep }) {
    const newer = await this.readRanks(chosen, Object.keys(chosen.tables), { from, to });
    for (const [m, table] of Object.entries(newer)) chosen.tables[m] = continued(chosen.tables[m], table, at - mapSpan);
    return Object.assign(chosen, { to });
  }

  drawRanks() {
    this.drawMap();
    Object.assign(this.ranksRead, { loaded: true, failure: "" });
    once(this.waits, [this.ranksRead], () => this.drawWaits());
  }

  failRanks(error) {
    this.ranksRead.failure = error.message;
    text(this.mapWords, `The history is not available: ${error.message}`);
    once(this.waits, [this.ranksRead], () => this.drawWaits());
  }

  // readRanks answers tables of measures of the ranks that were chosen.
  async readRanks({ at, size }, metrics, span) {
    const of = `job=${quoted(this.name)}`, ends = (which) => `${which}k(${mostRanks / 2}, rank_comm_wait_seconds{${of}} @ ${(at / 1000).toFixed(3)})`;
    const some = size > mostRanks ? ` and on (name) (${ends("top")} or ${ends("bottom")})` : "";
    const got = await this.history.range(`{__name__=~"${metrics.join("|")}",${of}}${some}`, { ...span, step: mapStep / 1000 }, this.control.signal);
    return Object.fromEntries(metrics.map((m) => [m, tableOf(got.filter((r) => r.labels.__name__ === m))]));
  }

  // readMeasure reads a measure that is not always read.
  async readMeasure(chosen, m) {
    try {
      Object.assign(chosen.tables, await this.readRanks(chosen, [m], { from: chosen.to - mapSpan, to: chosen.to }));
      this.drawMap();
    } catch (error) {
      if (!isAborted(error)) text(this.mapWords, `The history is not available: ${error.message}`);
    }
  }

  drawMap() {
    if (!this.shown) return;
    const { shown, measure } = this, table = shown.tables[measure], rows = table?.rows.length ?? 0;
    show(this.map.el, rows > 0);
    if (rows > 0) this.map.show(table, measure);
    text(this.mapWords, !table ? "Reading …" : rows === 0 ? "The history holds nothing of its ranks: each states compute_seconds and wait_seconds of its own." : shown.size > rows ? `${rows} of ${shown.size} ranks: those that wait least, and most.` : "");
    if (!table) this.readMeasure(shown, measure);
  }

  drawWaits() {
    const degraded = (this.mine ?? []).map((i) => [interval(i.onset).from, i.resolved ? instant(i.resolved) : Infinity]);
    const list = waitingOf(this.shown.tables.rank_comm_wait_seconds, this.shown.tables.rank_compute_seconds, degraded).slice(0, fewRanks);
    const job = this.store.jobs.get(this.id), grown = job && isDegraded(job) ? (job.step_seconds ?? 0) - (job.usual_step_seconds ?? 0) : 0;
    if (list.length === 0) { replace(this.waits, h("p", { class: "quiet" }, "No rank reports its wait.")); return; }
    const first = list[0], late = first.late > 0.1 * Math.max(first.computed, 0.01);
    replace(this.waits,
      h("p", {}, late ? [h("b", {}, `The others wait for rank ${first.rank}`), `: it computes ${quantity(first.compute - first.computed, "s")} longer than it did${first.wait < first.waited ? ` and waits ${quantity(first.waited - first.wait, "s")} less` : ""}.`] : grown > 0 ? "No rank is late by its own past: it is not one of them that the others wait for." : "No rank is late by its own past."),
      h("table", { class: "waiting" }, h("caption", { class: "unseen" }, "Ranks, whom the others wait for first"),
        h("thead", {}, h("tr", {}, ["Rank", "Computes", "Waits", "Later than its past by"].map((x, i) => h("th", { scope: "col", class: i ? "num" : null }, x)))),
        h("tbody", {}, list.map((r, i) => h("tr", { class: i === 0 && late ? "late" : null }, h("th", { scope: "row" }, i === 0 && late ? sign("slow") : h("span", { class: "nosign" }), `rank ${r.rank}`),
          h("td", { class: "num" }, change(r.computed, r.compute, "s")), h("td", { class: "num" }, change(r.waited, r.wait, "s")), h("td", { class: "num" }, Number.isFinite(r.late) ? quantity(r.late, "s") : NONE))))));
  }

  async place() {
    try {
      const t = await get(`/api/v1/topology?${new URLSearchParams({ entity: this.id, hops: 3 })}`);
      this.places = placementOf(this.id, t.edges ?? []);
      this.cut = t.truncated;
      this.placing.loaded = true;
    } catch (error) {
      this.placing.failure = error.message;
    }
    if (!this.closed) this.store.changed();
  }

  drawPlaces() {
    const { marks } = touchedBy(this.store, NaN), all = this.places;
    const marked = (p) => [p.node, ...p.switches, ...p.racks, ...p.cooling, ...p.power].map((id) => marks.get(id)).filter(Boolean).length + (hostMarks(p, marks) ? 2 : 0);
    const sorted = [...all].sort((a, b) => marked(b) - marked(a));
    if (!changed(this.placed, "places", [sorted.slice(0, fewNodes).map((p) => [p, marked(p), hostMarks(p, marks)]), all.length])) return;
    if (all.length === 0) { replace(this.placed, h("p", { class: "quiet" }, "No placement reported: no runs edge is known.")); return; }
    const cell = (ids) => h("td", {}, ids.length > 6 ? [`${ids.length}: `, list(ids.slice(0, 4), marks), " …"] : list(ids, marks));
    replace(this.placed, h("table", { class: "placement" }, h("caption", { class: "unseen" }, "Its nodes and what they hang on"),
      h("thead", {}, h("tr", {}, ["Node", "GPUs", "Rack", "Switches", "Cooled by", "Fed by"].map((x) => h("th", { scope: "col" }, x)))),
      h("tbody", {}, sorted.slice(0, fewNodes).map((p) => h("tr", {}, h("th", { scope: "row" }, named(p.node, marks), hostMarks(p, marks) && h("span", { class: "t-warn" }, ` ${hostMarks(p, marks)}`)), h("td", {}, p.gpus || NONE), cell(p.racks), cell(p.switches), cell(p.cooling), cell(p.power))))),
    all.length > fewNodes && h("p", { class: "quiet" }, `and ${all.length - fewNodes} more nodes`), this.cut && h("p", { class: "quiet" }, "The site gives no more of its surroundings at once."));
  }
}

function firstOf(result) { return result.length ? [Math.min(...result.map((r) => r.t[0])) - 60e3] : []; }

// hostMarks says what of a node an open incident touches.
function hostMarks(p, marks) {
  const name = p.node.slice(5), own = [...marks].filter(([id]) => id !== p.node && /^(gpu|nic|nvlink|fan|psu):/.test(id) && id.slice(id.indexOf(":") + 1).startsWith(`${name}/`));
  const root = own.find(([, m]) => m === "root") ?? own[0];
  return root ? `${root[1] === "root" ? "root" : "in the chain"}: ${called(root[0])}` : "";
}

function list(ids, marks) { return ids.length ? ids.flatMap((id, i) => [i ? ", " : "", named(id, marks)]) : NONE; }

function named(id, marks) {
  const mark = marks.get(id), kind = id.slice(0, id.indexOf(":"));
  const view = kind === "switch" ? "/fabric" : ["rack", "loop", "node", "shelf", "pdu", "cdu"].includes(kind) ? "/power" : "", at = view && `${view}?${new URLSearchParams({ of: id })}`;
  const what = h("span", { class: mark ? "t-warn" : null, title: id }, mark && sign("slow"), id.startsWith("node:") ? h("b", {}, called(id)) : called(id));
  return at ? h("a", { href: at, "data-go": true, class: "plainlink" }, what) : what;
}

function headline(name, job, mine) {
  const open = mine.filter((i) => i.state === "open");
  if (job.state === "slow" && job.slowdown > 0) return `${name} takes ${factor(job.slowdown)} as long as usual`;
  if (isDegraded(job)) return `${name} is ${job.state}`;
  return open.length ? `${name}: ${plural(open.length, "open incident")}` : `${name} ${job.state === "ended" ? "has ended" : job.state === "new" ? "has begun" : "runs as usual"}`;
}

function facts(job) {
  if (!job) return [];
  const fact = (...parts) => h("span", { class: "fact" }, ...parts);
  return [
    h("span", { class: `badge ${tone(job.state)}` }, sign(job.state), job.state),
    job.phase && fact(`in ${job.phase}`),
    job.gpus > 0 && fact(h("b", {}, plural(job.gpus, "GPU")), ` on ${plural(job.nodes, "node")}`),
    job.step_seconds > 0 && fact("last step ", h("b", {}, quantity(job.step_seconds, "s")), job.usual_step_seconds > 0 && `, usual ${quantity(job.usual_step_seconds, "s")}`),
    typeof job.mfu === "number" && fact("last MFU ", h("b", {}, mfu(job.mfu))),
    typeof job.goodput === "number" && fact("goodput ", h("b", {}, percent(job.goodput))),
    job.failures > 0 && fact(plural(job.failures, "failure")),
    job.work_lost_seconds > 0 && fact(`${gpuTime(job.work_lost_seconds * (job.gpus || 1))} done again`),
  ];
}
