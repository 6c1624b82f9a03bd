// One switch with its ports, or one port with its curves and those of its peer.

import { h, text, attr, show, replace, keyed } from "./dom.js";
import { plural, quantity, called, entity } from "./format.js";
import { section } from "./parts.js";
import { shade, isDark } from "./heat.js";
import { history as past, quoted } from "./promql.js";
import { plant, bare, lastPart, planeOf, tierOf } from "./plant.js";
import { byPort, variants, possible, valueWords } from "./measures.js";
import { Past, lastHour, curvesOf } from "./past.js";
import { stronger } from "./touched.js";

const mostPorts = 256; // cells of one switch
const fewCurves = 10; // ports whose curves are drawn

// What a port's curves begin with; the rest follow by name.
const first = ["port_pfc_rx_pause_seconds_total", "port_pfc_tx_pause_seconds_total", "port_xmit_wait_seconds_total", "port_ecn_marked_packets_total", "port_tx_bytes_total", "port_rx_bytes_total", "port_queue_bytes", "port_tx_discards_total", "port_fec_uncorrectable_total", "port_pre_fec_ber", "optic_temperature_celsius"];

/** SwitchPart is the part of the fabric's view that shows what its address names. */
export class SwitchPart {
  constructor(view) {
    Object.assign(this, { view, ports: [], values: new Map(), curves: [] });
    this.facts = h("p", { class: "facts" });
    this.groups = h("div", { class: "portgroups" });
    this.more = h("p", { class: "quiet" });
    this.portsBox = section("ports", "Ports", this.groups, this.more);
    this.past = new Past();
    this.curvesTitle = h("h2", {});
    this.el = h("div", { class: "part" }, this.facts, this.portsBox, h("section", { class: "pastbox" }, this.curvesTitle, this.past.el));
  }

  close() { this.past.close(); }

  // name is the switch's, port the port's entity or "".
  get port() { return this.view.of.startsWith("port:") ? this.view.of : ""; }
  get name() { return bare(this.view.of).split("/")[0]; }

  /** ask asks for what is shown as of an instant. */
  async ask(at, signal) {
    const { view, name, port } = this, m = view.measure;
    const [list, now, curves] = await Promise.all([
      plant.list("port", { inside: `switch:${name}`, now: view.store.tick }),
      past.first(variants(m), (v) => past.instant(byPort(v, name), at, signal)),
      port ? this.portCurves(at, signal) : this.switchCurves(at, signal),
    ]);
    this.ports = list.entities;
    view.shown = variants(m)[Math.max(0, now.at)];
    view.valuesOf = null;
    this.values = new Map(now.result.map((r) => [r.labels.port, possible(r.v, view.shown)]));
    this.curves = curves;
    this.asked = { of: view.of, at, live: view.live, measure: m };
    this.past.show(curves, { ...lastHour(at), live: view.live });
  }

  // switchCurves are the measure over the last hour, of the ports that had most of it.
  async switchCurves(at, signal) {
    const { view, name } = this;
    const { at: n, result } = await past.first(variants(view.measure), (v) => past.range(byPort(v, name), lastHour(at), signal));
    const m = variants(view.measure)[Math.max(0, n)];
    const peaks = result.map((r) => ({ r, peak: Math.max(...r.v.map((v) => possible(v, m)).filter(Number.isFinite), -Infinity) })).filter((x) => x.peak > 0).sort((a, b) => b.peak - a.peak).filter((x, _, all) => x.peak > all[0].peak / 50).slice(0, fewCurves);
    return peaks.map(({ r }) => ({ entity: `port:${name}/${r.labels.port}`, metric: m.metric ?? metricOf(m), unit: m.unit, role: "witness", t: r.t, v: r.v.map((v) => possible(v, m)) }));
  }

  // portCurves are all that is known of a port over the last hour, and of its peer.
  async portCurves(at, signal) {
    const of = async (id, role) => {
      const e = entity(id);
      const result = await past.range(`{kind=${quoted(e.kind)},name=${quoted(bare(id))},__name__!~"port_(logical|physical)_state|port_speed_.*"}`, lastHour(at), signal);
      return curvesOf(result, role).sort((a, b) => rank(a) - rank(b) || (a.metric < b.metric ? -1 : 1));
    };
    const list = await plant.list("port", { inside: `switch:${this.name}`, now: this.view.store.tick });
    const peer = list.entities.find((e) => e.id === this.port)?.peer;
    const [own, other] = await Promise.all([of(this.port, "root"), peer ? of(peer, "witness") : []]);
    return [...own.filter(moves), ...other.filter(moves).slice(0, fewCurves)];
  }

  draw() {
    const { view, port } = this, own = view.switches.find((e) => bare(e.id) === this.name);
    const known = this.asked?.of === view.of;
    text(view.headline, this.headline(own, known));
    replace(this.facts, known ? this.factsOf(own) : null);
    show(this.portsBox, known && !port);
    if (known && !port) this.drawPorts();
    text(this.curvesTitle, port ? "The last hour, here and at the other end" : `The last hour: ports with most ${view.measure.name.toLowerCase()}`);
    text(this.curvesTitle, view.live ? this.curvesTitle.textContent : this.curvesTitle.textContent.replace("The last hour", "The hour before"));
    show(this.past.el.parentElement, known);
  }

