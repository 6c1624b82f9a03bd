// What needs no browser: numbers, times, axes, series, the shape of a chain.

import assert from "node:assert/strict";
import test from "node:test";
import * as f from "../app/format.js";
import { niceMax, timeTicks } from "../app/axis.js";
import { Series } from "../app/series.js";
import { chainModel, place } from "../app/chain.js";
import { differences } from "../app/revisions.js";

const plain = (s) => s.replaceAll("\u00a0", " ");

test("quantities are shown in the units that people use", () => {
  for (const [v, unit, metric, want] of [
    [0.478, "s/s", "", "47.8 %"], [12.6e9, "bytes/s", "", "101 Gb/s"], [0, "bytes/s", "", "0 b/s"], [6.836, "s", "", "6.84 s"], [0.00065, "s", "", "0.65 ms"], [5400, "seconds", "", "90 min"],
    [1234567, "packets/s", "", "1.23 M/s"], [12, "frames/s", "", "12/s"], [61.23, "celsius", "", "61.2 °C"], [1.18e9, "hertz", "", "1.18 GHz"], [0.41, "1", "job_mfu_ratio", "41.0 %"],
    [1, "1", "port_up", "1"], [3, "lanes", "", "3 lanes"], [4.2e6, "bytes", "", "4.2 MB"], [700, "joules/s", "", "700 W"], [4e11, "bits_per_second", "", "400 Gb/s"],
    [null, "s", "", "–"], [NaN, "s", "", "–"], [-3, "celsius", "", "−3 °C"], [5, "furlongs/s", "", "5/s"], [1e-7, "1", "port_pre_fec_ber", "0.0000001"],
  ]) assert.equal(plain(f.quantity(v, unit, metric)), want, `${v} ${unit}`);
  assert.equal(plain(f.change(1.98e9, 0.3e9, "hertz")), "1.98 → 0.3 GHz");
  assert.equal(plain(f.change(0, 0.42, "s/s")), "0 → 42 %");
  assert.equal(plain(f.change(0.656, null, "s")), "0.656 s → –");
  assert.equal(f.change(null, null, "s"), "–");
});

test("shares are never rounded to certainty", () => {
  const want = { 1: "100 %", 0.9996: "99.9 %", 0.996: "99.6 %", 0.93: "93 %", 0.003: "0.3 %", 0.00001: "0.001 %", 0: "0 %" };
  for (const [v, text] of Object.entries(want)) assert.equal(plain(f.percent(Number(v))), text);
});

test("durations, losses and lags are humane", () => {
  for (const [v, want] of [[3.32, "3.3 s"], [59.4, "59 s"], [134, "2 min 14 s"], [600, "10 min"], [11100, "3 h 05 min"], [90000, "1 d 1 h"], [-5, "0 s"], [NaN, "–"]]) assert.equal(plain(f.duration(v)), want);
  for (const [v, want] of [[842.6, "14 GPU-min"], [84, "84 GPU-s"], [3.49e6, "969 GPU-h"], [null, "–"]]) assert.equal(plain(f.gpuTime(v)), want);
  assert.equal(plain(f.lag(-1, 2.021)), "−1.0 ± 2.0 s");
  assert.equal(plain(f.lag(30, 12.4)), "+30 ± 12 s");
  assert.equal(plain(f.lag(0, 0)), "0 s");
});

test("times are local, with the date where it is another day, and from zero in a recording", () => {
  const at = Date.UTC(2026, 10, 21, 12, 0, 3);
  assert.match(f.when(at, at), /^\d\d:00:03$/);
  assert.match(f.when(at - 86400e3, at), /^20 Nov \d\d:00:03$/);
  assert.match(f.when(at - 366 * 86400e3, at), /^20 Nov 2025 /);
  assert.equal(f.clock(147900), "00:02:27");
  assert.equal(f.universal(at), "2026-11-21 12:00:03.000 UTC");
  assert.ok(f.universal(147900).startsWith("00:02:27.900 into the recording"));
  assert.equal(f.instant("1970-01-01T00:02:21.979060184Z"), 141979);
  assert.ok(Number.isNaN(f.instant(null)));
});

test("names and sentences are split where they are meant to be", () => {
  assert.deepEqual(f.entity("port:leaf3/Ethernet1%2F1"), { kind: "port", name: "leaf3/Ethernet1/1" });
  assert.deepEqual(f.entity("nothing"), { kind: "", name: "nothing" });
  assert.equal(f.called("job:train"), "train");
  assert.deepEqual(f.sentence("a is slow: b: c").map(plain), ["a is slow:", "b: c"]);
  assert.deepEqual(f.sentence("no cause"), ["no cause", ""]);
});

