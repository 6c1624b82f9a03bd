// What the views of costs, jobs and incidents reckon, without a browser.

import assert from "node:assert/strict";
import test from "node:test";
import { rows } from "../app/budget.js";
import { tableOf, continued } from "../app/rankmap.js";
import { waitingOf, middle } from "../app/waiting.js";
import { placementOf } from "../app/placement.js";
import { radius } from "../app/radius.js";
import { summary } from "../app/sharing.js";
import { chainModel, place, banded } from "../app/chain.js";
import { linkToSilence } from "../app/silenceform.js";
import { commandsOf } from "../app/commands.js";
import { checkpointsOf, marksOf, within } from "../app/happened.js";
import { spanOf, withSpan } from "../app/span.js";
import { zoneIn, keepZone } from "../app/zone.js";
import { setZone, clock, day, zone } from "../app/format.js";
import { timeTicks } from "../app/axis.js";
import { seriesQuery, peersOf, allPeers, thresholdOf, measureOf, entitiesIn } from "../app/query.js";
import { followUp } from "../app/followup.js";
import { upToDate } from "../app/uptodate.js";
import { changesOf } from "../app/changes.js";
import { shownIn, withShown } from "../app/explore.js";
import { Feed } from "../app/alerts.js";
import { counted } from "../app/incidents.js";
import { timelineOf, belongsTo } from "../app/timeline.js";
import { sparkline } from "../app/sparkline.js";

const budget = {
  gpu_seconds: 1000, achieved: { gpu_seconds: 400, share: 0.4 }, unexplained: { gpu_seconds: 250, share: 0.25 },
  parts: [{ part: "restarts", share: 0.05, gpu_seconds: 50, observed: 1 }, { part: "input", share: null, gpu_seconds: null, observed: 0 }, { part: "heat", share: 0, gpu_seconds: 0, observed: 1 }, { part: "communication", domain: "network", share: 0.3, gpu_seconds: 300, observed: 0.8 }],
};

test("a waterfall falls from the whole to what was achieved, without a gap", () => {
  const all = rows(budget);
  assert.deepEqual(all.map((r) => r.name), ["peak", "starting, failed, restarted", "waiting for input", "communication", "unexplained", "achieved"]);
  let at = 1;
  for (const r of all.slice(1, -1)) { assert.ok(Math.abs(r.from + r.share - at) < 1e-9, `${r.name} begins at ${r.from + r.share}, want ${at}`); at = r.from; }
  assert.ok(Math.abs(at - 0.4) < 1e-9, "what is left is what was achieved");
  assert.deepEqual([all[2].kind, all[2].share, all.at(-1).kind], ["unobserved", 0, "achieved"]);
  assert.equal(rows({ ...budget, achieved: null }).at(-1).kind, "unobserved");
  assert.ok(rows({ ...budget, unexplained: { share: 7 } }).every((r) => r.share >= 0 && r.from >= -1e-9), "shares that add up to more than the whole draw nothing outside it");
});

const series = (rank, v) => ({ labels: { name: `train/${rank}` }, t: v.map((_, i) => i * 15000), v });

test("ranks stand in the order of their numbers, holes stay holes", () => {
  const table = tableOf([series(10, [1, 2]), series(2, [3, 4]), { labels: { name: "train/3" }, t: [15000, 30000], v: [7, 8] }]);
  assert.deepEqual(table.rows.map((r) => r.rank), [2, 3, 10]);
  assert.deepEqual(table.times, [0, 15000, 30000]);
  assert.ok(Number.isNaN(table.rows[1].v[0]) && table.rows[1].v[2] === 8 && Number.isNaN(table.rows[0].v[2]));
});

test("a table goes on with newer columns, which stand for its own", () => {
  const old = tableOf([series(1, [1, 2, 3, 4]), series(2, [5, 6, 7, 8])]);
  const newer = tableOf([{ labels: { name: "train/1" }, t: [30000, 45000, 60000], v: [30, 40, 50] }, { labels: { name: "train/0" }, t: [60000], v: [9] }]);
  const got = continued(old, newer, 15000);
  assert.deepEqual(got.times, [15000, 30000, 45000, 60000]);
  assert.deepEqual(got.rows.map((r) => [r.rank, r.v]), [[0, [NaN, NaN, NaN, 9]], [1, [2, 30, 40, 50]], [2, [6, NaN, NaN, NaN]]]);
  assert.deepEqual(continued(old, tableOf([]), 30000).times, [30000, 45000], "nothing new leaves what there was");
  assert.deepEqual(continued(old, newer, 90000).times, newer.times, "what has gone by is dropped");
});

