// What reaches the site's log, and how to connect something to it.

import { h, replace, changed, copyButton } from "./dom.js";
import { plural, number, quantity, instant, NONE } from "./format.js";
import { timeOf } from "./parts.js";

/** dataSources writes into el which sources report, which do not, and who reads the log. */
export function dataSources(el, store) {
  const facts = [summary(store), replicas(store.status), store.status?.log, silent(store), ended(store)];
  if (!changed(el, "sources", facts)) return;
  replace(el, sourcesTable(store), silentList(store), gapsList(store), about(store));
}

/** roundly writes seconds that were measured, with two digits: 4.99 s is an interval of 5 s. */
export function roundly(v) { return quantity(Number(v.toPrecision(2)), "s"); }

// summary sums sources by collector.
function summary(store) {
  const by = new Map();
  for (const s of store.coverage) {
    const sum = by.get(s.collector) ?? { collector: s.collector, targets: new Set(), sources: 0, series: 0, silent: 0, cadence: Infinity, offset: 0 };
    sum.targets.add(s.target);
    sum.sources++;
    sum.series += s.series ?? 0;
    sum.silent += s.silent ? 1 : 0;
    if (s.cadence_seconds > 0) sum.cadence = Math.min(sum.cadence, s.cadence_seconds);
    if (Math.abs(s.clock_offset_seconds) > Math.abs(sum.offset)) sum.offset = s.clock_offset_seconds;
    by.set(s.collector, sum);
  }
  return [...by.values()].sort((a, b) => (a.collector < b.collector ? -1 : 1)).map((s) => ({ ...s, targets: s.targets.size }));
}

function sourcesTable(store) {
  const rows = summary(store);
  if (rows.length === 0) {
    const n = store.status?.sources ?? 0;
    return h("p", { class: "quiet" }, n > 0 ? `${plural(n, "source")} reporting.` : "No source reports. On a host with RDMA devices, run ", n > 0 ? "" : h("code", {}, "quintet collect"), n > 0 ? "" : "; it reads that host.");
  }
  const num = (v) => h("td", { class: "num" }, v);
  return h("table", { class: "sources" },
    h("thead", {}, h("tr", {}, ["Collector", "Targets", "Sources", "Series", "Interval", "No data", "Clock off by"].map((x, i) => h("th", { scope: "col", class: i ? "num" : null }, x)))),
    h("tbody", {}, rows.map((r) => h("tr", {}, h("th", { scope: "row" }, r.collector), num(r.targets.toLocaleString("en")), num(r.sources.toLocaleString("en")), num(r.series.toLocaleString("en")),
      num(Number.isFinite(r.cadence) ? roundly(r.cadence) : NONE), num(r.silent ? h("b", { class: "t-warn" }, r.silent) : "0"), num(Math.abs(r.offset) < 0.0005 ? "0" : roundly(r.offset))))));
}

function silent(store) { return store.coverage.filter((s) => s.silent).slice(0, 50).map((s) => [s.collector, s.target, s.part, s.latest]); }

function silentList(store) {
  const list = silent(store);
  if (list.length === 0) return null;
  return h("details", {}, h("summary", {}, `${plural(list.length, "source")} without data`),
    h("ul", {}, list.map(([collector, target, part, latest]) => h("li", {}, `${collector} ${target}${part ? ` ${part}` : ""}, last data `, timeOf(instant(latest), store.tick)))));
}

// ended are the gaps that are over: what happened in them was not seen.
function ended(store) { return store.gaps.filter((g) => g.to).map((g) => [g.collector, g.target, g.part, g.from, g.to]); }

function gapsList(store) {
  const list = ended(store);
  if (list.length === 0) return null;
  return h("details", {}, h("summary", {}, `${plural(list.length, "gap")} in the data`),
    h("ul", {}, list.map(([collector, target, part, from, to]) => h("li", {}, `${collector} ${target}${part ? ` ${part}` : ""}, nothing from `,
      timeOf(instant(from), store.tick), " to ", timeOf(instant(to), store.tick)))));
}

function replicas(status) { return (status?.replicas ?? []).map((r) => [r.name, r.engine, r.rules, r.publishing, r.diverged]); }

function about(store) {
  const st = store.status;
  if (!st) return null;
  const bytes = st.log?.bytes;
  return h("p", { class: "quiet" },
    `Engine ${st.engine || NONE}, rules ${st.rules || NONE}. `,
    (st.replicas ?? []).map((r) => `Replica ${r.name}${r.publishing ? " publishes" : " stands by"}${r.diverged ? ", diverged" : ""}. `),
    bytes > 0 && `The log holds ${number(bytes / 1e6)} MB, positions ${st.log.first.toLocaleString("en")} to ${st.log.last.toLocaleString("en")}.`);
}

/** connectWays says how a job reports its steps. */
export function connectWays() {
  const example = `curl ${location.origin}/api/v1/jobs/my-job/steps -H 'Content-Type: application/json' \\\n  -d '{"rank":0,"steps":[{"end":"'$(date -u +%Y-%m-%dT%H:%M:%SZ)'","seconds":3.31}]}'`;
  return [
    h("p", {}, "A job appears with its first step. At the end of each step, report its duration:"),
    h("div", { class: "command" }, h("pre", {}, h("code", {}, example)), copyButton("the example", () => example)),
    h("p", { class: "quiet" }, "Which nodes it runs on comes from the topology file, from a scheduler, or by ", h("code", {}, "POST /api/v1/edges"), ". To see a site at work first, run ", h("code", {}, "quintet demo"), "."),
  ];
}
