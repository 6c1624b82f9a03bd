// One incident: its sentence first, then what it costs, what to do, how it came
// about, and what speaks for it.

import { h, s, text, attr, show, replace, changed, copyButton } from "./dom.js";
import { instant, day, duration, percent, factor, gpuTime, change, quantity, called, plural, NONE, NBSP } from "./format.js";
import { sign, tone } from "./words.js";
import { timeOf, onsetOf, domainTag, entityLink, sentenceOf, lastedFor, addressOf, addressOfJob, section } from "./parts.js";
import { get, post } from "./store.js";
import { drawChain } from "./chain.js";
import { Curves } from "./curves.js";
import { differences } from "./revisions.js";
import { linkToSilence } from "./silenceform.js";
import { radius, places } from "./radius.js";
import { commandList } from "./commands.js";
import { Truth } from "./truth.js";
import { deedOf, followUp } from "./followup.js";
import { Feed } from "./alerts.js";
import { timelineOf, timelineList } from "./timeline.js";
import { summary, share as shareIt, canShare } from "./sharing.js";

const between = 2000; // ms of the log between two questions for new curves
const aftermath = 60e3; // ms of the log for which a resolved incident's curves go on

/** IncidentView shows the incident of an id, and stays current. */
export class IncidentView {
  constructor(store, { id }) {
    this.store = store;
    this.id = id;
    this.curves = new Curves();
    this.askedAt = -Infinity;
    this.revisions = [];
    this.build();
    this.fetch();
    this.readNotes();
    this.path = new Feed(store, "/api/v1/alerts?limit=300");
  }

  get title() { return this.incident?.title ?? this.id; }

  get sources() { return [this]; }

  get loaded() { return this.store.incidents.has(this.id) || Boolean(this.absent); }

  build() {
    this.state = h("p", { class: "state" });
    this.headline = h("h1", { tabindex: "-1" });
    this.fate = h("p", { class: "fate" });
    this.cost = h("div", {});
    this.duration = h("b", {});
    this.sharing = h("div", { class: "sharing" }, copyButton("the link", () => location.href), copyButton("a summary for chat", () => summary(this.incident, location.href)));
    this.sharing.firstChild.before("link ");
    this.sharing.lastChild.before("summary ");
    if (canShare()) this.sharing.append(h("button", { type: "button", class: "copy", onclick: () => shareIt(this.incident, location.href) }, "share"));
    this.head = h("header", { class: "head" }, this.state, this.headline, this.sharing, this.fate, this.cost);
    this.chain = h("figure", { class: "chainbox", "aria-labelledby": "h-how" });
    this.lists = {};
    const list = (name, title) => { const el = section(name, title, (this.lists[name] = h("div", {}))); el.hidden = true; return el; };
    this.side = h("div", { class: "side" }, list("todo", "What to do"), this.buildVerdict());
    this.body = h("div", { class: "story" },
      section("how", "Chain of causes", this.chain),
      section("evidence", "Evidence", this.curves.el),
      list("timeline", "Timeline"));
    this.rest = h("div", { class: "side rest" }, list("unseen-facts", "Blind spots"), list("innocent", "Ruled out"), list("alternatives", "Alternatives"),
      list("contributors", "Contributed"));
    this.foot = h("div", { class: "foot" }, list("revisions", "What changed"), list("touched", "Affected"), list("record", "Record"));
    this.missing = h("div", { class: "missing", hidden: true });
    this.content = h("div", { class: "incident", hidden: true }, this.head, this.side, this.body, this.rest, this.foot);
    this.el = h("article", {}, h("p", { class: "back" }, h("a", { href: "/", "data-go": true }, "← Overview")), this.missing, this.content);
    this.observer = new ResizeObserver(() => this.draw(true));
    this.observer.observe(this.chain);
  }

  close() {
    this.closed = true;
    this.path.close();
    this.observer.disconnect();
    this.curves.close();
  }