test("the others wait for the rank that computes longer and waits less, by its own past", () => {
  const flat = (x) => [x, x, x, x, x, x, x, x];
  const late = (a, b) => [a, a, a, a, a, b, b, b];
  const compute = tableOf([series(0, flat(5)), series(1, late(2, 4)), series(2, flat(2))]);
  const wait = tableOf([series(0, late(0, 2)), series(1, late(3, 1)), series(2, late(3, 5))]);
  const list = waitingOf(wait, compute, [[75000, Infinity]]);
  assert.deepEqual(list.map((r) => r.rank), [1, 0, 2], "not the one that always computes longest");
  assert.deepEqual([list[0].computed, list[0].compute, list[0].waited, list[0].wait, list[0].late], [2, 4, 3, 1, 4]);
  assert.deepEqual(waitingOf(wait, tableOf([]), []).map((r) => r.late).filter(Number.isFinite), [], "without computing times nobody is late");
  assert.ok(Number.isNaN(middle([NaN])));
  for (let n = 1; n < 60; n++) { // against putting them in order
    const values = Array.from({ length: n }, (_, i) => (i * i * 7919 + n * 31) % 17 - 8), sorted = [...values].sort((a, b) => a - b);
    assert.equal(middle([...values, NaN]), sorted[n >> 1], `of ${values}`);
  }
});

test("a job's nodes are shown with what they hang on", () => {
  const edge = (from, rel, to, end = null) => ({ from, rel, to, end });
  const got = placementOf("job:a", [edge("job:a", "runs", "gpu:n2/0"), edge("job:a", "runs", "gpu:n2/1"), edge("job:a", "runs", "node:n10"), edge("job:a", "runs", "gpu:n3/0", "2026-01-01T00:00:00Z"), edge("job:b", "runs", "gpu:n4/0"),
    edge("rack:r1", "contains", "node:n2"), edge("loop:r1/a", "cools", "node:n2"), edge("psu:r1/1", "feeds", "node:n10"), edge("port:leaf1/3", "connects", "nic:n2/x"), edge("nic:n10/x", "connects", "port:leaf2/1")]);
  assert.deepEqual(got.map((p) => [p.node, p.gpus, p.racks, p.switches, p.cooling, p.power]), [
    ["node:n2", 2, ["rack:r1"], ["switch:leaf1"], ["loop:r1/a"], []], ["node:n10", 0, [], ["switch:leaf2"], [], ["psu:r1/1"]]]);
});

const incident = {
  id: "inc-1", state: "open", severity: "warning", title: "a is slow: b", onset: { earliest: "2026-11-21T01:00:00Z", latest: "2026-11-21T01:00:04Z" },
  root: { entity: "gpu:n1/0", signature: "gpu-slow", domain: "computing", confidence: 0.9 }, impact: { jobs: [{ job: "job:a", gpu_seconds_lost: 7200 }], entities: ["node:n1", "node:n2"] },
  chain: [{ entity: "gpu:n1/0" }, { entity: "rank:a/3" }, { entity: "job:a" }], actions: [{ kind: "drain", target: "node:n1", text: "Take it out." }], ruled_out: [{ domain: "power", why: "" }],
};

test("how far it reaches is shown by kind and place", () => {
  const got = radius(incident, new Map([["node:n1", "rack:r1"], ["node:n2", "rack:r1"]]));
  assert.deepEqual(got, { jobs: ["job:a"], kinds: [["node", ["node:n1", "node:n2"]], ["gpu", ["gpu:n1/0"]], ["rank", ["rank:a/3"]]], where: [["rack:r1", 2]] });
  assert.deepEqual(radius({ root: { entity: "" } }), { jobs: [], kinds: [], where: [] });
});