test("axes end at round numbers and tick at round times", () => {
  for (const [v, want] of [[0.478, 0.5], [7, 8], [101e9, 120e9], [0, 1], [1, 1], [2.5, 2.5]]) assert.equal(niceMax(v), want);
  const ticks = timeTicks(20000, 290000, 800);
  assert.ok(ticks.every((t) => t % 60000 === 0) && ticks.length === 4, String(ticks));
  assert.deepEqual(timeTicks(5, 5, 800), []);
});

test("a series tells gaps from silence, and a step stands for its time", () => {
  const s = new Series({ entity: "nic:a", metric: "port_tx_bytes_total", unit: "bytes/s" });
  s.add([1000, 2000, 3000, 4000, 5000, 6000, 7000], [1, 2, null, 4, 5, 6, 7]);
  s.add([6000, 7000, 20000, 21000], [9, 9, 20, 21]);
  assert.deepEqual(s.gaps, [[2000, 4000], [7000, 20000]]);
  assert.deepEqual(s.v, [1, 2, 4, 5, 6, 7, 20, 21], "what was known is not shown twice");
  assert.equal(s.at(3000), -1);
  assert.equal(s.v[s.at(4400)], 4);
  s.add([22000], [null]);
  assert.deepEqual(s.openGap(), [21000, 22000]);
  assert.equal(s.extremeWithin(1000, 7000, true), 1);
  assert.ok(Number.isNaN(s.extremeWithin(8000, 9000)));
  const steps = new Series({ entity: "job:a", metric: "job_step_seconds", unit: "s" });
  steps.add([3000, 6000, 20000], [3, 3, 7]);
  assert.equal(steps.at(4000), 1);
  assert.equal(steps.at(10000), -1, "between steps there is none");
  const uneven = new Series({ entity: "a", metric: "b", thinned: 9000 });
  uneven.add([0, 1, 2, 3, 4, 5, 6, 60].map((x) => x * 1000), [1, 1, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual(uneven.gaps, [], "what was thinned is uneven, not silent");
});

const link = (entity, from, more) => ({ entity, from, metric: "m", domain: "network", relation: from ? "connects" : "", lag_seconds: 1, lag_uncertainty_seconds: 2, before: 0, now: 1, unit: "s/s", why: "it does", ...more });

test("a chain is laid out from its root, branches in lanes of their own", () => {
  const incident = { root: { entity: "a" }, impact: { jobs: [{ job: "job:x" }] }, chain: [link("a", ""), link("b", "a"), link("c", "b"), link("d", "b"), link("job:x", "d")] };
  const model = chainModel(incident), at = place(model);
  assert.deepEqual(model.edges.map((e) => [e.from, e.to]), [[0, 1], [1, 2], [1, 3], [3, 4]]);
  assert.deepEqual(at.at, [{ depth: 0, lane: 0 }, { depth: 1, lane: 0 }, { depth: 2, lane: 0 }, { depth: 2, lane: 1 }, { depth: 3, lane: 1 }]);
  assert.deepEqual([at.depth, at.lanes, model.nodes[0].isRoot, model.nodes[4].isDegraded], [4, 2, true, true]);
});

test("a root that shows nothing itself stands before the chain; one entity may show two things", () => {
  const unseen = chainModel({ root: { entity: "node:h8", signature: "slow-rank" }, chain: [link("rank:a", ""), link("job:a", "rank:a")] });
  assert.deepEqual(unseen.nodes.map((n) => n.entity), ["node:h8", "rank:a", "job:a"]);
  assert.ok(unseen.edges[0].implied && !unseen.edges[1].implied);
  const twice = chainModel({ root: { entity: "loop:a" }, chain: [link("loop:a", ""), link("gpu:b", "loop:a"), link("gpu:b", "gpu:b"), link("job:c", "gpu:b")] });
  assert.deepEqual(twice.edges.map((e) => [e.from, e.to]), [[0, 1], [1, 2], [2, 3]]);
  assert.deepEqual(chainModel({ root: { entity: "" }, chain: [] }), { nodes: [], edges: [] });
});

test("what changed between revisions is shown in words", () => {
  const one = { state: "open", kind: "risk", severity: "info", root: { entity: "nic:a", signature: "unknown", confidence: 0.4 }, impact: { jobs: [] }, blind_spots: [] };
  const two = { state: "resolved", resolution: "recovered", kind: "incident", severity: "warning", root: { entity: "port:b", signature: "incast", confidence: 0.9 }, impact: { jobs: [{ job: "job:x", slowdown: 2 }] }, blind_spots: [{ entity: "nic:a", metric: "m" }] };
  assert.deepEqual(differences(one, two).map(plain), ["Resolved: recovered.", "From risk to incident.", "Severity from info to warning.", "Root from nic a to port b.", "From unknown to incast.", "Also degraded: x.", "Also not seen: m of nic a.", "Slowdown from – to 2.00 ×.", "Confidence from 40 % to 90 %."]);
  assert.deepEqual(differences(two, two), ["Figures only."]);
  assert.equal(plain(differences(undefined, one)[0]), "Opened as info: unknown at nic a, confidence 40 %.");
});
