// What the maps are made of, without a browser.

import assert from "node:assert/strict";
import test from "node:test";
import { answerOf, columnsOf, rowsOf } from "../app/columns.js";
import { Prometheus, grid, quoted, isAborted } from "../app/promql.js";
import { scaleOf, shade } from "../app/heat.js";
import { measureOf, byPort, bySwitch, possible, valueWords, brief } from "../app/measures.js";
import { curvesOf } from "../app/past.js";
import { unitOf } from "../app/words.js";
import { Plant, group, planeOf, tierOf, lastPart, byName } from "../app/plant.js";
import { bandsOf } from "../app/fabric.js";
import { Supply } from "../app/supply.js";
import { switchOf } from "../app/touched.js";

const plain = (s) => s.replaceAll("\u00a0", " ");

// A server whose answers come when the test says so.
function server() {
  const asked = [];
  const fetching = (url, { signal }) => new Promise((done, fail) => {
    const one = { url, open: true, answer: (body, status = 200) => { one.open = false; done({ ok: status < 300, status, headers: new Headers({ "Content-Type": "application/json" }), json: async () => body }); } };
    signal.addEventListener("abort", () => { one.open = false; fail(signal.reason); });
    asked.push(one);
  });
  return { asked, history: new Prometheus((url, signal) => answerOf(url, signal, fetching)) };
}

const vector = (...values) => ({ status: "success", data: { resultType: "vector", result: values.map((v, i) => ({ metric: { n: String(i) }, value: [0, String(v)] })) } });
const settle = () => new Promise((done) => setImmediate(done));

test("questions are as of the log's time, and their answers are numbers", async () => {
  const { asked, history } = server();
  const answer = history.instant('up{a="b c"}', 1764000000123);
  await settle();
  assert.equal(asked[0].url, "/prometheus/api/v1/query?query=up%7Ba%3D%22b+c%22%7D&time=1764000000.123");
  asked[0].answer(vector("1.5", "NaN", "+Inf"));
  assert.deepEqual(await answer, [{ labels: { n: "0" }, v: 1.5 }, { labels: { n: "1" }, v: NaN }, { labels: { n: "2" }, v: Infinity }]);
  const range = history.range("up", { from: 0, to: 60000, step: 30 });
  await settle();
  assert.ok(asked[1].url.endsWith("query_range?query=up&start=0.000&end=60.000&step=30"));
  asked[1].answer({ status: "success", data: { resultType: "matrix", result: [{ metric: {}, values: [[0, "1"], [30.0004, "2"]] }] } });
  assert.deepEqual(await range, [{ labels: {}, t: [0, 30000], v: [1, 2] }]);
  assert.equal(grid(1764000019999), 1764000010000);
  assert.equal(quoted('a"b\\c'), '"a\\"b\\\\c"');
});

test("columns have all that an answer states", () => {
  const series = [{ metric: { a: "x", b: "y" }, value: [1, "2"] }, { metric: {}, value: [1, "-Inf"] }, { metric: { b: "x" }, value: [1, "NaN"] }];
  assert.deepEqual(rowsOf(columnsOf({ resultType: "vector", result: series })), [{ labels: { a: "x", b: "y" }, v: 2 }, { labels: {}, v: -Infinity }, { labels: { b: "x" }, v: NaN }]);
  const uneven = [{ metric: { a: "" }, values: [[1, "2"], [2.0004, "3"]] }, { metric: { a: "x" }, values: [] }];
  assert.deepEqual(rowsOf(columnsOf({ resultType: "matrix", result: uneven })), [{ labels: { a: "" }, t: [1000, 2000], v: [2, 3] }, { labels: { a: "x" }, t: [], v: [] }]);
  assert.deepEqual(rowsOf(columnsOf({ resultType: "scalar", result: [1, "7"] })), [{ labels: {}, v: 7 }]);
  for (const none of [undefined, { resultType: "string", result: [1, "x"] }, { resultType: "vector", result: null }]) assert.deepEqual(rowsOf(columnsOf(none)), []);
});

