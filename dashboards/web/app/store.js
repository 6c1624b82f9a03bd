// What the page knows: fetched once, then kept current by the event stream. The
// page's clock is the log's tick; the browser's clock is only a stopwatch here.

import { instant } from "./format.js";

const historyOfSteps = 120; // steps kept per job for its sparkline
const keptIncidents = 1000;
const stillAfter = 5000; // ms without a tick: at least; three usual intervals where ticks are rarer
const mostPatience = 30000; // ms that a stream may be silent, however often it was given up in vain
const lostProbe = 4000; // ms for the server to answer when asked whether it is there
const retry = [1000, 2000, 4000, 8000]; // ms between attempts where the browser has given the stream up

/** Store holds the facts and notifies listeners, at most once a frame, that they changed. */
export class Store extends EventTarget {
  constructor() {
    super();
    this.status = null; // as /api/v1/status says it
    this.health = null; // the state of the site and its domains, as the server computes it
    this.coverage = []; // sources
    this.gaps = []; // intervals in which one was silent, the last to begin first
    this.covered = { loaded: false, failure: "" }; // whether these two are known
    this.tick = NaN; // ms since 1970
    this.jobs = new Map();
    this.fleet = null; // how all jobs do together
    this.incidents = new Map();
    this.alarms = [];
    this.steps = new Map(); // job -> {t: [], v: [], saved: the t of those with a checkpoint}
    this.loaded = false; // jobs and incidents were received at least once
    this.failure = ""; // why they were not
    this.link = "connecting"; // or live, still, lost
    this.tickAt = performance.now(); // stopwatch when the tick last moved
    this.moved = false; // we have seen it move
    this.linkedAt = this.tickAt; // stopwatch when the link was last made
    this.probedAt = 0;
    this.receivedAt = this.tickAt; // stopwatch when the stream last said something
    this.readTick = NaN; // the tick up to which it has reported, or that was read when it began
    this.inVain = 0; // streams given up since one last said something
    this.interval = 1000; // usual ms between ticks, by the stopwatch
    this.attempt = 0;
    this.probing = false;
    this.fresh = new Set(); // incidents that opened while we watched, not yet reported
  }

  // cover asks which sources report.
  async cover() {
    const of = this.covered;
    try {
      const c = await get("/api/v1/coverage");
      if (of !== this.covered) return; // of another log
      this.coverage = c.sources ?? [];
      this.gaps = (c.gaps ?? []).slice(0, 50);
      Object.assign(of, { loaded: true, failure: "" });
    } catch (error) {
      of.failure = error.message;
    }
    this.changed();
  }

  /** start connects and watches the connection. */
  start() {
    this.connect();
    setInterval(() => this.watch(), 1000);
    setInterval(() => this.refresh(), 30000);
  }

  /** hold keeps what is shown as it is, until begin: the log that it is of is about to be closed. */
  hold() {
    this.held = true;
    this.source?.close();
    for (const timer of [this.loading, this.reconnecting]) clearTimeout(timer);
    this.changed();
  }

  /** begin forgets everything: another log is shown, whose time may be earlier. */
  begin() {
    this.held = false;
    for (const known of [this.jobs, this.incidents, this.steps, this.fresh]) known.clear();
    Object.assign(this, { tick: NaN, health: null, coverage: [], gaps: [], covered: { loaded: false, failure: "" }, alarms: [], loaded: false, failure: "", lastEvent: "", moved: false, tickAt: performance.now(), readTick: NaN, inVain: 0 });
    this.dispatchEvent(new Event("begin"));
    this.setLink("connecting");
    this.connect();
    this.changed();
  }

  connect() {
    this.source?.close();
    // A browser comes back by itself with the last id it saw; a new source must say it.
    const source = (this.source = new EventSource(`/api/v1/stream${this.lastEvent ? `?after=${encodeURIComponent(this.lastEvent)}` : ""}`));
    source.onopen = () => {
      this.attempt = 0;
      this.setLink("live");
      this.load();
    };
    source.onerror = () => {
      this.setLink("lost");
      if (source.readyState === EventSource.CLOSED) this.reconnectLater();
    };
    source.addEventListener("state", (e) => {
      Object.assign(this, { receivedAt: performance.now(), inVain: 0 });
      this.take(e, (v) => this.onState(v));
    });
    source.addEventListener("incident", (e) => {
      if (e.lastEventId) this.lastEvent = e.lastEventId;
      this.take(e, (v) => this.onIncident(v));
    });
  }

  take(event, fn) {
    let value;
    try {
      value = JSON.parse(event.data);
    } catch {
      return; // cut off in the middle: the next state repeats it
    }
    fn(value);
    this.changed();
  }

