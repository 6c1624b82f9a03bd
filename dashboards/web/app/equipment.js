// One piece of equipment: what gives it power and cold, what is in or behind it, and
// its curves.

import { h, text, show, replace, keyed, attr } from "./dom.js";
import { quantity, called } from "./format.js";
import { history as past, quoted } from "./promql.js";
import { bare, byName } from "./plant.js";
import { Past, lastHour, curvesOf } from "./past.js";
import { named } from "./supply.js";
import { section, addressOf, rootOf } from "./parts.js";
import { sign } from "./words.js";

const mostMembers = 64, mostWith = 6, mostNodes = 8, fewSources = 4;

const first = ["rack_power_watts", "node_power_watts", "gpu_temperature_celsius", "gpu_temperature_margin_celsius", "gpu_sm_clock_hertz", "gpu_power_watts", "gpu_throttle_thermal_seconds_total", "gpu_throttle_brake_seconds_total", "coolant_flow_liters_per_minute", "coolant_supply_celsius", "coolant_return_celsius", "coolant_pressure_pascals", "inlet_celsius", "fan_speed_ratio", "feed_up", "psu_up", "battery_charge_ratio", "leak_detected", "rack_power_limit_watts", "node_power_limit_watts"];
const rank = (c) => { const i = first.indexOf(c.metric); return i < 0 ? first.length : i; };

/** Equipment is the part of the view that shows what its address names. */
export class Equipment {
  constructor(view) {
    this.view = view;
    this.facts = h("p", { class: "facts" });
    this.members = h("ol", { class: "rows members" });
    this.more = h("p", { class: "quiet" });
    this.membersBox = section("members", "In it and behind it", this.members, this.more);
    this.past = new Past();
    this.title = h("h2", {});
    this.incidents = h("ol", { class: "touching" });
    this.el = h("div", { class: "part" }, this.facts, this.incidents, this.membersBox, h("section", { class: "pastbox" }, this.title, this.past.el));
  }

  close() { this.past.close(); }

  /** ask asks for its curves, and for the GPUs of a node. */
  async ask(at, signal) {
    const { view } = this, { of } = view, hour = lastHour(at);
    const behind = (view.supply.behind?.get(of) ?? []), kind = of.slice(0, of.indexOf(":"));
    const withIt = [of, ...behind.filter((x) => /^(shelf|loop|pump|ups|pdu):/.test(x)).slice(0, mostWith)];
    const kinds = new Map();
    for (const id of withIt) kinds.set(id.slice(0, id.indexOf(":")), [...(kinds.get(id.slice(0, id.indexOf(":"))) ?? []), id]);
    const asks = [...kinds].map(([k, ids]) => past.range(`{kind=${quoted(k)},name=~${named(ids)}}`, hour, signal).then((r) => curvesOf(r)));
    const nodes = kind === "node" ? [of] : view.supply.nodes(of).slice(0, mostNodes);
    if (nodes.length > 0 && ["rack", "loop", "node", "cdu", "shelf"].includes(kind)) {
      const where = `node=~${named(nodes)}`;
      const hottest = (metric, fold) => past.range(`${fold} by (node) (${metric}{${where}})`, hour, signal).then((r) => curvesOf(r.map((x) => ({ ...x, labels: { __name__: metric, kind: "node", name: x.labels.node } }))));
      asks.push(hottest("gpu_temperature_celsius", "max"), hottest("gpu_sm_clock_hertz", "min"));
    }
    this.gpus = kind === "node" ? await past.instant(`{kind="gpu",node=${quoted(bare(of))},__name__=~"gpu_(temperature_celsius|temperature_margin_celsius|power_watts|sm_clock_hertz)"}`, at, signal) : [];
    const curves = (await Promise.all(asks)).flat().filter((c) => c.v.some((v) => v !== null && v !== 0) || /_up$/.test(c.metric));
    curves.sort((a, b) => rank(a) - rank(b) || (a.entity < b.entity ? -1 : 1));
    this.asked = of;
    this.past.show(curves, { ...hour, live: view.live });
  }