test("equal questions are asked once, and answers are kept within bounds", async () => {
  const { asked, history } = server();
  const both = [history.instant("a", 0), history.instant("a", 0)];
  await settle();
  assert.equal(asked.length, 1);
  asked[0].answer(vector(1));
  const [x, y] = await Promise.all(both);
  assert.equal(x, y);
  assert.equal(await history.instant("a", 0), x, "the answer is kept");
  assert.equal(asked.length, 1);
  for (let i = 0; i < 64; i++) {
    const one = history.instant(`b${i}`, 0);
    await settle();
    asked.at(-1).answer(vector(1));
    await one;
  }
  history.instant("a", 0);
  await settle();
  assert.equal(asked.length, 66, "and forgotten behind 64 others");
  const { asked: more, history: other } = server();
  for (let i = 0; i < 2; i++) {
    const huge = other.instant("huge", 0);
    await settle();
    more.at(-1).answer({ status: "success", data: { resultType: "vector", result: Array.from({ length: 400001 }, () => ({ metric: {}, value: [0, "1"] })) } });
    await huge;
  }
  assert.equal(more.length, 2, "what is too large is not kept");
});

test("what the history may still add to is asked anew", async () => {
  const { asked, history } = server();
  history.settled = 1000;
  for (const at of [1000, 1001]) for (let i = 0; i < 2; i++) {
    const one = history.instant("a", at);
    await settle();
    asked.at(-1).answer(vector(i));
    await one;
  }
  assert.deepEqual(asked.map((a) => a.url.slice(-5)), ["1.000", "1.001", "1.001"]);
});

test("at most four are under way; what waits goes on, or is given up", async () => {
  const { asked, history } = server();
  const controls = Array.from({ length: 7 }, () => new AbortController());
  const all = controls.map((c, i) => history.instant(`q${i}`, 0, c.signal).catch((e) => e));
  await settle();
  assert.equal(asked.length, 4);
  controls[5].abort();
  assert.ok(isAborted(await all[5]));
  controls[0].abort();
  assert.ok(isAborted(await all[0]));
  await settle();
  assert.equal(asked.length, 5, "its place is taken");
  for (const one of asked.filter((a) => a.open)) one.answer(vector(7));
  await settle();
  await settle();
  for (const one of asked.filter((a) => a.open)) one.answer(vector(7));
  const got = await Promise.all(all);
  assert.deepEqual(got.map((g) => (isAborted(g) ? "given up" : g[0].v)), ["given up", 7, 7, 7, 7, "given up", 7]);
  assert.ok(!asked.some((a) => a.url.includes("q5")), "what was given up while it waited is never asked");
});

test("a question that two wait for goes on when one gives up", async () => {
  const { asked, history } = server();
  const control = new AbortController();
  const one = history.instant("a", 0, control.signal).catch((e) => e), two = history.instant("a", 0);
  await settle();
  control.abort();
  assert.ok(isAborted(await one));
  assert.ok(asked[0].open);
  asked[0].answer(vector(3));
  assert.equal((await two)[0].v, 3);
});

test("an error is in the history's words, and does not stay", async () => {
  const { asked, history } = server();
  const bad = history.instant("a(", 0);
  await settle();
  asked[0].answer({ status: "error", errorType: "bad_data", error: "1:3: parse error" }, 400);
  await assert.rejects(bad, (e) => e.message === "1:3: parse error" && e.kind === "bad_data" && e.status === 400);
  history.instant("a(", 0);
  await settle();
  assert.equal(asked.length, 2);
});

test("of several questions the first with an answer stands", async () => {
  const history = new Prometheus();
  const seen = [];
  const ask = async (q) => { seen.push(q); return q === "b" ? [1] : []; };
  assert.deepEqual(await history.first(["a", "b", "c"], ask), { at: 1, result: [1] });
  assert.deepEqual(seen, ["a", "b"]);
  assert.deepEqual(await history.first(["a"], ask), { at: -1, result: [] });
});

test("more is never lighter in the light theme, nor darker in the dark one", () => {
  for (const dark of [false, true]) {
    const bright = Array.from({ length: 64 }, (_, i) => shade(i / 63, dark).bright);
    for (let i = 1; i < 64; i++) assert.ok(dark ? bright[i] >= bright[i - 1] : bright[i] <= bright[i - 1], `${dark} ${i}`);
    assert.ok(Math.abs(bright[63] - bright[0]) > 0.6, "from end to end");
    for (let i = 0; i < 64; i++) {
      const { ink, bright: b } = shade(i / 63, dark), on = ink === "#000" ? (b + 0.05) / 0.05 : 1.05 / (b + 0.05);
      assert.ok(on >= 4.4, `text on shade ${i}: ${on}`);
    }
  }
});