test("the summary for chat stands alone", () => {
  assert.equal(summary(incident, "http://x/incidents/inc-1"), ["WARNING: a is slow: b", "Since 2026-11-21 01:00:02 UTC ± 2 s. Root: gpu n1/0 (gpu-slow, computing, confidence 90 %). 2 GPU-h lost in 1 job.", "- drain node:n1: Take it out.", "Ruled out: power.", "http://x/incidents/inc-1"].join("\n"));
});

test("a silence begins with what the incident is", () => {
  const q = new URL(linkToSilence(incident), "http://x").searchParams;
  assert.deepEqual([q.get("root"), q.get("signature"), q.get("comment")], ["gpu:n1/0", "gpu-slow", "inc-1: "]);
});

test("a chain across domains has lanes of each, heat and power above the job", () => {
  const link = (entity, from, domain) => ({ entity, from, domain, metric: "m", relation: from ? "cools" : "", lag_seconds: 1, lag_uncertainty_seconds: 0, before: 0, now: 1, unit: "1" });
  const model = chainModel({ root: { entity: "loop:a" }, impact: { jobs: [{ job: "job:x" }] }, chain: [link("loop:a", "", "cooling"), link("gpu:1", "loop:a", "computing"), link("gpu:2", "loop:a", "computing"), link("rank:x/1", "gpu:1", "software"), link("job:x", "rank:x/1", "software")] });
  const got = banded(model, place(model));
  assert.deepEqual(got.at, [{ depth: 0, lane: 0 }, { depth: 1, lane: 1 }, { depth: 1, lane: 2 }, { depth: 2, lane: 3 }, { depth: 3, lane: 3 }]);
  assert.deepEqual([got.lanes, got.bands], [4, [{ domain: "cooling", lane: 0 }, { domain: "computing", lane: 1 }, { domain: "software", lane: 3 }]]);
  const alone = chainModel({ root: { entity: "nic:a" }, chain: [link("nic:a", "", "network"), link("port:b", "nic:a", "network")] });
  assert.deepEqual(banded(alone, place(alone)).at, place(alone).at, "inside one domain there is nothing to distinguish");
});

test("commands are filled in, quoted, and none where a name could be an option", () => {
  const of = (kind, target) => commandsOf({ kind, target }, incident);
  const drain = of("drain", "gpu:n1/3");
  assert.deepEqual(drain.map((c) => c.tool), ["Slurm", "Kubernetes"]);
  assert.equal(drain[0].run, "scontrol update NodeName=n1 State=DRAIN Reason='quintet inc-1: gpu-slow'");
  assert.match(drain[1].dry, /^kubectl drain n1 .*--dry-run=server$/);
  assert.equal(of("reset", "gpu:n1/3")[0].run, "ssh n1 nvidia-smi --gpu-reset -i 3");
  assert.equal(of("reroute", "port:leaf1/Ethernet4")[0].run, "ssh leaf1 sudo config interface shutdown Ethernet4");
  assert.equal(of("drain", "node:a b'c")[0].look, "squeue --nodelist='a b'\\''c'");
  assert.deepEqual([of("drain", "node:-rf"), of("reroute", "port:leaf1/$(x)"), of("wait", "cdu:-rf")], [[], [], []]);
  assert.equal(of("call", "cdu:c1")[0].look, "curl -s -u $USER https://$CONTROLLER/redfish/v1/ThermalEquipment/CDUs  # CONTROLLER: the management address of cdu c1");
  assert.equal(commandsOf({ kind: "drain", target: "node:n1" }, { id: "inc-2", root: null })[0].run, "scontrol update NodeName=n1 State=DRAIN Reason='quintet inc-2: cause under investigation'");
});

test("a checkpoint is an interval, and a step with it in is no loss", () => {
  const at = (s) => `2026-11-21T01:00:${s}Z`, ms = (s) => Date.parse(at(s)), event = (s, text, entity = "job:a") => ({ at: at(s), kind: "event", entity, text });
  const got = checkpointsOf({ related: [event("05", "checkpoint_started"), event("10", "checkpoint_ended"), event("11", "link_down", "nic:h/0"), event("20", "checkpoint_started")] }, ms("30"));
  assert.deepEqual(got.get("job:a"), [[ms("05"), ms("10")], [ms("20"), ms("30")]]);
  assert.deepEqual([within(got.get("job:a"), ms("12"), 4), within(got.get("job:a"), ms("15"), 4), within(undefined, ms("12"), 4)], [true, false, false]);
  assert.deepEqual(marksOf({ related: [event("11", "link_down", "nic:h/0"), event("05", "checkpoint_started")] }).map((m) => m.text), ["link down"]);
});

