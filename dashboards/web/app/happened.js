// Events of an incident as its curves show them: checkpoints as intervals, the
// others as marks. Pure.

import { instant } from "./format.js";

const begin = "checkpoint_started", end = "checkpoint_ended";

// name is what an event is, without what it says beside: "link_down" of "link_down: no light".
function name(event) { return String(event.text ?? "").split(":")[0].trim(); }

/** checkpointsOf lists the checkpoints of an incident's jobs: job -> [[from, to]], ms; one that has not ended ends at now. */
export function checkpointsOf(incident, now) {
  const out = new Map(), since = new Map();
  for (const e of incident.related ?? []) {
    const at = instant(e.at), what = name(e);
    if (what === begin) since.set(e.entity, at);
    if (what !== end || !since.has(e.entity)) continue;
    out.set(e.entity, [...(out.get(e.entity) ?? []), [since.get(e.entity), at]]);
    since.delete(e.entity);
  }
  for (const [job, at] of since) out.set(job, [...(out.get(job) ?? []), [at, now]]);
  return out;
}

/** marksOf lists the other events of an incident's equipment: [{at, entity, text}]. */
export function marksOf(incident) {
  return (incident.related ?? []).filter((e) => !String(e.entity).startsWith("job:")).map((e) => ({ at: instant(e.at), entity: e.entity, text: String(e.text ?? "").replaceAll("_", " ") })).filter((m) => Number.isFinite(m.at));
}

/** within reports whether a step that ended at an instant, in ms, and took some seconds overlaps one of the intervals. */
export function within(intervals, at, seconds) { return (intervals ?? []).some(([a, b]) => at > a && at - seconds * 1000 < b); }