test("scales rise with their values, within 0 and 1, and so do their ticks", () => {
  const falling = scaleOf("margin");
  assert.deepEqual([50, 40, 20, 0, -3].map(falling.share), [0, 0, 0.5, 1, 1]);
  for (const [kind, of, values] of [["ratio", {}, [-1, 0, 0.3, 1, 7]], ["root", {}, [0, 0.001, 0.1, 1, 2]], ["count", { peak: 91000 }, [0, 1, 100, 91000, 1e9]], ["count", { peak: 0 }, [0, 1, 10]], ["span", { low: 15, high: 45 }, [0, 15, 30, 45, 90]]]) {
    const scale = scaleOf(kind, of), shares = values.map(scale.share), ticks = scale.ticks.map(scale.share);
    for (const list of [shares, ticks]) for (let i = 1; i < list.length; i++) assert.ok(list[i] >= list[i - 1] && list[i] <= 1 && list[i - 1] >= 0, `${kind}: ${list}`);
    assert.equal(shares[0], 0);
  }
});

test("a measure is asked of rules first, then of counters; of one switch by its name", () => {
  const pause = measureOf("pause");
  assert.deepEqual(bySwitch(pause), ["switch:port_pfc_rx_pause:max_ratio_rate1m", 'max by (switch) (rate(port_pfc_rx_pause_seconds_total{kind="port"}[1m]))']);
  assert.equal(byPort(pause, 'a"b'), 'max by (port) (rate(port_pfc_rx_pause_seconds_total{kind="port",switch="a\\"b"}[1m]))');
  assert.equal(measureOf("none of ours"), pause);
  assert.equal(plain(valueWords(0.4712, pause)), "47 %");
  assert.equal(plain(valueWords(91234, measureOf("marks"))), "91.2 k/s");
  assert.equal(valueWords(NaN, pause), "–");
  assert.deepEqual([0, 0.001, 0.47].map((v) => brief(v, pause)), ["0", "<1", "47"]);
  assert.ok(Number.isNaN(possible(5108, pause)) && possible(0.99, pause) === 0.99 && possible(5108, measureOf("marks")) === 5108);
});

test("counters become rates: a reset begins anew, a step back does not", () => {
  const at = [0, 30, 60, 90, 120, 600, 630].map((s) => s * 1000);
  const [c] = curvesOf([{ labels: { __name__: "port_tx_bytes_total", kind: "port", name: "a/b" }, t: at, v: [3000, 6000, 5999, 8999, 300, 900, 1200] }]);
  assert.equal(c.entity, "port:a/b");
  assert.equal(c.unit, "bytes/s");
  assert.deepEqual(c.v, [100, 0, 100, 10, null, 10]);
  assert.deepEqual(c.t, at.slice(1));
  const [g] = curvesOf([{ labels: { __name__: "inlet_celsius", kind: "node", name: "n" }, t: [0], v: [22] }]);
  assert.deepEqual([g.unit, g.v], ["celsius", [22]]);
  for (const [metric, unit] of [["port_pfc_rx_pause_seconds_total", "s/s"], ["gpu_sm_clock_hertz", "hertz"], ["port_up", "1"], ["gpu_energy_joules_total", "joules/s"], ["anything_total", "events/s"], ["coolant_flow_liters_per_minute", "liters_per_minute"]]) assert.equal(unitOf(metric), unit, metric);
});

const sw = (name, groups, more) => ({ id: `switch:${name}`, kind: "switch", groups, ...more });

test("switches stand by plane, then tier, as people count", () => {
  const list = [sw("p10-l2", ["plane:10", "group:tier/leaf"]), sw("p2-l10", ["plane:2", "group:tier/leaf"]), sw("p2-l9", ["plane:2", "group:tier/leaf"]), sw("p2-s1", ["plane:2", "group:tier/spine"]), sw("x", undefined, { downlinks: 4 })];
  const bands = bandsOf(list.sort(byName), (e) => lastPart(e.id));
  assert.deepEqual(bands, [
    { label: "shared", groups: [{ label: "leaf", cells: ["x"] }] },
    { label: "plane 2", groups: [{ label: "spine", cells: ["p2-s1"] }, { label: "leaf", cells: ["p2-l9", "p2-l10"] }] },
    { label: "plane 10", groups: [{ label: "leaf", cells: ["p10-l2"] }] },
  ]);
  assert.deepEqual([planeOf(sw("a", ["rail:3"])), tierOf(sw("a", [], { uplinks: 2 })), group({}, "plane:"), lastPart("port:a/b")], ["rail 3", "spine", "", "b"]);
});

