// What data comes from where, how fresh, where it has gaps, and what the site
// therefore cannot show: requirements, and faults that cannot be distinguished.

import { h, s, text, attr, show, replace, changed } from "./dom.js";
import { plural, number, instant, duration, NONE } from "./format.js";
import { domainSign, domainClass, sign, tone, metricName } from "./words.js";
import { timeOf, section } from "./parts.js";
import { get } from "./store.js";
import { roundly } from "./sources.js";

const every = 20000; // ms by the stopwatch
const fewSources = 15;

// A state of a requirement, or how well a fault is seen: which sign and words.
const states = {
  met: ["healthy", "reported"], partly: ["warning", "in part"], stale: ["warning", "no longer"], missing: ["failed", "no data"], absent: ["ended", "no such device"], unobservable: ["info", "not observable by telemetry"],
  clear: ["healthy", "can be identified"], confused: ["warning", "looks like another"], blind: ["failed", "cannot be seen"], nowhere: ["ended", "no such device"],
};

function stateOf(name) {
  const [drawn, words] = states[name] ?? ["", name];
  return h("span", { class: `stateof ${tone(drawn)}` }, sign(drawn), words);
}

/** Coverage is the view of what is reported and what is not. */
export class Coverage {
  constructor(store) {
    this.store = store;
    this.headline = h("h1", { tabindex: "-1" }, "Coverage");
    this.summary = h("p", { class: "fleet" });
    this.domains = h("div", {});
    this.wanted = h("div", {});
    this.faults = h("div", {});
    this.gaps = h("div", {});
    this.listed = h("div", {});
    this.names = h("div", {});
    this.trouble = h("p", { class: "complaint", role: "status" });
    this.filter = h("input", { type: "search", placeholder: "collector, target or part", "aria-label": "Only sources whose collector, target or part contains", oninput: () => this.update() });
    this.onlySilent = h("button", { type: "button", "aria-pressed": "false", onclick: () => { attr(this.onlySilent, "aria-pressed", String(this.onlySilent.getAttribute("aria-pressed") !== "true")); this.update(); } }, "without data only");
    this.el = h("article", { class: "coverage" },
      h("header", { class: "head" }, this.headline, this.summary, this.trouble),
      section("coverage-domains", "Data of the five domains", this.domains),
      section("faults", "Faults that cannot be distinguished", this.faults),
      section("wanted", "What NVIDIA asks of a site's telemetry", this.wanted),
      section("coverage-gaps", "Gaps", this.gaps),
      section("coverage-sources", "Sources", h("div", { class: "withfilter" }, h("label", { class: "filter" }, "Find ", this.filter), this.onlySilent), this.listed),
      section("coverage-names", "Metrics and events", this.names));
    this.ask();
  }

  get title() { return "Coverage"; }

  get sources() { return [this, this.store.covered]; }

  get loaded() { return Boolean(this.report); }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  async ask() {
    if (!document.hidden) {
      try {
        this.report = await get("/api/v1/coverage/report");
        this.failure = "";
      } catch (error) {
        this.failure = error.message;
      }
    }
    if (this.closed) return;
    this.timer = setTimeout(() => this.ask(), every);
    this.store.changed();
  }

  /** update brings the view up to what is known. */
  update() {
    const { report, store } = this, now = store.tick;
    text(this.trouble, this.failure && `Coverage is not available: ${this.failure}`);
    this.drawSources();
    this.drawGaps();
    const count = (list, key, value) => list.filter((x) => x[key] === value).length;
    const asked = report.requirements.filter((r) => r.state !== "absent");
    const dark = report.faults.filter((f) => f.sight === "confused" || f.sight === "blind");
    text(this.headline, headline(store, report, dark));
    text(this.summary, [`${count(asked, "state", "met")} of ${asked.length} requirements met`, dark.length ? `${plural(dark.length, "fault")} cannot be detected or distinguished` : "every fault can be distinguished",
      `${plural(store.coverage.length, "source")}, ${plural(report.metrics.length, "kind", "kinds")} of metric`].join(" · "));
    if (changed(this.domains, "domains", report.domains)) replace(this.domains, domainTable(report.domains, now));
    if (changed(this.faults, "faults", report.faults)) replace(this.faults, faultList(dark, report.faults));
    if (changed(this.wanted, "wanted", report.requirements)) replace(this.wanted, wantedTable(report.requirements, now));
    if (changed(this.names, "names", [report.metrics, report.events])) replace(this.names, namesOf(report, now));
  }