test("the timeline of an incident has onsets, events, alerts and risks by time", () => {
  const at = (s) => `2026-11-21T01:00:${s}Z`, iv = (s) => ({ earliest: at(s), latest: at(s) });
  const one = { ...incident, opened: at("20"), chain: [{ entity: "gpu:n1/0", metric: "gpu_sm_clock_hertz", onset: iv("10"), before: 2, now: 1, unit: "hertz" }], related: [{ at: at("05"), kind: "event", entity: "node:n1", text: "driver_reload: x" }] };
  const risk = { id: "inc-9", kind: "risk", state: "open", title: "hot", root: { entity: "gpu:n1/0" }, onset: iv("15") }, other = { ...risk, id: "inc-8", root: { entity: "node:n2" } };
  const alerts = { alerts: [{ id: "alert-1", severity: "warning", opened: at("12"), title: "low clock", root: { entity: "node:n5" } }], notes: { "alert-1": { incident: "inc-1" } } };
  const got = timelineOf(one, alerts, { incidents: new Map([risk, other].map((x) => [x.id, x])) });
  assert.deepEqual(got.map((x) => x.kind), ["event", "onset", "alert", "risk", "opened"]);
  assert.equal(got[0].words, "driver reload: x");
  assert.deepEqual([belongsTo(risk, [one])?.id, belongsTo(other, [one]), belongsTo(risk, [{ ...one, root: null, chain: [] }])], ["inc-1", null, null], "a node of the job is not on the path");
});

test("the time that a view is about stands in the address", () => {
  const now = Date.parse("2026-11-21T12:00:00Z");
  assert.deepEqual(spanOf("?last=6h", now), { from: now - 6 * 3600e3, to: now, last: "6h", live: true });
  assert.deepEqual(spanOf("?last=never", now, "1h").last, "1h");
  assert.equal(spanOf("", now).from, -Infinity);
  const own = withSpan("?q=a&last=6h", { from: now - 60000, to: now });
  assert.equal(own, "?q=a&from=2026-11-21T11%3A59%3A00.000Z&to=2026-11-21T12%3A00%3A00.000Z");
  assert.deepEqual(spanOf(own, now + 1e9), { from: now - 60000, to: now, last: "", live: false });
  assert.equal(withSpan(own, {}), "?q=a");
});

test("the zone stands in the address, and all times are written in it", () => {
  assert.deepEqual([zoneIn("?tz=utc"), zoneIn("?tz=Mars"), keepZone("/a?b=1", "UTC"), keepZone("/a?tz=UTC", ""), keepZone("/a", "")], ["UTC", "", "/a?b=1&tz=UTC", "/a", "/a"]);
  const at = Date.parse("2026-11-20T23:30:00Z");
  const local = [clock(at), day(at), zone(at)];
  assert.equal(setZone("UTC"), true);
  assert.deepEqual([clock(at), day(at), zone(at), setZone("UTC")], ["23:30:00", "20 Nov 2026", "UTC", false]);
  assert.ok(timeTicks(at, at + 6 * 3600e3, 900).every((t) => t % 3600e3 === 0));
  setZone("");
  assert.deepEqual([clock(at), day(at), zone(at)], local);
});