  async fetch() {
    try {
      this.store.put(await get(`/api/v1/incidents/${encodeURIComponent(this.id)}`));
      this.absent = "";
    } catch (error) {
      this.absent = error.status === 404 ? `No incident ${this.id} is known here. It may be older than what is kept.` : `This incident cannot be read: ${error.message}.`;
    }
    this.store.changed(); // the page's title changes with it
  }

  /** update brings the view up to what the store knows. */
  update() {
    if (this.closed) return;
    this.incident = this.store.incidents.get(this.id);
    show(this.content, Boolean(this.incident));
    show(this.missing, !this.incident);
    if (!this.incident) {
      text(this.missing, this.absent);
      if (this.absent && !this.asking && this.store.link === "live" && changed(this.missing, "tick", this.store.tick)) this.fetch();
      return;
    }
    this.draw(false);
    this.ask();
  }

  // ask fetches new curves while the log moves, and revisions where there is one.
  async ask() {
    const { incident, store } = this;
    const done = incident.state !== "open" && this.askedAt > instant(incident.updated) + aftermath;
    if (this.asking || this.curves.taken && (done || !(store.tick - this.askedAt >= between))) return;
    this.asking = true;
    this.askedAt = Number.isFinite(store.tick) ? store.tick : this.askedAt;
    const since = this.curves.since;
    const path = `/api/v1/incidents/${encodeURIComponent(this.id)}`;
    try {
      this.curves.take(await get(`${path}/curves${since ? `?since=${encodeURIComponent(since)}` : ""}`));
      this.curves.failure = "";
    } catch (error) {
      this.curves.failure = error.message;
    }
    if (this.revisions.at(-1)?.revision !== incident.revision) {
      try { this.revisions = (await get(`${path}/revisions`)).revisions ?? []; } catch { /* asked again with the next revision */ }
    }
    this.asking = false;
    if (!this.closed) this.draw(false);
  }

  // locate asks in which racks what is touched stands, once for each set of it.
  async locate(incident) {
    const key = JSON.stringify(incident.impact?.entities ?? []);
    if (this.located === key || this.store.link !== "live") return;
    this.located = key;
    this.racks = await places(incident).catch(() => new Map());
    if (!this.closed) this.draw(false);
  }

  draw(resized) {
    const { incident, store } = this;
    if (!incident || this.closed) return;
    const now = store.tick;
    this.drawHead(incident, now);
    if (changed(this.chain, "chain", [incident.chain, incident.root, incident.impact?.jobs?.map((j) => j.job), this.chain.clientWidth]) || resized && this.chain.childElementCount === 0) {
      drawChain(this.chain, incident, now, (id) => this.curves.find(id));
    }
    this.curves.update(incident, now);
    this.drawLists(incident, now);
    this.drawVerdict(incident);
  }

  // Each part is drawn anew only when what it shows has changed: focus and
  // selection survive the second.
  drawHead(incident, now) {
    const { state, kind, severity, resolution, revision, reopens, resolved, root, title, onset, merged_into, split_from, impact } = incident;
    if (changed(this.state, "facts", [state, kind, severity, resolution, revision, reopens, resolved, root, day(now)])) replace(this.state, this.facts(incident, now));
    if (changed(this.headline, "title", [title, onset, day(now)])) replace(this.headline, sentenceOf(incident, now));
    if (changed(this.fate, "fate", [merged_into, split_from])) replace(this.fate, fateOf(incident));
    if (changed(this.cost, "impact", [impact?.jobs, kind])) replace(this.cost, impactTable(incident));
    text(this.duration, duration(lastedFor(incident, now)));
  }

