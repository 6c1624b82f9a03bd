// How far an incident reaches: which entities of which kinds, and in which racks.

import { get } from "./store.js";
import { bare } from "./plant.js";

const asked = 8; // nodes whose racks are asked for at once

/** radius sorts what an incident touches: {jobs, kinds: [[kind, ids]], where: [[rack, how many nodes]]}. */
export function radius(incident, racks = new Map()) {
  const jobs = (incident.impact?.jobs ?? []).map((j) => j.job), kinds = new Map(), where = new Map();
  const all = new Set([...(incident.impact?.entities ?? []), ...(incident.chain ?? []).map((l) => l.entity), incident.root?.entity].filter(Boolean));
  for (const id of all) {
    const kind = id.slice(0, id.indexOf(":"));
    if (kind === "job") continue;
    if (!kinds.has(kind)) kinds.set(kind, []);
    kinds.get(kind).push(id);
  }
  for (const node of nodesOf(incident)) {
    const rack = racks.get(node);
    if (rack) where.set(rack, (where.get(rack) ?? 0) + 1);
  }
  return { jobs, kinds: [...kinds].sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1)), where: [...where].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)) };
}

// nodesOf are the nodes that it touches, or whose parts it touches.
function nodesOf(incident) {
  const out = new Set();
  for (const id of [incident.root?.entity ?? "", ...(incident.impact?.entities ?? [])]) {
    if (id.startsWith("node:")) out.add(id);
    if (/^(gpu|nic|nvlink):/.test(id)) out.add(`node:${bare(id).split("/")[0]}`);
  }
  return [...out];
}

/** places asks for the racks of the nodes: node -> rack. Of many nodes the first few stand for all. */
export async function places(incident) {
  const found = new Map();
  await Promise.all(nodesOf(incident).slice(0, asked).map(async (node) => {
    const answer = await get(`/api/v1/topology?${new URLSearchParams({ entity: node, hops: 1 })}`);
    const inside = (answer.edges ?? []).find((e) => e.rel === "contains" && e.to === node && e.from.startsWith("rack:"));
    if (inside) found.set(node, inside.from);
  }));
  return found;
}