test("what an incident touches is put down to the switch that it belongs to", () => {
  const cables = { peer: (nic) => (nic === "nic:h1/n0" ? "port:leaf1/e4" : "") };
  const of = (id) => { const f = switchOf(id, (n) => n.startsWith("leaf"), cables, () => {}); return `${f.name}${f.plugged ? " plugged" : ""}`; };
  assert.deepEqual(["switch:leaf9", "port:leaf2/e1", "queue:leaf2/e1/3", "optic:leaf2/e1", "nic:h1/n0", "queue:h1/n0/3", "nic:h2/n0", "gpu:h1/0"].map(of),
    ["leaf9", "leaf2", "leaf2", "leaf2", "leaf1 plugged", "leaf1 plugged", " plugged", " plugged"]);
});

function hall() {
  const s = new Supply(), e = (id, more) => ({ id, kind: id.split(":")[0], ...more });
  const lists = { row: [e("row:w")], rack: [e("rack:r1", { in: "row:w", cooled_by: ["crah:w"] }), e("rack:r2", { in: "row:w" })], node: [e("node:h1", { in: "rack:r1", cooled_by: ["loop:r1"], fed_by: ["psu:r1/a/1"] }), e("node:h2", { in: "rack:r2" })],
    feed: [e("feed:a")], ups: [e("ups:u", { fed_by: ["feed:a"] })], pdu: [e("pdu:w/a", { in: "row:w", fed_by: ["ups:u"] })], shelf: [e("shelf:r1/a", { in: "rack:r1", fed_by: ["pdu:w/a"] }), e("shelf:r1/b", { in: "rack:r1" })],
    cdu: [e("cdu:c")], loop: [e("loop:r1", { in: "rack:r1", cooled_by: ["cdu:c"] })], crah: [e("crah:w", { in: "row:w" })] };
  s.take(["hall", "row", "rack", "node", "feed", "ups", "pdu", "shelf", "cdu", "loop", "pump", "crah"].map((k) => ({ entities: lists[k] ?? [] })));
  const of = (kind, name, v) => ({ labels: { kind, name }, v });
  s.answered("ratio", [of("shelf", "r1/a", 0.4), of("shelf", "r1/b", 0.5), of("pdu", "w/a", 0.8)]);
  s.answered("watts", [of("shelf", "r1/a", 4000), of("shelf", "r1/b", 5000), of("pdu", "w/a", 8000)]);
  s.answered("margin", [{ labels: { node: "h1" }, v: 7 }, { labels: { node: "h2" }, v: 30 }]);
  s.answered("coolant", [{ labels: { __name__: "coolant_flow_liters_per_minute", kind: "loop", name: "r1" }, v: 15 }]);
  return s;
}

test("loads are folded to what stands behind them, and one side is weighed alone", () => {
  const s = hall();
  assert.deepEqual(s.load("rack:r1"), { ratio: 0.5, own: false, watts: 9000, alone: 0.9 });
  assert.deepEqual([s.load("feed:a").ratio, s.load("feed:a").watts, s.load("pdu:w/a").own], [0.8, 8000, true]);
  assert.ok(Number.isNaN(s.load("rack:r2").ratio));
});

