// The first page: the state of the site, what is open, jobs, costs, what was
// resolved, and the data sources.

import { h, text, attr, show, replace, changed } from "./dom.js";
import { plural, gpuTime, percent } from "./format.js";
import { section, addressOf } from "./parts.js";
import { incidentList, jobList, nothing } from "./rows.js";
import { headline } from "./states.js";
import { once } from "./reading.js";
import { connectWays, dataSources } from "./sources.js";
import { Costs, windows, windowOf } from "./costs.js";
import { Domains } from "./domains.js";
import { waterfall, bottlenecks } from "./budget.js";
import { AlertsBox } from "./alerts.js";
import { belongsTo } from "./timeline.js";
import { drawLosses, drawDays } from "./losses.js";
import { upToDate } from "./uptodate.js";

const fewJobs = 12, fewResolved = 20;

/** Overview is the view of the site as a whole. */
export class Overview {
  constructor(store) {
    this.store = store;
    this.headline = h("h1", { tabindex: "-1" });
    this.open = h("ol", { class: "rows" });
    this.calm = h("p", { class: "quiet" });
    this.jobs = h("ol", { class: "rows" });
    this.allJobs = h("p", { class: "all" }, h("a", { href: "/jobs", "data-go": true }));
    this.resolved = h("ol", { class: "rows" });
    this.more = h("button", { type: "button", class: "more", onclick: () => { this.everything = true; this.update(); } });
    this.ways = h("div", {});
    this.reporting = h("div", {});
    this.fleet = h("p", { class: "fleet" });
    this.buildCosts();
    this.alerts = new AlertsBox(store);
    this.sections = {
      open: section("open", "Open incidents", this.open, this.calm),
      alerts: this.alerts.el,
      domains: section("domains", "The five domains", this.domains.el),
      jobs: section("jobs", "Jobs", this.jobs, this.allJobs, this.ways),
      costs: this.costsBox,
      resolved: section("resolved", "Resolved", this.resolved, this.more),
      sources: section("sources", "Data sources", this.reporting),
    };
    this.el = h("article", { class: "overview" }, h("header", { class: "head" }, this.headline, this.fleet), Object.values(this.sections));
    this.costs = new Costs(["losses", "coupling", "budget", "bottlenecks"], { window: windowOf(location.search), done: () => store.changed() });
  }

  // buildCosts makes what is shown of a window of time, and the choice of it.
  buildCosts() {
    this.domains = new Domains();
    this.lost = h("div", {});
    this.days = h("div", {});
    this.budget = h("div", {});
    this.scores = h("div", {});
    this.unasked = h("p", { class: "quiet" });
    this.spans = windows.map(([w, words]) => h("button", { type: "button", "data-window": w, "aria-pressed": String(w === windowOf(location.search)), onclick: () => this.over(w) }, words));
    this.costsBox = h("div", { class: "costs" },
      h("div", { class: "buttons span", role: "group", "aria-label": "Time range of the costs" }, h("span", { class: "quiet" }, "In the last"), this.spans, this.unasked),
      h("div", {}, section("lost", "Lost, by cause", this.lost, this.days), section("bottlenecks", "What holds the work back", this.scores)),
      section("budget", "Where GPU time goes", this.budget));
  }

  over(length) {
    for (const b of this.spans) attr(b, "aria-pressed", b.dataset.window === length);
    history.replaceState(history.state, "", length === "24h" ? location.pathname : `${location.pathname}?window=${length}`);
    this.costs.over(length);
  }

  get title() { return ""; }

  close() {
    this.costs.close();
    this.alerts.close();
    this.domains.close();
  }

  // drawCosts brings what was lost, and to what, up to what was answered last.
  drawCosts() {
    const { budget, bottlenecks: scores } = this.costs.answers, { losses, coupling } = upToDate(this.costs.answers, this.store.incidents.values());
    this.domains.draw({ health: this.store.health, losses, coupling, span: this.costs.span });
    const known = [...this.store.incidents.values()].sort((a, b) => (a.opened < b.opened ? 1 : -1));
    once(this.lost, [this.costs], () => drawLosses(this.lost, losses, (cause) => {
      const of = known.find((i) => i.root?.entity === cause.root && i.root?.signature === cause.signature);
      return of ? addressOf(of.id) : null;
    }));
    drawDays(this.days, losses);
    once(this.budget, [this.costs], () => waterfall(this.budget, budget?.fleet));
    once(this.scores, [this.costs], () => bottlenecks(this.scores, scores));
    text(this.unasked, this.costs.loaded && this.costs.failure ? `Costs are not available: ${this.costs.failure}` : "");
    text(this.fleet, fleetWords(this.store, losses, this.costs.span));
  }

  /** update brings the view up to what the store knows. */
  update() {
    const { store } = this;
    const all = store.open(), open = all.filter((i) => !belongsTo(i, all)), resolved = store.resolved(), jobs = store.sortedJobs();
    text(this.headline, headline(store).words);
    incidentList(this.open, open, store.tick);
    nothing(this.calm, open.length > 0 ? "" : "None.");
    this.alerts.update(store.tick);
    jobList(this.jobs, jobs.slice(0, fewJobs), store);
    show(this.allJobs, jobs.length > fewJobs);
    text(this.allJobs.firstChild, `All ${plural(jobs.length, "job")} →`);
    incidentList(this.resolved, this.everything ? resolved : resolved.slice(0, fewResolved), store.tick);
    show(this.sections.resolved, resolved.length > 0);
    show(this.more, !this.everything && resolved.length > fewResolved);
    text(this.more, `Show all ${resolved.length}`);
    if (changed(this.ways, "ways", jobs.length === 0)) replace(this.ways, jobs.length === 0 ? connectWays() : null);
    once(this.reporting, [store.covered], () => dataSources(this.reporting, store));
    this.drawCosts();
  }
}

// fleetWords say how well the site's GPUs are used.
function fleetWords(store, losses, span) {
  const { goodput, gpus, work_lost_gpu_seconds: redone } = store.fleet ?? {};
  return [gpus > 0 && `${plural(gpus, "GPU")} at work`, typeof goodput === "number" && `goodput ${percent(goodput)}`,
    redone > 0 && `${gpuTime(redone)} of work done again after failures`, losses && `${gpuTime(losses.gpu_seconds_lost)} lost to incidents in the last ${span}`].filter(Boolean).join(" · ");
}