  drawSources() {
    const wanted = this.filter.value.trim().toLowerCase(), silent = this.onlySilent.getAttribute("aria-pressed") === "true";
    const all = this.store.coverage.filter((x) => (!silent || x.silent) && (!wanted || `${x.collector} ${x.target} ${x.part}`.toLowerCase().includes(wanted)));
    all.sort((a, b) => b.silent - a.silent);
    if (changed(this.listed, "sources", [all.length, all.slice(0, fewSources)])) replace(this.listed, sourceTable(all, this.store.tick));
  }

  drawGaps() {
    const { coverage, gaps, tick } = this.store;
    const silent = coverage.filter((x) => x.silent);
    if (!changed(this.gaps, "gaps", [silent.map((x) => [x.collector, x.target, x.part, x.latest]), gaps])) return;
    replace(this.gaps, gapPicture(gaps, tick),
      silent.length > 0 && h("ul", { class: "plain" }, silent.slice(0, 20).map((x) => h("li", {}, h("b", { class: "t-warn" }, sign("stalled"), `${x.collector} ${x.target}${x.part ? ` ${x.part}` : ""}`), ", last data ", timeOf(instant(x.latest), tick))), silent.length > 20 && h("li", {}, `and ${number(silent.length - 20)} more`)),
      gaps.length === 0 && silent.length === 0 && h("p", { class: "quiet" }, "None. Every source reports."),
      gaps.length > 0 && h("details", {}, h("summary", {}, plural(gaps.length, "gap")), h("ul", { class: "plain" }, gaps.map((g) => h("li", {},
        `${g.collector} ${g.target}${g.part ? ` ${g.part}` : ""}, nothing from `, timeOf(instant(g.from), tick), g.to ? [" to ", timeOf(instant(g.to), tick), ` (${duration((instant(g.to) - instant(g.from)) / 1000)})`] : " on")))));
  }
}

function headline(store, report, dark) {
  const silent = store.coverage.filter((x) => x.silent).length;
  if (silent > 0) return `${plural(silent, "source")} without data`;
  const deaf = report.domains.filter((d) => d.metrics === 0).map((d) => d.domain);
  if (deaf.length) return `No data from ${deaf.join(" and ")}`;
  return dark.length ? `All sources report; ${plural(dark.length, "fault")} cannot be distinguished` : "All sources report";
}

function domainTable(list, now) {
  return h("table", { class: "requirements" },
    h("thead", {}, h("tr", {}, ["Domain", "Metrics", "Series", "Last"].map((x, i) => h("th", { scope: "col", class: i ? "num" : null }, x)))),
    h("tbody", {}, list.map((d) => h("tr", { class: domainClass(d.domain) }, h("th", { scope: "row" }, domainSign(d.domain), d.domain),
      h("td", { class: "num" }, d.metrics || h("b", { class: "t-warn" }, "none")), h("td", { class: "num" }, d.series.toLocaleString("en")), h("td", { class: "num" }, d.latest ? timeOf(instant(d.latest), now) : NONE)))));
}

function faultList(dark, all) {
  const clear = all.filter((f) => f.sight === "clear").length, none = all.filter((f) => f.sight === "nowhere");
  const rest = h("p", { class: "quiet" }, `${plural(clear, "fault")} can be distinguished from ${clear === 1 ? "its" : "their"} like.`, none.length > 0 && ` Not applicable, no such devices: ${none.map((f) => f.signature).join(", ")}.`);
  if (dark.length === 0) return rest;
  return [h("ul", { class: "dark" }, dark.map((f) => h("li", {}, h("div", { class: "who" }, domainSign(f.domain), h("b", {}, f.signature), stateOf(f.sight)), h("ul", {}, f.missing.map((m) => h("li", {},
    f.sight === "blind" ? "To see it at all: " : `To distinguish ${m.would_tell}: `, h("code", { title: metricName(m.metric) }, m.metric), ` of ${plural(m.of, m.on, m.on === "switch" ? "switches" : undefined)}`, m.entities > 0 ? `; ${number(m.entities)} of them report it` : "; none reports it")))))), rest];
}

function wantedTable(list, now) {
  const rank = ["missing", "stale", "partly", "unobservable", "met", "absent"];
  const sorted = list.map((r, i) => [r, i]).sort(([a, i], [b, k]) => rank.indexOf(a.state) - rank.indexOf(b.state) || i - k).map(([r]) => r);
  return h("table", { class: "wanted" },
    h("caption", { class: "unseen" }, "Requirements and what speaks for them"),
    h("thead", {}, h("tr", {}, ["Id", "What", "", "By, or what to do", "Last"].map((x) => h("th", { scope: "col" }, x || h("span", { class: "unseen" }, "State"))))),
    h("tbody", {}, sorted.map((r) => h("tr", { "data-state": r.state },
      h("th", { scope: "row" }, r.id), h("td", { class: "what" }, r.what), h("td", { class: "how" }, stateOf(r.state)),
      h("td", { class: "by" }, r.by.length > 0 && h("span", {}, r.by.join("; ")), r.do && h("span", { class: "do" }, r.do)),
      h("td", { class: "last" }, r.latest ? timeOf(instant(r.latest), now) : "")))));
}