  headline(own, known) {
    const { view, port } = this, where = own ? [planeOf(own), tierOf(own)].filter(Boolean).join(", ") : "";
    if (known && !own && this.ports.length === 0) return `No switch ${this.name} is known here`;
    if (port) {
      const v = this.values.get(lastPart(port));
      return `${bare(port)}${Number.isFinite(v) ? `: ${view.words(v)} ${view.shown.what}` : ""}`;
    }
    const worst = [...this.values].sort((a, b) => b[1] - a[1])[0];
    const what = worst?.[1] > 0 ? `${worst[0]}: ${view.words(worst[1])} ${view.shown.what}` : this.values.size ? view.shown.none : "";
    return `${this.name}${where ? ` (${where})` : ""}${known && what ? `; ${what}` : ""}`;
  }

  factsOf(own) {
    const { view, port } = this, out = [];
    if (port) {
      const e = this.ports.find((p) => p.id === port);
      out.push(h("a", { href: view.address({ of: `switch:${this.name}` }), "data-go": true }, `switch ${this.name}`));
      if (e?.peer) out.push(["the other end is ", e.peer.startsWith("port:") ? h("a", { href: view.address({ of: e.peer }), "data-go": true }, called(e.peer)) : called(e.peer)]);
      if (e?.speed_bits_per_second) out.push(quantity(e.speed_bits_per_second, "bits_per_second", ""));
    } else if (own) {
      if (own.in) out.push(h("a", { href: `/power?${new URLSearchParams({ of: own.in })}`, "data-go": true }, called(own.in)));
      out.push(plural(this.ports.length, "port"), own.downlinks ? `${own.downlinks} to hosts` : "", own.uplinks ? `${own.uplinks} to switches` : "");
      if (own.fed_by) out.push(["power from ", own.fed_by.map((id, i) => [i ? " and " : "", h("a", { href: `/power?${new URLSearchParams({ of: id })}`, "data-go": true }, called(id))])]);
    }
    return out.filter(Boolean).map((f) => h("span", { class: "fact" }, f));
  }

  drawPorts() {
    const { view } = this, shown = this.ports.slice(0, mostPorts), scale = view.scale(this.values.values()), dark = isDark();
    const kinds = [["to hosts", (e) => e.peer && !e.peer.startsWith("port:")], ["to switches", (e) => e.peer?.startsWith("port:")], ["no other end is stated", (e) => !e.peer]];
    const groups = kinds.map(([label, is]) => ({ label, ports: shown.filter(is) })).filter((g) => g.ports.length > 0);
    keyed(this.groups, groups, {
      key: (g) => g.label,
      create: (g) => h("div", {}, h("h3", {}, g.label), h("ol", { class: "portcells" })),
      update: (el, g) => keyed(el.lastChild, g.ports, { key: (e) => e.id, create: portCell, update: (li, e) => this.updatePort(li, e, scale, dark) }),
    });
    text(this.more, this.ports.length > mostPorts ? `and ${this.ports.length - mostPorts} more` : "");
  }

  updatePort(li, e, scale, dark) {
    const { view } = this, a = li.firstChild, v = this.values.get(lastPart(e.id));
    const mark = [e.id, `optic:${bare(e.id)}`, e.peer].reduce((m, id) => stronger(m, view.marks.get(id) && (id === e.peer ? "chain" : view.marks.get(id))), "");
    attr(a, "href", view.address({ of: e.id }));
    attr(a, "data-mark", mark || null);
    const [swatch, name, value, peer, note] = a.children;
    attr(swatch, "data-none", Number.isFinite(v) ? null : "");
    swatch.style.background = Number.isFinite(v) ? shade(scale.share(v), dark).fill : "";
    text(name, lastPart(e.id));
    text(value, valueWords(v, view.shown));
    text(peer, e.peer ? bare(e.peer) : "");
    text(note, mark === "root" ? "an incident begins here" : mark ? "an incident passes here" : "");
  }
}

function portCell() {
  return h("li", {}, h("a", { class: "port", "data-go": true, "data-row": true }, h("i", { class: "swatch", "aria-hidden": "true" }), h("b", { class: "name" }), h("span", { class: "num" }), h("span", { class: "quiet peer" }), h("span", { class: "unseen" })));
}

// moves reports what is worth a curve: what is not zero all along, or is no counter.
function moves(c) { return c.metric === "port_up" ? c.v.some((v) => v === 0) : c.v.some((v) => v !== 0 && v !== null) || first.indexOf(c.metric) >= 0 && first.indexOf(c.metric) < 6; }

function rank(c) { const i = first.indexOf(c.metric); return i < 0 ? first.length : i; }

const stands = { pause: "port_pfc_rx_pause_seconds_total", stops: "port_pfc_tx_pause_seconds_total", marks: "port_ecn_marked_packets_total", credits: "port_xmit_wait_seconds_total", use: "port_utilisation_ratio", errors: "port_errors", drops: "port_discards", down: "port_links_down" };
function metricOf(m) { return stands[m.id] ?? m.id; }