  reconnectLater() {
    clearTimeout(this.reconnecting);
    this.reconnecting = setTimeout(() => this.connect(), retry[Math.min(this.attempt++, retry.length - 1)]);
  }

  /** load fetches everything; what the stream said meanwhile stands if it is newer. */
  async load() {
    try {
      this.cover();
      const [status, jobs, incidents] = await Promise.all(["status", "jobs", "incidents"].map((what) => get(`/api/v1/${what}`)));
      this.onStatus(status);
      this.readUpTo(instant(status.tick));
      this.onJobs(jobs.jobs ?? []);
      this.fleet = jobs.fleet ?? null;
      for (const incident of incidents.incidents ?? []) this.put(incident);
      this.loaded = true;
      this.failure = "";
    } catch (error) {
      this.failure = error.message;
      clearTimeout(this.loading);
      this.loading = setTimeout(() => this.load(), 3000);
    }
    this.changed();
  }

  /** refresh fetches what the stream does not carry. */
  async refresh() {
    if (this.link === "lost" || document.hidden || this.held) return;
    try {
      this.cover();
      this.onStatus(await get("/api/v1/status"));
      this.changed();
    } catch { /* the watch says so */ }
  }

  onStatus(status) {
    this.status = status;
    if (status.health && !(instant(status.tick) < this.tick)) this.health = status.health;
    if (!(instant(status.tick) < this.tick)) this.alarms = status.alarms ?? []; // the stream may know better
    this.onTick(instant(status.tick));
  }

  onState(state) {
    this.readUpTo(instant(state.tick));
    this.onTick(instant(state.tick));
    if (state.alarms) this.alarms = state.alarms;
    if (state.health) this.health = state.health;
    if (state.jobs) this.onJobs(state.jobs);
    if (state.fleet) this.fleet = state.fleet;
    for (const incident of state.incidents ?? []) this.put(incident);
    if (state.jobs && state.incidents && (this.health || this.status)) Object.assign(this, { loaded: true, failure: "" }); // the answers may take their time
  }

  onIncident(incident) {
    const known = this.incidents.has(incident.id);
    this.put(incident);
    if (!known && incident.state === "open") this.fresh.add(incident.id);
  }

  // put keeps the newest word on an incident: revisions grow, and between them
  // figures refresh.
  put(incident) {
    if (typeof incident?.id !== "string") return;
    const old = this.incidents.get(incident.id);
    if (old && (old.revision > incident.revision || old.revision === incident.revision && instant(old.updated) > instant(incident.updated))) return;
    this.incidents.set(incident.id, incident);
    if (this.incidents.size > keptIncidents) this.forget();
  }

  forget() {
    const oldest = [...this.incidents.values()].filter((i) => i.state !== "open").sort((a, b) => instant(a.opened) - instant(b.opened))[0];
    if (oldest) this.incidents.delete(oldest.id);
  }

  onJobs(jobs) {
    const now = new Map();
    for (const job of jobs) {
      if (typeof job?.job !== "string") continue;
      now.set(job.job, job);
      this.step(job);
    }
    this.jobs = now;
    for (const name of this.steps.keys()) if (!now.has(name)) this.steps.delete(name);
  }

  // step appends to a job's sparkline what the report says is new.
  step(job) {
    let kept = this.steps.get(job.job);
    if (!kept) this.steps.set(job.job, (kept = { t: [], v: [], saved: new Set() }));
    if (job.recent?.t?.length) this.steps.set(job.job, (kept = behind(job.recent, kept)));
    append(kept, instant(job.last_step), job.step_seconds, job.checkpoint_in_step);
  }

  readUpTo(tick) { if (Number.isFinite(tick) && !(tick <= this.readTick)) this.readTick = tick; }

  onTick(tick) {
    if (!Number.isFinite(tick) || tick <= this.tick) return;
    const now = performance.now();
    if (Number.isFinite(this.tick)) {
      this.moved = true;
      if (this.link !== "lost") this.interval += (Math.min(now - this.tickAt, 60000) - this.interval) / 8;
    }
    this.tick = tick;
    this.tickAt = now;
    if (this.link === "still") this.setLink("live");
  }

  setLink(link) {
    if (link === "live") this.linkedAt = performance.now();
    if (this.link === link) return;
    this.link = link;
    this.changed();
  }

  /** quietFor is for how many seconds, by the stopwatch, no tick has come. */
  quietFor() { return (performance.now() - this.tickAt) / 1000; }

