// What changed from one revision of an incident to the next. Pure.

import { called, percent, factor } from "./format.js";

/** differences says in words what newer says that older did not; all of a first revision. */
export function differences(older, newer) {
  if (!older) return [`Opened as ${newer.severity}: ${newer.root.signature} at ${called(newer.root.entity)}, confidence ${percent(newer.root.confidence)}.`];
  const out = [];
  if (older.state !== newer.state) out.push(newer.state === "open" ? "Opened again." : `Resolved: ${newer.resolution ?? "recovered"}.`);
  if (older.kind !== newer.kind) out.push(`From ${older.kind} to ${newer.kind}.`);
  if (older.severity !== newer.severity) out.push(`Severity from ${older.severity} to ${newer.severity}.`);
  if (older.root.entity !== newer.root.entity) out.push(`Root from ${called(older.root.entity)} to ${called(newer.root.entity)}.`);
  if (older.root.signature !== newer.root.signature) out.push(`From ${older.root.signature} to ${newer.root.signature}.`);
  out.push(...sets("hurt", jobsOf(older), jobsOf(newer)), ...sets("blind", blindOf(older), blindOf(newer)));
  const a = worst(older), b = worst(newer);
  if (differs(a, b, 0.05)) out.push(`Slowdown from ${factor(a)} to ${factor(b)}.`);
  if (Math.abs(older.root.confidence - newer.root.confidence) >= 0.005) out.push(`Confidence from ${percent(older.root.confidence)} to ${percent(newer.root.confidence)}.`);
  return out.length ? out : ["Figures only."];
}

function sets(kind, older, newer) {
  const word = { hurt: ["Also degraded", "No longer degraded"], blind: ["Also not seen", "Now seen"] }[kind];
  const more = newer.filter((x) => !older.includes(x)), fewer = older.filter((x) => !newer.includes(x));
  return [more.length && `${word[0]}: ${more.join(", ")}.`, fewer.length && `${word[1]}: ${fewer.join(", ")}.`].filter(Boolean);
}

function jobsOf(i) { return (i.impact?.jobs ?? []).map((j) => called(j.job)); }
function blindOf(i) { return (i.blind_spots ?? []).map((b) => `${b.metric} of ${called(b.entity)}`); }

function worst(i) {
  const all = (i.impact?.jobs ?? []).map((j) => j.slowdown).filter((v) => typeof v === "number");
  return all.length ? Math.max(...all) : null;
}

function differs(a, b, band) { return (a === null) !== (b === null) || a !== null && Math.abs(b - a) > band * Math.max(a, b); }