  facts(incident, now) {
    const name = incident.state === "open" ? incident.severity : "resolved";
    const fact = (...parts) => h("span", { class: "fact" }, ...parts);
    return [
      h("span", { class: `badge ${tone(name)}` }, sign(name), incident.state === "open" ? `${incident.severity}${incident.kind === "risk" ? " risk" : ""}` : `resolved${incident.resolution && incident.resolution !== "recovered" ? `: ${incident.resolution}` : ""}`),
      incident.state !== "open" && fact(`was ${incident.severity}`),
      fact(incident.state === "open" ? "for " : "lasted ", this.duration),
      incident.resolved && fact("until ", timeOf(instant(incident.resolved), now)),
      ...(incident.root ? [fact("root ", entityLink(incident.root.entity), ...(incident.root.alike ?? []).flatMap((e) => [" or ", entityLink(e)])), fact(h("b", {}, incident.root.signature), " ", domainTag(incident.root.domain)), fact("confidence ", h("b", {}, percent(incident.root.confidence)))]
        : [fact(h("b", {}, "cause under investigation"), incident.alternatives?.length ? `, ${plural(incident.alternatives.length, "candidate")}` : "")]),
      fact(`revision ${incident.revision}`),
      incident.reopens > 0 && fact(`reopened ${plural(incident.reopens, "time")}`),
    ];
  }

  drawLists(incident, now) {
    const { store } = this;
    const fill = (name, from, make) => {
      const el = this.lists[name];
      show(el.parentElement, from.length > 0);
      if (changed(el, name, [from, day(now)])) replace(el, make(from));
    };
    fill("todo", incident.actions ?? [], (all) => [h("ol", { class: "actions" }, all.map((a) => action(a, incident, (deed) => this.say("done", { action: this.notes?.done?.action === deed ? null : deed })))), this.followed, runbook(incident.root)]);
    fill("unseen-facts", incident.blind_spots ?? [], (all) => h("ul", {}, all.map(blind)));
    fill("innocent", incident.ruled_out ?? [], (all) => h("ul", {}, all.map((r) => h("li", {}, domainTag(r.domain), h("p", {}, r.why)))));
    fill("alternatives", elsewhere(incident), (all) => [h("ul", {}, all.map((a) => share(a.confidence, h("b", {}, a.signature), " at ", entityLink(a.entity)))), apart(incident)]);
    fill("contributors", incident.contributors ?? [], (all) => h("ul", {}, all.map((c) => share(c.share, entityLink(c.entity)))));
    const reach = radius(incident, this.racks);
    fill("touched", [...reach.kinds, ...reach.where], () => reached(reach));
    this.locate(incident);
    fill("timeline", timelineOf(incident, this.path?.answer, store), (all) => timelineList(all, now));
    fill("revisions", this.revisions.map((r) => [r.revision, r.updated]), () => revisionList(this.revisions, now));
    fill("record", [incident.id, incident.site, incident.engine, incident.rules, incident.opened, incident.onset], () => record(incident, now));
  }

  // ------------------------------------------------ what people say about it