function sourceTable(all, now) {
  if (all.length === 0) return h("p", { class: "quiet" }, "None.");
  const some = all.slice(0, fewSources);
  return [h("table", { class: "sources listed" },
    h("thead", {}, h("tr", {}, ["Source", "", "Series", "Every", "Age", "Clock off by"].map((x, i) => h("th", { scope: "col", class: i > 1 ? "num" : null }, x || h("span", { class: "unseen" }, "State"))))),
    h("tbody", {}, some.map((x) => {
      const age = (now - instant(x.latest)) / 1000;
      return h("tr", {}, h("th", { scope: "row" }, `${x.collector} `, h("span", { class: "name" }, x.target), x.part && h("span", { class: "quiet" }, ` ${x.part}`)),
        h("td", {}, h("span", { class: `stateof ${x.silent ? "t-warn" : "t-good"}` }, sign(x.silent ? "stalled" : "healthy"), x.silent ? "no data" : "reporting")),
        h("td", { class: "num" }, x.series.toLocaleString("en")), h("td", { class: "num" }, x.cadence_seconds > 0 ? roundly(x.cadence_seconds) : NONE),
        h("td", { class: "num" }, Number.isFinite(age) ? duration(Math.max(0, age)) : NONE), h("td", { class: "num" }, Math.abs(x.clock_offset_seconds) < 0.0005 ? "0" : roundly(x.clock_offset_seconds)));
    }))), all.length > some.length && h("p", { class: "quiet" }, `and ${number(all.length - some.length)} more: narrow the search.`)];
}

const rowHeight = 15, shownRows = 24;

// gapPicture draws gaps on one axis of time: a line a source, the newest first.
function gapPicture(gaps, now) {
  if (gaps.length === 0 || !Number.isFinite(now)) return null;
  const of = new Map();
  for (const g of gaps) {
    const name = `${g.collector} ${g.target}${g.part ? ` ${g.part}` : ""}`;
    if (!of.has(name) && of.size >= shownRows) continue;
    if (!of.has(name)) of.set(name, []);
    of.get(name).push([instant(g.from), g.to ? instant(g.to) : now]);
  }
  const from = Math.min(...[...of.values()].flat().map(([a]) => a)), span = now - from || 1;
  const x = (t) => `${(100 * (t - from)) / span}%`;
  return h("figure", { class: "gapchart", "aria-label": `Gaps of ${plural(of.size, "source")} since ${new Date(from).toISOString()}` },
    h("div", { class: "gaprows" }, [...of].map(([name, list]) => h("div", { class: "gaprow" }, h("span", { class: "who", title: name }, name),
      s("svg", { height: rowHeight, "aria-hidden": "true" }, s("line", { class: "heardline", x1: 0, x2: "100%", y1: rowHeight / 2, y2: rowHeight / 2 }),
        list.map(([a, b]) => s("rect", { class: "hole", x: x(a), y: 3, width: `${Math.max(0.4, (100 * (b - a)) / span)}%`, height: rowHeight - 6 })))))),
    h("figcaption", { class: "quiet" }, "from ", timeOf(from, now), " to now"));
}

function namesOf(report, now) {
  const kinds = new Map();
  for (const m of report.metrics) {
    if (!kinds.has(m.kind)) kinds.set(m.kind, []);
    kinds.get(m.kind).push(m);
  }
  const events = report.events.map((e) => h("li", {}, h("code", {}, e.event), ` of ${e.kind}, by ${e.collector}: ${number(e.count)} ${e.count === 1 ? "time" : "times"}, last `, timeOf(instant(e.latest), now)));
  return [[...kinds].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, list]) => h("details", {}, h("summary", {}, `${kind}: ${plural(list.length, "metric")}`),
    h("ul", { class: "plain" }, list.map((m) => h("li", {}, h("code", {}, m.metric), ` of ${number(m.entities)}, by ${m.collector}, last `, timeOf(instant(m.latest), now)))))),
  h("details", {}, h("summary", {}, plural(report.events.length, "event")), events.length ? h("ul", { class: "plain" }, events) : h("p", { class: "quiet" }, "None received."))];
}

