// Whether an action helped: what came of an incident after somebody said that it was
// done. Pure.

import { duration, factor, instant, called } from "./format.js";

const patience = 180e3; // ms of the log after which a degraded job that has not recovered says that it did not help

/** deedOf names an action: "drain node:n0311". */
export function deedOf(action) { return `${action.kind} ${action.target}`; }

/** followUp says what came of an incident after a note of what was done: {state: "helped", "not", "waiting", "before" or "ended", words}; null where nothing was done. */
export function followUp(incident, done, now) {
  const at = instant(done?.at), what = done?.action ?? "";
  if (!what || !Number.isFinite(at)) return null;
  const end = instant(incident.resolved), since = (t) => duration((t - at) / 1000);
  if (end < at) return { state: "before", words: `The incident was over before ${what}.` };
  if (end >= at) {
    const recovered = incident.resolution === "recovered" || incident.resolution === null || incident.resolution === undefined;
    return recovered ? { state: "helped", words: `It helped: the incident ended ${since(end)} after ${what}.` } : { state: "ended", words: `The incident ended ${since(end)} after ${what}: ${incident.resolution}.` };
  }
  const degraded = (incident.impact?.jobs ?? []).filter((j) => j.state !== "healthy").map((j) => `${called(j.job)} ${j.slowdown > 1 ? `takes ${factor(j.slowdown)} as long` : `is ${j.state}`}`);
  if (!(now - at >= patience)) return { state: "waiting", words: `Watching whether it helped: ${now > at ? since(now) : "0 s"} since ${what}.` };
  return { state: "not", words: `It has not helped: ${since(now)} after ${what}, ${degraded.length ? degraded.join(", ") : "the incident is still open"}. See the alternatives, or say that the answer is wrong.` };
}