  buildVerdict() {
    const button = (value, label) => h("button", { type: "button", "aria-pressed": "false", "data-verdict": value, onclick: () => this.say("verdict", { verdict: this.verdict() === value ? null : value }) }, label);
    this.ack = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.say("acknowledge", {}) }, "Acknowledge");
    this.verdicts = [button("right", "right"), button("partly", "partly"), button("wrong", "wrong")];
    this.silence = h("a", { href: "/silences", "data-go": true }, "Silence …");
    this.muted = h("p", { class: "quiet" });
    this.to = h("input", { type: "text", maxlength: 100, "aria-label": "Assign to", placeholder: "who takes it" });
    this.assigning = h("form", { class: "assign", onsubmit: (e) => { e.preventDefault(); this.say("assign", { to: this.to.value.trim() || null }); } }, this.to, h("button", { type: "submit" }, "Assign"));
    this.followed = h("p", { class: "followup", role: "status", hidden: true });
    this.truth = new Truth((body) => this.say("verdict", body));
    this.noted = h("p", { class: "quiet" });
    this.complaint = h("p", { class: "complaint", role: "alert" });
    return section("verdict", "Feedback", h("div", { class: "buttons" }, this.ack, this.silence), this.muted, this.assigning, h("div", { class: "buttons" }, h("span", { class: "quiet" }, "The answer is"), this.verdicts), this.truth.el, this.noted, this.complaint);
  }

  async say(what, body) {
    text(this.complaint, "");
    try {
      this.notes = await post(`/api/v1/incidents/${encodeURIComponent(this.id)}/${what}`, body);
      if (!this.closed) this.drawVerdict(this.incident);
      return true;
    } catch (error) {
      text(this.complaint, `Not taken: ${error.message}`);
      return false;
    }
  }

  async readNotes() {
    try {
      this.notes = await get(`/api/v1/incidents/${encodeURIComponent(this.id)}/notes`);
      if (!this.closed && this.incident) this.drawVerdict(this.incident);
    } catch { /* a site may keep none */ }
  }

  // verdict as it was said last: here, or by somebody else.
  verdict() {
    const noted = this.notes?.verdict;
    return (noted && typeof noted === "object" ? noted.verdict : noted) ?? (this.notes ? null : this.incident?.verdict);
  }

  // drawDone marks what was done, and says what came of it.
  drawDone(incident) {
    const done = this.notes?.done, found = followUp(incident, done, this.store.tick);
    for (const b of this.lists.todo.querySelectorAll("[data-deed]")) attr(b, "aria-pressed", String(b.dataset.deed === done?.action));
    show(this.followed, Boolean(found));
    attr(this.followed, "data-state", found?.state ?? null);
    text(this.followed, found?.words ?? "");
  }

  drawVerdict(incident) {
    this.drawDone(incident);
    if (changed(this.noted, "verdict", incident.verdict) && this.notes) this.readNotes();
    for (const b of this.verdicts) attr(b, "aria-pressed", b.dataset.verdict === this.verdict());
    this.truth.update(incident, this.verdict());
    const acknowledged = this.notes?.acknowledged;
    attr(this.ack, "aria-pressed", String(Boolean(acknowledged)));
    attr(this.silence, "href", linkToSilence(incident));
    const muted = this.notes?.silenced_by ?? [];
    text(this.muted, muted.length ? "Silenced: its messages are held back." : "");
    text(this.ack, acknowledged ? "Acknowledged" : "Acknowledge");
    if (changed(this.noted, "notes", this.notes)) replace(this.noted, noteOf("Acknowledged", acknowledged, this.store.tick), assignedTo(this.notes?.assigned, this.store.tick), noteOf("Verdict", this.notes?.verdict, this.store.tick));
  }
}

// ---------------------------------------------------------------- its parts

function fateOf(incident) {
  const link = (id) => h("a", { href: addressOf(id), "data-go": true }, id);
  if (incident.merged_into) return ["Merged into ", link(incident.merged_into), "."];
  return incident.split_from ? ["Split from ", link(incident.split_from), "."] : null;
}

// expectedWords say what a slowdown is measured by where that is not what was before:
// the mean of the usual steps, those with a checkpoint in them too.
function expectedWords(j) {
  return j.expected > 0 && Math.abs(j.expected / j.before - 1) > 0.01 ? h("span", { class: "quiet", title: "the mean of the job's usual steps, those with a checkpoint among them: what a step would take without this" }, ` of ${quantity(j.expected, "s")} expected`) : null;
}

