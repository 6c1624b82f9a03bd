// Losses and coupling are asked for every quarter of a minute, incidents come as they
// change: here the older answer is brought up to the newer, so that one screen does
// not state two figures for the same loss. Pure.

import { instant } from "./format.js";
import { domains } from "./words.js";

const keyOf = (root, signature) => `${root ?? ""}\n${root ? signature ?? "" : ""}`;

/** lostIn are the GPU-seconds that an incident cost, all jobs together or one. */
export function lostIn(incident, job = "") { return (incident.impact?.jobs ?? []).filter((j) => !job || j.job === job).reduce((sum, j) => sum + (j.gpu_seconds_lost ?? 0), 0); }

// passes are the pairs of domains that an incident's chain goes through, each once.
function passes(incident) {
  const chain = incident.chain ?? [], out = new Map();
  for (let i = 1; i < chain.length; i++) out.set(`${chain[i - 1].domain} ${chain[i].domain}`, [domains.indexOf(chain[i - 1].domain), domains.indexOf(chain[i].domain)]);
  return [...out.values()].filter(([a, b]) => a >= 0 && b >= 0);
}

/**
 * upToDate is {losses, coupling} with what open incidents have cost since they were
 * answered. A cause whose incidents are not all known, or began before the window,
 * stays as it was answered.
 */
export function upToDate({ losses, coupling }, incidents, job = "") {
  if (!losses?.causes) return { losses, coupling };
  const begins = instant(losses.from), grown = new Map();
  for (const i of incidents) {
    if (i.merged_into || lostIn(i, job) === 0) continue;
    const key = keyOf(i.root?.entity, i.root?.signature), known = grown.get(key) ?? { sum: 0, open: null, old: false };
    known.sum += lostIn(i, job);
    if (i.state === "open") known.open = i;
    if (instant(i.onset?.earliest) < begins) known.old = true;
    grown.set(key, known);
  }
  const out = { ...losses, causes: losses.causes.map((c) => ({ ...c })), domains: (losses.domains ?? []).map((d) => ({ ...d })), unknown: losses.unknown && { ...losses.unknown } };
  const flow = coupling?.coupling && { ...coupling, coupling: coupling.coupling.map((row) => [...row]) };
  for (const [key, { sum, open, old }] of grown) {
    if (!open || old) continue;
    const { root } = open, cause = root ? out.causes.find((c) => keyOf(c.root, c.signature) === key) : out.unknown;
    const more = sum - (cause?.gpu_seconds_lost ?? 0);
    if (!(more > 0) || !cause && !(instant(open.opened) > instant(losses.to))) continue; // a root that changed since is in the next answer
    if (cause) cause.gpu_seconds_lost = sum;
    else if (root) out.causes.push({ root: root.entity, signature: root.signature, domain: root.domain, gpu_seconds_lost: sum, jobs: open.impact.jobs.map((j) => j.job) });
    out.gpu_seconds_lost = (out.gpu_seconds_lost ?? 0) + more;
    const domain = out.domains.find((d) => d.domain === root?.domain);
    if (domain) domain.gpu_seconds_lost += more;
    if (flow) for (const [a, b] of passes(open)) if (flow.coupling[a]?.[b] > 0 || !cause) flow.coupling[a][b] += more;
  }
  out.causes.sort((a, b) => b.gpu_seconds_lost - a.gpu_seconds_lost);
  return { losses: out, coupling: flow || coupling };
}