  /** watch notices that the log stands still, or that a dead connection looks alive. */
  watch() {
    if (this.held) return;
    const now = performance.now();
    const quiet = now - Math.max(Math.min(this.tickAt, this.receivedAt), this.linkedAt, this.probedAt);
    // Each stream that was given up in vain makes the next one less likely to be
    // dead: a server that is slow to speak is not helped by being asked for more.
    const patience = Math.max(stillAfter, 3 * this.interval, Math.min(mostPatience, stillAfter * 2 ** this.inVain));
    if (this.link !== "lost" && quiet > patience && !this.probing) this.probe();
    if (this.link !== "live") this.changed();
  }

  // probe asks the server itself: only its answer distinguishes a log that has stopped
  // from a stream that is cut without a word.
  async probe() {
    this.probing = true;
    this.probedAt = performance.now();
    const before = this.tick, received = this.receivedAt;
    try {
      const status = await get("/api/v1/status", AbortSignal.timeout(lostProbe));
      if (this.receivedAt === received && instant(status.tick) > this.readTick) { // the log goes on, only the stream does not
        this.inVain++;
        this.connect();
      } else if (!(instant(status.tick) > before || this.tick > before)) this.setLink("still");
      this.onStatus(status);
    } catch {
      if (this.receivedAt === received) {
        this.setLink("lost");
        this.reconnectLater();
      }
    }
    this.probing = false;
    this.changed();
  }

  changed() {
    if (this.pending) return;
    this.pending = true;
    const dispatch = () => { this.pending = false; this.dispatchEvent(new Event("change")); };
    if (document.hidden) setTimeout(dispatch, 250); // no frames are drawn for a hidden page
    else requestAnimationFrame(dispatch);
  }

  /** open and closed incidents, newest first; open ones by severity before that. */
  open() { return [...this.incidents.values()].filter((i) => i.state === "open").sort((a, b) => rank(a) - rank(b) || newest(a, b)); }
  resolved() { return [...this.incidents.values()].filter((i) => i.state !== "open").sort(newest); }

  /** sortedJobs puts the degraded first, then the large. */
  sortedJobs() {
    return [...this.jobs.values()].sort((a, b) => trouble(a) - trouble(b) || (b.gpus ?? 0) - (a.gpus ?? 0) || (a.job < b.job ? -1 : 1));
  }
}

function append(kept, t, v, saved) {
  if (!Number.isFinite(t) || !Number.isFinite(v) || t <= (kept.t.at(-1) ?? -Infinity)) return;
  kept.t.push(t);
  kept.v.push(v);
  if (saved) kept.saved.add(t);
  if (kept.t.length > historyOfSteps) { kept.saved.delete(kept.t.shift()); kept.v.shift(); }
}

const severities = ["critical", "warning", "info"];
function rank(i) { return (i.kind === "risk" ? 10 : 0) + severities.indexOf(i.severity); }
function newest(a, b) { return instant(b.opened) - instant(a.opened) || (a.id < b.id ? -1 : 1); }

const order = ["failed", "stalled", "restarted", "slow", "new", "healthy", "ended"];
function trouble(job) { const i = order.indexOf(job.state); return i < 0 ? 4.5 : i; }

/** isDegraded reports whether a job's state is trouble. */
export function isDegraded(job) { return trouble(job) < 4; }

// behind puts the steps that were kept behind those that the server remembers:
// events may have come before its answer.
function behind(recent, kept) {
  const all = { t: [], v: [], saved: new Set() };
  for (const [steps, saved] of [[recent, new Set(recent.checkpoints)], [kept, kept.saved]]) {
    for (let i = 0; i < steps.t.length; i++) append(all, steps.t[i], steps.v[i], saved.has(steps.t[i]));
  }
  return all;
}

/** get fetches JSON; the error is the server's own words where it has any. */
export async function get(path, signal) { return (await getAgain(path, null, signal)).value; }

/** getAgain fetches JSON as {text, value}: the known one, unless the text is another. */
export async function getAgain(path, known, signal) {
  const response = await fetch(path, { headers: { Accept: "application/json" }, signal });
  return answer(response, path, known);
}

/** post sends JSON likewise. */
export async function post(path, body) {
  const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" }, body: JSON.stringify(body) });
  return (await answer(response, path)).value;
}

async function answer(response, path, known) {
  const type = response.headers.get("Content-Type") ?? "";
  const text = type.includes("json") ? await response.text().catch(() => "") : "";
  if (response.ok && text === known?.text) return known;
  const body = parsed(text);
  if (!response.ok) {
    const error = new Error(body?.error ?? `${path} answers ${response.status}`);
    error.status = response.status;
    throw error;
  }
  return { text, value: body ?? {} };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
