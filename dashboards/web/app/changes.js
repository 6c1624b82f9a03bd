// What else changed: of the series of an entity and its neighbours, those whose
// mean over an interval differs most from that of the same time before. Pure.

import { curvesOf } from "./past.js";
import { median } from "./series.js";

const fewest = 3; // samples on either side, else there is nothing to compare
const least = 3; // times the scatter of before, below which a difference is none

/** changesOf ranks curves (as curvesOf makes them) by how far their middle after an instant lies from that before, in units of their scatter: [{entity, metric, unit, before, now, score}]. */
export function changesOf(curves, at) {
  return curves.map((c) => compared(c, at)).filter((c) => c && c.score >= least).sort((a, b) => b.score - a.score);
}

function compared({ entity, metric, unit, t, v }, at) {
  const known = v.map((x, i) => [t[i], x]).filter(([, x]) => Number.isFinite(x));
  const before = known.filter(([x]) => x < at).map(([, x]) => x), after = known.filter(([x]) => x >= at).map(([, x]) => x);
  if (before.length < fewest || after.length < fewest) return null;
  const was = median(before), now = median(after), scatter = 1.4826 * median(before.map((x) => Math.abs(x - was)));
  // A series that did not move at all changes with its first step: its own size is
  // the measure, of which a hundredth is nothing.
  const score = Math.abs(now - was) / Math.max(scatter, Math.abs(was) / 100, Number.EPSILON);
  return { entity, metric, unit, before: was, now, score: Math.min(score, 1e6) };
}

/** spanBefore is an interval with the same time before it, in so many points of seconds. */
export function spanBefore({ from, to }, points = 60) { return { from: from - (to - from), to, step: Math.max(10, Math.ceil((2 * (to - from)) / 1000 / points / 10) * 10) }; }

/** seriesOf is the question for all series of entities. */
export function seriesOf(ids) {
  const kinds = new Map();
  for (const id of ids) {
    const at = id.indexOf(":"), kind = id.slice(0, at);
    kinds.set(kind, [...(kinds.get(kind) ?? []), id.slice(at + 1).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")]);
  }
  return [...kinds].map(([kind, names]) => `{kind=${JSON.stringify(kind)},name=~${JSON.stringify(names.join("|"))},__name__!~"ALERTS.*|.*:.*"}`);
}

/** changedIn answers a range query's result as changes. */
export function changedIn(result, at, step) { return changesOf(curvesOf(result, "witness", step), at); }
