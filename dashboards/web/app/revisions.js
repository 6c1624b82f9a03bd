// What changed from one revision of an incident to the next. Pure.

import { called, percent, factor } from "./format.js";

/** differences says in words what newer says that older did not; all of a first revision. */
export function differences(older, newer) {
  const was = rootOf(older), is = rootOf(newer);
  if (!older) return [`Opened as ${newer.severity}: ${is.entity ? `${is.signature} at ${called(is.entity)}, confidence ${percent(is.confidence)}` : "cause under investigation"}.`];
  const out = [];
  if (older.state !== newer.state) out.push(newer.state === "open" ? "Opened again." : `Resolved: ${newer.resolution ?? "recovered"}.`);
  if (older.kind !== newer.kind) out.push(`From ${older.kind} to ${newer.kind}.`);
  if (older.severity !== newer.severity) out.push(`Severity from ${older.severity} to ${newer.severity}.`);
  if (was.entity !== is.entity) out.push(was.entity ? `Root from ${called(was.entity)} to ${is.entity ? called(is.entity) : "under investigation"}.` : `Root found: ${called(is.entity)}.`);
  if (was.signature !== is.signature && is.signature) out.push(was.signature ? `From ${was.signature} to ${is.signature}.` : `Signature ${is.signature}.`);
  out.push(...sets("degraded", jobsOf(older), jobsOf(newer)), ...sets("blind", blindOf(older), blindOf(newer)));
  const a = worst(older), b = worst(newer);
  if (differs(a, b, 0.05)) out.push(`Slowdown from ${factor(a)} to ${factor(b)}.`);
  if (Math.abs(was.confidence - is.confidence) >= 0.005) out.push(`Confidence from ${percent(was.confidence)} to ${percent(is.confidence)}.`);
  return out.length ? out : ["Figures only."];
}

const mostNames = 3; // that one difference lists

function rootOf(i) { return i?.root ?? { entity: "", signature: "", confidence: NaN }; }

function sets(kind, older, newer) {
  const word = { degraded: ["Also degraded", "No longer degraded"], blind: ["Also not seen", "Now seen"] }[kind];
  const more = newer.filter((x) => !older.includes(x)), fewer = older.filter((x) => !newer.includes(x));
  return [more.length && `${word[0]}: ${some(more)}.`, fewer.length && `${word[1]}: ${some(fewer)}.`].filter(Boolean);
}

function some(names) { return names.slice(0, mostNames).join(", ") + (names.length > mostNames ? ` and ${names.length - mostNames} more` : ""); }

function jobsOf(i) { return (i.impact?.jobs ?? []).map((j) => called(j.job)); }
function blindOf(i) { return (i.blind_spots ?? []).map((b) => `${b.metric} of ${called(b.entity)}`); }

function worst(i) {
  const all = (i.impact?.jobs ?? []).map((j) => j.slowdown).filter((v) => typeof v === "number");
  return all.length ? Math.max(...all) : null;
}

function differs(a, b, band) { return (a === null) !== (b === null) || a !== null && Math.abs(b - a) > band * Math.max(a, b); }
