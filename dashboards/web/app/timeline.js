// What happened on an incident's path, by time: onsets of its chain, events,
// alerts that it includes, and risks at the same entities.

import { h } from "./dom.js";
import { instant, interval, change } from "./format.js";
import { metricName, sign } from "./words.js";
import { timeOf, entityLink, addressOf } from "./parts.js";

/** pathOf is the set of entities on the path of an incident: its root and its chain. */
export function pathOf(incident) {
  return new Set([incident.root?.entity, ...(incident.chain ?? []).map((l) => l.entity)].filter(Boolean));
}

/** belongsTo finds the open incident that includes a risk: one with the risk's root on its path, as the server counts them. */
export function belongsTo(risk, incidents) {
  if (risk.kind !== "risk" || !risk.root?.entity) return null;
  return incidents.find((i) => i.kind !== "risk" && i.state === "open" && pathOf(i).has(risk.root.entity)) ?? null;
}

/** timelineOf lists what happened on the path: {at, kind, entity, words, href, severity: of an alert}, by time. */
export function timelineOf(incident, alerts, store) {
  const out = [{ at: instant(incident.opened), kind: "opened", words: `opened as ${incident.severity}` }];
  if (incident.resolved) out.push({ at: instant(incident.resolved), kind: "resolved", words: `resolved${incident.resolution ? `: ${incident.resolution}` : ""}` });
  for (const l of incident.chain ?? []) out.push({ at: interval(l.onset).middle, kind: "onset", entity: l.entity, words: `${metricName(l.metric)} ${change(l.before, l.now, l.unit, l.metric)}` });
  for (const r of incident.related ?? []) out.push({ at: instant(r.at), kind: r.kind ?? "event", entity: r.entity, words: eventWords(r.text) });
  const path = pathOf(incident);
  for (const a of alerts?.alerts ?? []) {
    const during = instant(a.opened) <= (instant(incident.resolved) || Infinity) && (instant(a.resolved) || Infinity) >= interval(incident.onset).from;
    if (alerts.notes?.[a.id]?.incident === incident.id || a.severity !== "info" && during && path.has(a.root?.entity)) out.push({ at: instant(a.opened), kind: "alert", entity: a.root?.entity, words: a.title, severity: a.severity, href: `/alerts/${encodeURIComponent(a.id)}` });
  }
  for (const i of store.incidents.values()) if (belongsTo(i, [incident])) out.push({ at: interval(i.onset).middle, kind: "risk", entity: i.root.entity, words: i.title, href: addressOf(i.id) });
  return out.filter((x) => Number.isFinite(x.at)).sort((a, b) => a.at - b.at);
}

// eventWords is an event as read: its name in words; facts of a job's model are not for reading.
function eventWords(said) {
  const [name, ...rest] = String(said ?? "").split(": ");
  return [name.replaceAll("_", " "), name === "job_model" ? "" : rest.join(": ")].filter(Boolean).join(": ");
}

const marks = { risk: "at_risk", opened: "warning", resolved: "resolved", onset: "degraded", event: "info" };

/** timelineList draws them. */
export function timelineList(all, now) {
  return h("ol", { class: "timeline" }, all.map((x) => h("li", { "data-kind": x.kind }, timeOf(x.at, now), " ", h("span", { class: "what" }, sign(x.severity ?? marks[x.kind] ?? "info"), x.kind), " ",
    h("span", { class: "said" }, x.entity && entityLink(x.entity), " ", x.href ? h("a", { href: x.href, "data-go": true }, x.words) : x.words))));
}
