// Where a job runs: its nodes, and what they hang on in the fabric, in power and
// in cooling. Pure.

import { bare, byName } from "./plant.js";

/**
 * placementOf reads an answer of /api/v1/topology around a job: [{node, gpus,
 * switches, racks, cooling, power}], names sorted. Entities are as they are called.
 */
export function placementOf(job, edges) {
  const nodes = new Map(), nics = new Map();
  const of = (name) => {
    if (!nodes.has(name)) nodes.set(name, { node: `node:${name}`, gpus: new Set(), switches: new Set(), racks: new Set(), cooling: new Set(), power: new Set() });
    return nodes.get(name);
  };
  const kind = (id) => id.slice(0, id.indexOf(":")), first = (id) => bare(id).split("/")[0];
  for (const e of edges) {
    if (e.rel !== "runs" || e.from !== job || e.end) continue;
    if (kind(e.to) === "node") of(bare(e.to));
    if (kind(e.to) === "gpu") of(first(e.to)).gpus.add(e.to);
  }
  for (const e of edges) {
    const to = nodes.get(bare(e.to));
    if (e.rel === "contains" && kind(e.from) === "node" && kind(e.to) === "nic") nics.set(e.to, bare(e.from));
    if (!to || kind(e.to) !== "node") continue;
    if (e.rel === "contains" && kind(e.from) === "rack") to.racks.add(e.from);
    if (e.rel === "cools") to.cooling.add(e.from);
    if (e.rel === "feeds") to.power.add(e.from);
  }
  for (const e of edges) {
    if (e.rel !== "connects") continue;
    for (const [a, b] of [[e.from, e.to], [e.to, e.from]]) {
      const node = kind(a) === "nic" && nodes.get(nics.get(a) ?? first(a));
      if (node && kind(b) === "port") node.switches.add(`switch:${first(b)}`);
    }
  }
  const list = (set) => [...set].map((id) => ({ id })).sort(byName).map((x) => x.id);
  return [...nodes.values()].map((n) => ({ node: n.node, gpus: n.gpus.size, switches: list(n.switches), racks: list(n.racks), cooling: list(n.cooling), power: list(n.power) }))
    .sort((a, b) => byName({ id: a.node }, { id: b.node }));
}
