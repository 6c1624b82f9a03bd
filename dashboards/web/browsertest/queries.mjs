// Prints what the maps ask of the history, as {name: question}.

import { measures, bySwitch, byPort, byEveryPort, variants } from "../app/measures.js";
import { usual, details, named } from "../app/supply.js";

const all = {};
for (const m of measures.flatMap(variants)) {
  bySwitch(m).forEach((q, i) => { all[`fabric ${m.name} ${m.unit}, ${i === 0 ? "recorded" : "of counters"}`] = q; });
  all[`every port ${m.name} ${m.unit}`] = byEveryPort(m);
  all[`switch ${m.name} ${m.unit}`] = byPort(m, "leaf3");
}
for (const { names, query } of usual) all[`power ${names.join(", ")}`] = query;
for (const [name, q] of Object.entries(details)) for (const nodes of ["", named(["node:n1", "node:n2.a"])]) all[`power ${name} of ${nodes || "all"}`] = q(nodes);
console.log(JSON.stringify(all));