test("details are asked of few nodes by name, of all where a map shows them, and do not outlive their moment", async () => {
  const asked = [];
  const s = new (class extends Supply { take() { Supply.prototype.take.call(this, hall().lists); } })();
  const { history } = await import("../app/promql.js"), { plant } = await import("../app/plant.js");
  const [instant, list] = [history.instant, plant.list];
  history.instant = async (q) => { asked.push(q); return q.startsWith("inlet") ? [{ labels: { kind: "node", name: "h1" }, v: 31 }] : []; };
  plant.list = async () => ({ entities: [] });
  const signal = new AbortController().signal;
  try {
    await s.ask(0, 0, { signal, of: "", all: ["inlet"] });
    assert.ok(asked.at(-1) === 'inlet_celsius{kind=~"node|rack|row|crah|hall"}' && s.heat("rack:r1").inlet === 31, asked.at(-1));
    await s.ask(0, 0, { signal, of: "", all: ["load"] });
    assert.ok(Number.isNaN(s.heat("rack:r1").inlet), "an old inlet is not shown as a new one");
    await s.ask(0, 0, { signal, of: "rack:r1", all: [] });
    assert.ok(asked.includes('node_power_watts{name=~"h1"}') && asked.includes('max by (node) (gpu_temperature_celsius{node=~"h1"})'), asked.slice(-4).join("\n"));
    history.instant = async () => { throw new Error("gone"); };
    await assert.rejects(s.ask(0, 0, { signal, of: "", all: [] }), /gone/);
  } finally {
    Object.assign(history, { instant });
    Object.assign(plant, { list });
  }
});

test("Plant.list asks for old lists again, two pages at a moment, and keeps what has not changed", async () => {
  const fetching = globalThis.fetch, asked = [], names = { rack: ["r1", "r2"], node: ["h1"], pdu: ["a"] };
  let down = false;
  globalThis.fetch = async (path) => {
    const q = new URL(path, "http://x").searchParams, kind = q.get("kind"), after = q.get("after"), all = names[kind], one = after ? all.indexOf(after) + 1 : 0;
    asked.push(`${kind} ${after ?? ""}`.trim());
    const body = { entities: [{ id: `${kind}:${all[one]}` }], ...(one + 1 < all.length && { next: all[one] }) };
    return { ok: !down, status: down ? 503 : 200, headers: new Headers({ "Content-Type": "application/json" }), text: async () => JSON.stringify(body) };
  };
  const plant = new Plant(), kinds = Object.keys(names), minute = 60000;
  const at = async (now) => { asked.length = 0; const lists = await Promise.all(kinds.map((k) => plant.list(k, { now }))); await settle(); return lists; };
  const ids = (list) => list.entities.map((e) => e.id);
  try {
    const first = await at(0);
    assert.deepEqual([first.map(ids), asked.length], [[["rack:r1", "rack:r2"], ["node:h1"], ["pdu:a"]], 4]);
    await at(minute);
    assert.deepEqual(asked, [], "for a minute they stand");
    names.node = ["h1a"];
    assert.deepEqual([await at(minute + 1), asked], [first, ["rack", "node"]], "what is asked for again is kept meanwhile");
    const next = await at(minute + 2);
    assert.deepEqual([asked, ids(next[1])], [["rack r1", "pdu"], ["node:h1a"]]);
    await at(minute + 3);
    assert.deepEqual([asked, (await at(minute + 4))[0]], [[], first[0]], "an equal list is the same one");
    down = true;
    assert.equal((await at(3 * minute))[0], first[0], "and it is kept when it cannot be had");
    await assert.rejects(at(9 * minute), /503/, "until it is too old");
  } finally {
    globalThis.fetch = fetching;
  }
});

test("heat is that of the hottest node behind, the way is through what supplies, not through rooms", () => {
  const s = hall();
  assert.deepEqual(["rack:r1", "loop:r1", "cdu:c", "crah:w", "rack:r2", "row:w"].map((id) => s.heat(id).margin), [7, 7, 7, 7, 30, 7]);
  assert.equal(s.heat("cdu:c").node, "node:h1");
  assert.deepEqual(s.coolant.get("loop:r1"), { flow: 15 });
  const related = s.related("rack:r1");
  for (const id of ["shelf:r1/a", "pdu:w/a", "ups:u", "feed:a", "loop:r1", "cdu:c", "crah:w", "node:h1"]) assert.ok(related.has(id), `${id} belongs to rack r1`);
  assert.ok(!related.has("rack:r2"), "its neighbour does not");
});

test("everything has a home on the maps", () => {
  const s = hall();
  for (const [id, want] of [["gpu:h1/3", "rack:r1"], ["fan:h1/fan2", "rack:r1"], ["psu:r1/a/2", "shelf:r1/a"], ["pump:c/1", "cdu:c"], ["battery:u", "ups:u"], ["valve:r1", "loop:r1"], ["loop:r1", "loop:r1"], ["job:a", ""], ["storage:s", ""]]) assert.equal(s.home(id), want, id);
});