test("an expression leads to its peers, its unit and its threshold", () => {
  assert.equal(seriesQuery("port:leaf1/eth1", "port_tx_bytes_total"), 'rate(port_tx_bytes_total{kind="port",name="leaf1/eth1"}[2m])');
  assert.equal(seriesQuery("rank:train/7", "rank_compute_seconds"), 'rank_compute_seconds{kind="rank",name="train/7",job="train"}');
  assert.equal(peersOf('rate(x{name="a",kind="b"}[5m])').mid, 'quantile(0.5, rate(x{kind="b"}[5m]))');
  assert.equal(allPeers('x{kind="b",name=~"a|c"} / y{name="d"}'), 'x{kind="b"} / y{}');
  assert.equal(peersOf("sum(x)"), null);
  assert.deepEqual(thresholdOf('(a{x="> 3"} > 0.9) and b < 2'), { expr: 'a{x="> 3"}', op: ">", value: 0.9, limit: "0.9" });
  assert.equal(thresholdOf("sum by (a) (rate(x_total[5m])) / 2 >= 3 * 60").value, 180);
  const relative = thresholdOf("rank_compute_seconds > on (job) group_left () 1.3 * job:rank_compute_seconds:median");
  assert.deepEqual([relative.expr, relative.value, relative.limit], ["rank_compute_seconds", NaN, "1.3 * job:rank_compute_seconds:median"]);
  assert.equal(thresholdOf("a > 1 or b > 3"), null);
  assert.equal(thresholdOf("absent(x)"), null);
  for (const [expr, metric, unit] of [['rate(port_tx_bytes_total{kind="port"}[5m])', "port_tx_bytes_total", "bytes/s"], ["avg by (node_name) (gpu_power_watts)", "gpu_power_watts", "watts"], ["a_ratio * 2", "", "1"], ["increase(port_tx_bytes_total[5m])", "", "1"]]) {
    assert.deepEqual(measureOf(expr), { metric, unit }, expr);
  }
  assert.deepEqual(entitiesIn('a{kind="gpu",name="n/1"} + b{kind="job",name="t"}'), ["gpu:n/1", "job:t"]);
});

test("what changed most, for its scatter, comes first; what only scatters does not come", () => {
  const t = Array.from({ length: 20 }, (_, i) => i * 1000), curve = (metric, v) => ({ entity: "gpu:a", metric, unit: "1", t, v: t.map((x, i) => v(i)) });
  const all = [curve("steady", (i) => 5 + (i % 2)), curve("steps", (i) => 5 + (i % 2) * 0.1 + (i >= 10 ? 3 : 0)), curve("flat", (i) => (i >= 10 ? 1 : 0)), curve("young", (i) => (i < 18 ? NaN : 7))];
  assert.deepEqual(changesOf(all, 10000).map((c) => c.metric), ["flat", "steps"]);
  assert.deepEqual(changesOf(all, 10000)[1].now > 8, true);
});

test("the address of the explorer holds all that is shown", () => {
  const search = withShown("?tz=UTC&last=6h", { queries: ["a", 'b{x="y"}'], before: "24h", peers: true });
  assert.deepEqual(shownIn(search), { queries: ["a", 'b{x="y"}'], before: "24h", peers: true });
  assert.equal(new URLSearchParams(search).get("tz"), "UTC");
  assert.equal(shownIn("?before=1y").before, "");
});

test("whether an action helped follows from what came after it", () => {
  const at = (s) => new Date(Date.UTC(2026, 10, 21, 1, 0, s)).toISOString(), ms = (s) => Date.parse(at(s)), done = { at: at(10), action: "drain node:n1" };
  const open = { state: "open", impact: { jobs: [{ job: "job:a", state: "slow", slowdown: 1.34 }] } }, over = (s, resolution = "recovered") => ({ ...open, state: "resolved", resolved: at(s), resolution });
  const plain = (x) => x.words.replaceAll("\u00a0", " ");
  assert.equal(followUp(open, null, ms(20)), null);
  assert.equal(followUp(open, done, ms(20)).state, "waiting");
  assert.equal(plain(followUp(open, done, ms(200))), "It has not helped: 3 min 10 s after drain node:n1, a takes 1.34 × as long. See the alternatives, or say that the answer is wrong.");
  assert.equal(plain(followUp(over(50), done, ms(60))), "It helped: the incident ended 40 s after drain node:n1.");
  assert.equal(followUp(over(50, "job ended"), done, ms(60)).state, "ended");
  assert.equal(followUp(over(5), done, ms(60)).state, "before");
});

