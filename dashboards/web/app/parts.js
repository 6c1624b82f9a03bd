// Pieces that several views are made of.

import { h, text, attr } from "./dom.js";
import { when, universal, called, entity, interval, instant, sentence, NBSP } from "./format.js";
import { domainSign, domainClass } from "./words.js";

/** timeOf is an instant in local time, with UTC on hover. now decides whether the date is written. */
export function timeOf(ms, now) {
  const el = h("time", {});
  setTime(el, ms, now);
  return el;
}

/** setTime brings such an element up to date. */
export function setTime(el, ms, now = ms) {
  text(el, when(ms, now));
  attr(el, "title", universal(ms));
  attr(el, "datetime", Number.isFinite(ms) ? new Date(ms).toISOString() : null);
}

/** onsetOf is an interval as "02:46:41 ± 2 s". */
export function onsetOf(iv, now) {
  const { middle, half, from, to } = interval(iv);
  const el = h("span", { class: "onset", title: `between ${universal(from)} and ${universal(to)}` });
  el.append(timeOf(middle, now));
  if (half >= 0.05) el.append(`${NBSP}±${NBSP}${half < 1 ? half.toFixed(1) : Math.round(half)}${NBSP}s`);
  return el;
}

/** entityOf is an entity as its kind, small, and its name. */
export function entityOf(id) {
  const e = entity(id);
  return h("span", { class: "entity", title: id }, e.kind && h("span", { class: "kind" }, e.kind), e.kind && " ", h("span", { class: "name" }, e.name));
}

/** domainTag is a domain's sign with its name. */
export function domainTag(domain) {
  return h("span", { class: `domain ${domainClass(domain)}` }, domainSign(domain), domain);
}

// The sentence has the onset's middle in UTC, as the webhook must. Here it is
// written as all times of the page are, if it is certain which words mean it.
const since = /\bsince (\d\d:\d\d:\d\d)\b/;

/** sentenceOf is an incident's title: the effect, strong, and the cause. */
export function sentenceOf(incident, now) {
  const [effect, cause] = sentence(String(incident.title ?? ""));
  const found = since.exec(effect), { middle } = interval(incident.onset);
  const strong = h("strong", {});
  if (found && clocks(middle).includes(found[1])) {
    strong.append(effect.slice(0, found.index) + "since ", timeOf(middle, now), effect.slice(found.index + found[0].length));
  } else {
    strong.append(effect);
  }
  return [strong, cause && h("span", { class: "cause" }, ` ${cause}`)];
}

function clocks(ms) { return Number.isFinite(ms) ? [-1000, 0, 1000].map((d) => new Date(ms + d).toISOString().slice(11, 19)) : []; }

/** lastedFor is for how many seconds an incident has gone on, or went on, since its onset. */
export function lastedFor(incident, tick) {
  const end = incident.resolved ? instant(incident.resolved) : tick;
  return (end - interval(incident.onset).middle) / 1000;
}

/** lossOf is the GPU-seconds that an incident cost. */
export function lossOf(incident) {
  return (incident.impact?.jobs ?? []).reduce((sum, job) => sum + (job.gpu_seconds_lost ?? 0), 0);
}

/** rootOf is an incident's root in words, for lists. */
export function rootOf(incident) { return incident.root?.entity ? called(incident.root.entity) : "cause under investigation"; }

/** addressOfEntity is the page's address of an entity; a job has its own view. */
export function addressOfEntity(id) { return String(id).startsWith("job:") ? addressOfJob(id) : `/entity?of=${encodeURIComponent(id)}`; }

/** entityLink is an entity as entityOf, leading to its page. */
export function entityLink(id) {
  const e = entity(id);
  return h("a", { class: "entity", title: id, href: addressOfEntity(id), "data-go": true }, e.kind && h("span", { class: "kind" }, e.kind), e.kind && " ", h("span", { class: "name" }, e.name));
}

/** addressOf is the page's address of an incident. */
export function addressOf(id) { return `/incidents/${encodeURIComponent(id)}`; }

/** addressOfJob is the page's address of a job. */
export function addressOfJob(id) { return `/jobs/${encodeURIComponent(String(id).replace(/^job:/, ""))}`; }

/** section is a titled part of a view. */
export function section(name, title, ...children) {
  const id = `h-${name}`;
  return h("section", { class: name, "aria-labelledby": id }, h("h2", { id }, title), ...children);
}