function impactTable(incident) {
  const jobs = incident.impact?.jobs ?? [];
  if (jobs.length === 0) return h("p", { class: "quiet" }, incident.kind === "risk" ? "No job is degraded yet." : "No job is degraded by it now.");
  const mfu = jobs.some((j) => j.mfu_before !== null && j.mfu_before !== undefined || j.mfu_now !== null && j.mfu_now !== undefined);
  const peak = Math.max(...jobs.flatMap((j) => [j.before ?? 0, j.now ?? 0, j.expected ?? 0]));
  const cell = (label, cls, ...parts) => h("td", { class: cls, "data-label": label }, ...parts);
  return h("table", { class: "impact" },
    h("caption", { class: "unseen" }, "What it costs each job"),
    h("thead", {}, h("tr", {}, ["Job", "State", measureName(jobs[0]), "Before, now", "Slower", mfu && "MFU", "Lost", "Share of its loss"].filter((x) => x !== false).map((x) => h("th", { scope: "col" }, x)))),
    h("tbody", {}, jobs.map((j) => h("tr", {},
      h("th", { scope: "row" }, entityLink(j.job)),
      cell("State", "jobstate", h("span", { class: tone(j.state) }, sign(j.state), j.state)),
      cell(measureName(j), "num big", j.state === "stalled" && j.now === null ? `${quantity(j.before, unitOf(j), j.measure)} → none ends` : change(j.before, j.now, unitOf(j), j.measure)),
      cell("Before, now", "bars", bars(j, peak)),
      cell("Slower", "num", factor(j.slowdown), expectedWords(j)),
      mfu && cell("MFU", "num", change(j.mfu_before, j.mfu_now, "1", "job_mfu_ratio"), j.slowdown > 1.01 && j.mfu_now > j.mfu_before && h("span", { class: "quiet" }, " rises: the job reports more work in each step")),
      cell("Lost", "num big", h("span", { title: `${quantity(j.gpu_seconds_lost, "1")} GPU-seconds` }, gpuTime(j.gpu_seconds_lost))),
      cell("Share of its loss", "num", percent(j.share))))));
}

function measureName(j) { return j.measure === "job_step_seconds" || !j.measure ? "Step" : j.measure.replace(/^job_/, "").replaceAll("_", " "); }
function unitOf(j) { return /_seconds(_p\d+)?$/.test(j.measure ?? "job_step_seconds") ? "s" : "1"; }

// bars draws before and now to one scale, with a tick where it would be without
// the root.
function bars(j, peak) {
  const w = (v) => `${(100 * (v ?? 0)) / (peak || 1)}%`;
  return s("svg", { class: "bars", height: 15, "aria-hidden": "true" },
    s("rect", { class: "before", x: 0, y: 1, height: 4, width: w(j.before) }),
    s("rect", { class: "now", x: 0, y: 7, height: 5, width: w(j.now) }),
    j.expected > 0 && s("line", { class: "expected", x1: w(j.expected), x2: w(j.expected), y1: 5, y2: 14 }));
}

// noteOf says who said it, and when, where that is known.
function noteOf(what, note, now) {
  if (!note || typeof note !== "object") return null;
  const by = note.by ? ` by ${note.by}` : "", at = instant(note.at ?? note.time);
  if (!by && !Number.isFinite(at) && !note.text) return null;
  return h("span", {}, `${what}${by}`, Number.isFinite(at) && [" at ", timeOf(at, now)], note.text ? `: ${note.text}. ` : ". ");
}

// assignedTo says whose it is.
function assignedTo(note, now) {
  if (!note?.to) return null;
  const at = instant(note.at ?? note.time);
  return h("span", {}, "Assigned to ", h("b", {}, note.to), note.by ? ` by ${note.by}` : "", Number.isFinite(at) && [" at ", timeOf(at, now)], ". ");
}

function action(a, incident, did) {
  const done = h("button", { type: "button", class: "copy done", "aria-pressed": "false", "data-deed": deedOf(a), onclick: () => did(deedOf(a)) }, "done");
  return h("li", {}, h("p", {}, h("b", { class: "kind" }, a.kind), " ", entityLink(a.target), copyButton(`what to do: ${a.kind} ${called(a.target)}`, () => `${a.kind} ${a.target}: ${a.text}`), done), h("p", {}, a.text), commandList(a, incident));
}

// runbook leads to what a signature's runbook says, where a root is named.
function runbook(root) {
  return root && root.signature !== "unknown" && h("p", {}, h("a", { class: "runbook", href: `/api/v1/runbooks/${encodeURIComponent(root.signature)}` }, `Runbook: ${root.signature}`));
}

function blind(b) {
  return h("li", {}, h("p", {}, h("code", {}, b.metric || "everything"), " of ", entityLink(b.entity), b.reason ? `: ${b.reason}.` : "."), b.would_tell && h("p", { class: "quiet" }, `It would distinguish ${b.would_tell}.`));
}

