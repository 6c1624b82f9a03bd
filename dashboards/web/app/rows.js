// The lists: a line per incident, a line per job.

import { height, sparkline, width } from "./sparkline.js";
import { h, s, text, attr, show, replace, changed, keyed } from "./dom.js";
import { day, duration, factor, gpuTime, mfu, quantity, called, interval, plural, NONE } from "./format.js";
import { sign, tone, domainSign, domainClass } from "./words.js";
import { isDegraded } from "./store.js";
import { setTime, sentenceOf, lastedFor, lossOf, rootOf, addressOf, addressOfJob, entityOf } from "./parts.js";

/** incidentList brings list's children up to incidents, a line each. */
export function incidentList(list, incidents, now) {
  keyed(list, incidents, { key: (i) => i.id, create: incidentRow, update: (row, i) => updateIncident(row, i, now) });
}

function incidentRow(incident) {
  const part = (cls, ...more) => h("span", { class: cls }, ...more);
  return h("li", {}, h("a", { class: "row incident-row", href: addressOf(incident.id), "data-go": true, "data-row": true },
    part("mark"), part("sentence"), part("since", h("span", { class: "unseen" }, "since "), h("time", {}), h("span", { class: "for" })), part("loss"), part("root")));
}

function updateIncident(li, incident, now) {
  const row = li.firstChild, get = (cls) => row.querySelector(`:scope > .${cls}`);
  const name = incident.state === "open" ? incident.severity : "resolved";
  if (changed(row, "words", [incident.title, incident.onset, incident.root, incident.state, incident.severity, incident.kind, day(now)])) {
    replace(get("mark"), sign(name), h("span", { class: "unseen" }, `${name}${incident.kind === "risk" ? " risk" : ""}: `));
    attr(row, "data-state", incident.state);
    replace(get("sentence"), sentenceOf(incident, now));
    const domain = incident.root?.domain;
    replace(get("root"), h("span", { class: `at ${domainClass(domain)}`, title: incident.root?.entity }, domainSign(domain), rootOf(incident)), h("span", { class: "signature" }, incident.root?.signature ?? ""));
  }
  setTime(get("since").querySelector("time"), interval(incident.onset).middle, now);
  text(get("since").lastChild, `${incident.state === "open" ? "for" : "lasted"} ${duration(lastedFor(incident, now))}`);
  text(get("loss"), incident.kind === "risk" && lossOf(incident) === 0 ? "risk" : `${gpuTime(lossOf(incident))} lost`);
}

/** jobList brings list's children up to jobs, a line each with its sparkline. */
export function jobList(list, jobs, store) {
  const seen = (list.watched ??= watcher(store));
  const create = (job) => { const row = jobRow(job); seen.observe(row); return row; };
  keyed(list, jobs, { key: (j) => j.job, create, update: (row, job) => updateJob(row, job, store) });
}

// Only lines on the screen have their sparklines drawn anew.
function watcher(store) {
  return new IntersectionObserver((entries) => {
    for (const e of entries) {
      e.target.onScreen = e.isIntersecting;
      if (e.isIntersecting) drawSpark(e.target, store);
    }
  }, { rootMargin: "200px" });
}

function jobRow(job) {
  const part = (cls, label) => h("span", { class: cls, "data-label": label });
  const li = h("li", {}, h("a", { class: "row job-row", "data-go": true, "data-row": true },
    h("span", { class: "job" }, entityOf(job.job)), part("jobstate"), s("svg", { class: "spark", "aria-hidden": "true" }),
    part("step num"), part("usual num"), part("slower num"), part("mfu num"), part("gpus num")));
  li.dataset.job = job.job;
  return li;
}

function updateJob(li, job, store) {
  const row = li.firstChild;
  li.usual = job.usual_step_seconds;
  if (changed(row, "job", job)) {
    const get = (cls) => row.querySelector(`:scope > .${cls}`);
    if (changed(row, "state", job.state)) replace(get("jobstate"), h("span", { class: tone(job.state) }, sign(job.state), job.state ?? ""));
    text(get("step"), job.step_seconds > 0 ? `last ${quantity(job.step_seconds, "s")}` : NONE);
    attr(get("step"), "data-checkpoint", job.checkpoint_in_step ? "with a checkpoint" : null);
    text(get("usual"), job.usual_step_seconds > 0 ? `usual ${quantity(job.usual_step_seconds, "s")}` : "");
    text(get("slower"), job.slowdown > 0 ? factor(job.slowdown) : NONE);
    attr(get("slower"), "title", "its last steps, as a multiple of the usual one");
    attr(get("slower"), "data-degraded", isDegraded(job) ? "" : null);
    text(get("mfu"), typeof job.mfu === "number" ? `last MFU ${mfu(job.mfu)}` : "");
    text(get("gpus"), job.gpus > 0 ? plural(job.gpus, "GPU") : "");
    attr(row, "href", addressOfJob(job.job));
  }
  if (li.onScreen) drawSpark(li, store);
}

// drawSpark draws the last steps, with the usual step as a line.
function drawSpark(li, store) {
  const kept = store.steps.get(li.dataset.job), svg = li.querySelector(".spark");
  if (!kept || kept.t.length < 2 || !changed(svg, "steps", [kept.t.at(-1), kept.t.length, li.usual])) return;
  attr(svg, "viewBox", `0 0 ${width} ${height}`);
  attr(svg, "preserveAspectRatio", "none");
  const drawn = sparkline(kept, li.usual);
  replace(svg, s("path", { class: "zero", d: `M0 ${height - 1}H${width}` }),
    drawn.usual !== null && s("path", { class: "usual", d: `M0 ${drawn.usual}H${width}` }), s("path", { class: "curve", d: drawn.curve }),
    drawn.checkpoints.map((x) => s("path", { class: "checkpoint", d: `M${x} 0V${height}` })));
}

/** nothing says that a list is empty, and why. */
export function nothing(el, words) {
  show(el, words !== "");
  text(el, words);
}