test("losses are brought up to what open incidents have cost since", () => {
  const at = (s) => `2026-11-21T01:00:${s}Z`, incident = (id, lost, more) => ({ id, state: "open", kind: "incident", opened: at("10"), onset: { earliest: at("05"), latest: at("06") }, root: { entity: "nic:a", signature: "x", domain: "network" }, impact: { jobs: [{ job: "job:a", gpu_seconds_lost: lost }] },
    chain: [{ domain: "network" }, { domain: "software" }], ...more });
  const losses = { from: at("00"), to: at("40"), gpu_seconds_lost: 150, causes: [{ root: "nic:a", signature: "x", domain: "network", gpu_seconds_lost: 100, jobs: [] }, { root: "gpu:b", signature: "y", domain: "computing", gpu_seconds_lost: 50, jobs: [] }], domains: [{ domain: "network", gpu_seconds_lost: 100 }] };
  const coupling = { coupling: [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [100, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]] };
  const got = upToDate({ losses, coupling }, [incident("1", 130)]);
  assert.deepEqual([got.losses.gpu_seconds_lost, got.losses.causes[0].gpu_seconds_lost, got.losses.domains[0].gpu_seconds_lost, got.coupling.coupling[2][0]], [180, 130, 130, 130]);
  assert.equal(losses.gpu_seconds_lost, 150, "the answer itself stays");
  assert.equal(upToDate({ losses, coupling }, [incident("1", 130, { state: "resolved" })]).losses.gpu_seconds_lost, 150, "what is over does not grow");
  assert.equal(upToDate({ losses, coupling }, [incident("1", 130, { onset: { earliest: "2026-11-20T01:00:00Z" } })]).losses.gpu_seconds_lost, 150, "what began before the window is not all in it");
  assert.equal(upToDate({ losses, coupling }, [incident("2", 30, { root: { entity: "gpu:n", signature: "z", domain: "computing" }, opened: at("45") })]).losses.causes.length, 3, "a new cause is added");
  assert.equal(upToDate({ losses, coupling }, [incident("2", 30, { root: { entity: "gpu:n", signature: "z", domain: "computing" } })]).losses.gpu_seconds_lost, 150, "one whose root has changed is in the next answer");
});

test("what fires alone is asked for again soon while it is young", () => {
  const at = "2026-11-21T12:00:00Z", a = { id: "alert-1", state: "open", severity: "warning", opened: at }, after = (s) => Date.parse(at) + 1000 * s;
  const awaits = (answer, tick) => Feed.prototype.awaits.call({ answer, store: { tick } });
  assert.equal(awaits({ alerts: [a], notes: {} }, after(20)), true);
  assert.equal(awaits({ alerts: [a], notes: {} }, after(90)), false, "its incident would have opened");
  assert.equal(awaits({ alerts: [a], notes: { "alert-1": { incident: "inc-1" } } }, after(20)), false, "an incident includes it");
  assert.equal(awaits({ alerts: [{ ...a, state: "resolved" }, { ...a, severity: "info" }], notes: {} }, after(20)), false, "it is over, or for information");
  assert.deepEqual([awaits({ alert: a, note: {} }, after(20)), awaits({ alert: a, note: { incident: "inc-1" } }, after(20)), awaits(null, after(20))], [true, false, false]);
});

test("a risk is not counted as an incident", () => {
  const of = (...kinds) => counted(kinds.map((kind) => ({ kind })));
  assert.equal(of(), "0 incidents");
  assert.equal(of("risk"), "1 risk");
  assert.equal(of("incident", "risk", "incident"), "2 incidents, 1 risk");
});

test("a step with a checkpoint does not set the axis of a job's line", () => {
  const t = [0, 1000, 2000, 3000], v = [2, 2, 40, 3];
  const heights = (saved) => sparkline({ t, v, saved: new Set(saved) }, 2).curve.split(/[ML]/).slice(1).map((p) => Number(p.split(" ")[1]));
  const marked = sparkline({ t, v, saved: new Set([2000]) }, 2);
  assert.equal(marked.checkpoints.length, 1);
  assert.deepEqual(heights([2000]), [10, 10, 3, 3], "the line reaches to the longest of the others");
  assert.ok(heights([]).every((y, i) => i === 2 ? y === 3 : y > 22), "without one the long step is what it is");
});