function share(v, ...what) {
  const bar = s("svg", { class: "share", width: 48, height: 8, "aria-hidden": "true" }, s("rect", { class: "all", width: 48, height: 8 }), s("rect", { class: "part", width: Math.max(1, 48 * Math.min(1, v || 0)), height: 8 }));
  return h("li", { class: "shareof" }, bar, h("b", { class: "num" }, percent(v)), h("span", {}, ...what));
}

// elsewhere lists the alternatives that are not what the root's place includes.
function elsewhere({ root, alternatives = [] }) {
  return alternatives.filter((a) => !(a.signature === root?.signature && root.alike?.includes(a.entity)));
}

// apart says what would distinguish the answer from the others, as far as that is known.
function apart(incident) {
  const would = [...new Set((incident.blind_spots ?? []).filter((b) => b.would_tell).map((b) => `${b.metric || "a sample"} of ${called(b.entity)} would distinguish ${b.would_tell}`))];
  const close = elsewhere(incident).some((a) => a.confidence > 0.5 * (incident.root?.confidence ?? 0));
  return h("p", { class: "quiet" }, would.length ? `${would.join("; ")}.` : close ? "No data distinguishes them." : "The data contradicts them.");
}

// reached says how far it reaches: entities by kind, where they are, and which.
function reached({ kinds, where, jobs }) {
  const some = 12;
  const list = (part) => part.flatMap((id, i) => [i > 0 ? ", " : "", entityLink(id)]);
  return [
    jobs.length > 0 && h("p", {}, jobs.flatMap((j, i) => [i > 0 ? ", " : "Degrades ", h("a", { href: addressOfJob(j), "data-go": true }, called(j))]), "."),
    h("ul", { class: "reach" }, kinds.map(([kind, all]) => h("li", {}, all.length <= some ? [`${plural(all.length, kind, kind === "switch" ? "switches" : undefined)}: `, list(all)]
      : h("details", {}, h("summary", {}, plural(all.length, kind, kind === "switch" ? "switches" : undefined)), h("p", { class: "entities" }, list(all.slice(0, 2000)), all.length > 2000 ? ` and ${all.length - 2000} more` : ""))))),
    where.length > 0 && h("p", {}, "In ", where.slice(0, 12).map(([rack, n], i) => [i > 0 ? ", " : "", entityLink(rack), n > 1 && h("span", { class: "quiet" }, ` (${n})`)]), where.length > 12 && ` and ${where.length - 12} more racks`, "."),
  ];
}

function revisionList(revisions, now) {
  return h("ol", { class: "revisions" }, [...revisions].reverse().map((r, i, all) => h("li", {},
    h("p", {}, h("b", {}, `${r.revision}`), " ", timeOf(instant(r.updated), now)),
    h("ul", {}, differences(all[i + 1], r).map((d) => h("li", {}, d))))));
}

function record(incident, now) {
  const raw = `/api/v1/incidents/${encodeURIComponent(incident.id)}`;
  const server = location.origin === "http://127.0.0.1:8420" ? "" : ` --server ${location.origin}`;
  const command = `quintet capture --incident ${incident.id} -o ${incident.id}.qtrace${server}`;
  const row = (name, ...value) => [h("dt", {}, name), h("dd", {}, ...value)];
  return [
    h("dl", {}, row("incident", h("code", {}, incident.id)), row("began", onsetOf(incident.onset, now)), row("opened", timeOf(instant(incident.opened), now)), row("site", incident.site || NONE), row("engine", incident.engine), row("rules", h("code", {}, incident.rules))),
    h("p", {}, "Raw: ", h("a", { href: raw }, "incident"), ", ", h("a", { href: `${raw}/curves` }, "curves"), ", ", h("a", { href: `${raw}/revisions` }, "revisions"), NBSP, "(JSON)"),
    h("p", {}, "Keep its evidence, to replay it:"),
    h("div", { class: "command" }, h("code", {}, command), copyButton("the command", () => command)),
  ];
}