  draw() {
    const { view } = this, { supply, of } = view, e = supply.byId.get(of), known = this.asked === of;
    const lines = view.describe(of);
    text(view.headline, known && !e && this.past.series.size === 0 ? `No ${called(of)} is known here` : `${called(of)}${lines.length > 1 ? `: ${lines[1]}` : ""}`);
    replace(this.facts, this.factsOf(e, lines));
    const ids = new Set([of, ...(supply.behind?.get(of) ?? [])]);
    const here = view.incidents.filter((i) => [i.root?.entity ?? "", ...(i.chain ?? []).map((l) => l.entity)].some((id) => ids.has(id) || supply.home(id) === of));
    replace(this.incidents, here.slice(0, 8).map((i) => h("li", {}, h("a", { href: addressOf(i.id), "data-go": true }, sign(i.severity), `${i.root?.signature ?? ""} at ${rootOf(i)}`))));
    this.drawMembers();
    text(this.title, view.live ? "The last hour" : "The hour before");
    show(this.past.el.parentElement, known);
  }

  factsOf(e, lines) {
    const link = (id) => h("a", { href: this.view.address({ of: id }), "data-go": true }, called(id));
    const list = (words, ids) => (ids?.length ? [`${words} `, ids.slice(0, fewSources).map((id, i) => [i ? ", " : "", link(id)]), ids.length > fewSources ? ` and ${ids.length - fewSources} more` : ""] : null);
    return [...lines.slice(2), e?.in && !/^(hall|site):/.test(e.in) ? ["in ", link(e.in)] : null, list("power from", e?.fed_by), list("cooled by", e?.cooled_by)]
      .filter(Boolean).map((f) => h("span", { class: "fact" }, f));
  }

  drawMembers() {
    const { view } = this, { supply, of } = view;
    const rows = of.startsWith("node:") ? this.gpuRows() : (supply.behind?.get(of) ?? []).filter((id) => supply.byId.has(id)).map((id) => ({ id, href: view.address({ of: id }), lines: view.describe(id).slice(1), v: supply.load(id).ratio }));
    rows.sort((a, b) => (b.v > a.v ? 1 : b.v < a.v ? -1 : byName(a, b)));
    keyed(this.members, rows.slice(0, mostMembers), {
      key: (r) => r.id,
      create: () => h("li", {}, h("a", { class: "row member", "data-go": true, "data-row": true }, h("span", { class: "entity" }), h("span", { class: "quiet" }))),
      update: (el, r) => {
        const a = el.firstChild;
        attr(a, "href", r.href);
        attr(a, "data-go", r.href ? "" : null);
        text(a.firstChild, called(r.id));
        text(a.lastChild, r.lines.join(" · "));
      },
    });
    text(this.more, rows.length > mostMembers ? `and ${rows.length - mostMembers} more` : "");
    show(this.membersBox, rows.length > 0);
  }

  // gpuRows are the GPUs of a node, the hottest first.
  gpuRows() {
    const gpus = new Map();
    for (const { labels, v } of this.gpus ?? []) {
      const id = `gpu:${labels.name}`;
      if (!gpus.has(id)) gpus.set(id, {});
      gpus.get(id)[labels.__name__] = v;
    }
    return [...gpus].map(([id, g]) => ({ id, href: null, v: g.gpu_temperature_celsius, lines: [
      quantity(g.gpu_temperature_celsius, "celsius", ""), g.gpu_temperature_margin_celsius !== undefined ? `${quantity(g.gpu_temperature_margin_celsius, "celsius", "")} to slowdown` : "",
      quantity(g.gpu_power_watts, "watts", ""), quantity(g.gpu_sm_clock_hertz, "hertz", ""), this.view.marks.get(id) === "root" ? "an incident begins here" : this.view.marks.get(id) ? "an incident passes here" : ""].filter(Boolean) }));
  }
}
