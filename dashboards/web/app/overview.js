// The first page: what is wrong now, what runs, what was wrong, what is heard.

import { h, text, attr, show, replace, changed } from "./dom.js";
import { plural, gpuTime, called, percent } from "./format.js";
import { lossOf, section, addressOf } from "./parts.js";
import { incidentList, jobList, nothing } from "./rows.js";
import { isHurt } from "./store.js";
import { connectWays, heard } from "./heard.js";
import { Costs, windows, windowOf } from "./costs.js";
import { drawDomains } from "./domains.js";
import { waterfall, bottlenecks } from "./budget.js";
import { AlertsBox } from "./alerts.js";
import { drawLosses, drawDays } from "./losses.js";

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
    this.heard = h("div", {});
    this.fleet = h("p", { class: "fleet" });
    this.buildCosts();
    this.alerts = new AlertsBox(() => store.changed());
    this.sections = {
      open: section("open", "Open incidents", this.open, this.calm),
      alerts: this.alerts.el,
      domains: section("domains", "The five domains", this.domains),
      jobs: section("jobs", "Jobs", this.jobs, this.allJobs, this.ways),
      costs: this.costsBox,
      resolved: section("resolved", "Resolved", this.resolved, this.more),
      heard: section("heard", "What is heard", this.heard),
    };
    this.el = h("article", { class: "overview" }, h("header", { class: "head" }, this.headline, this.fleet), Object.values(this.sections));
    this.costs = new Costs(["losses", "coupling", "budget", "bottlenecks"], { window: windowOf(location.search), tell: () => store.changed() });
  }

  // buildCosts makes what is told of a window of time, and the choice of it.
  buildCosts() {
    this.domains = h("div", { class: "wide" });
    this.lost = h("div", {});
    this.days = h("div", {});
    this.budget = h("div", {});
    this.scores = h("div", {});
    this.unasked = h("p", { class: "quiet" });
    this.spans = windows.map(([w, words]) => h("button", { type: "button", "data-window": w, "aria-pressed": String(w === windowOf(location.search)), onclick: () => this.over(w) }, words));
    this.costsBox = h("div", { class: "costs" },
      h("div", { class: "buttons span", role: "group", "aria-label": "How far back costs are told" }, h("span", { class: "quiet" }, "In the last"), this.spans, this.unasked),
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
  }

  // drawCosts brings what was lost, and to what, up to what was answered last.
  drawCosts(open) {
    const { losses, coupling, budget, bottlenecks: scores } = this.costs.answers;
    drawDomains(this.domains, { open, losses, coupling, loaded: this.store.loaded });
    const known = [...this.store.incidents.values()].sort((a, b) => (a.opened < b.opened ? 1 : -1));
    drawLosses(this.lost, losses, (cause) => {
      const of = known.find((i) => i.root?.entity === cause.root && i.root?.signature === cause.signature);
      return of ? addressOf(of.id) : null;
    });
    drawDays(this.days, losses);
    waterfall(this.budget, budget?.fleet);
    bottlenecks(this.scores, scores);
    text(this.unasked, this.costs.failure ? `It cannot be asked now: ${this.costs.failure}` : "");
    text(this.fleet, fleetWords(this.store, losses));
  }

  /** update brings the view up to what the store knows. */
  update() {
    const { store } = this;
    const open = store.open(), resolved = store.resolved(), jobs = store.sortedJobs();
    text(this.headline, headline(store, open, jobs));
    incidentList(this.open, open, store.tick);
    nothing(this.calm, calm(store, open));
    this.alerts.update(store.tick);
    jobList(this.jobs, jobs.slice(0, fewJobs), store);
    show(this.allJobs, jobs.length > fewJobs);
    text(this.allJobs.firstChild, `All ${plural(jobs.length, "job")} →`);
    incidentList(this.resolved, this.everything ? resolved : resolved.slice(0, fewResolved), store.tick);
    show(this.sections.resolved, resolved.length > 0);
    show(this.more, !this.everything && resolved.length > fewResolved);
    text(this.more, `Show all ${resolved.length}`);
    if (changed(this.ways, "ways", store.loaded && jobs.length === 0)) replace(this.ways, store.loaded && jobs.length === 0 ? connectWays() : null);
    heard(this.heard, store);
    this.drawCosts(open);
  }
}

// fleetWords say how well the site's GPUs are used.
function fleetWords(store, losses) {
  const { goodput, gpus, work_lost_gpu_seconds: redone } = store.fleet ?? {};
  return [gpus > 0 && `${plural(gpus, "GPU")} at work`, typeof goodput === "number" && `goodput ${percent(goodput)}`,
    redone > 0 && `${gpuTime(redone)} of work done again after failures`, losses && `${gpuTime(losses.gpu_seconds_lost)} lost to incidents`].filter(Boolean).join(" · ");
}

function headline(store, open, jobs) {
  if (!store.loaded) return store.failure ? "Quintet cannot be read" : "Reading …";
  const hurt = jobs.filter(isHurt), incidents = open.filter((i) => i.kind !== "risk");
  const lost = incidents.reduce((sum, i) => sum + lossOf(i), 0);
  const running = jobs.length - hurt.length;
  if (jobs.length === 0) return open.length ? plural(open.length, "open incident") : "No job is heard yet";
  if (hurt.length === 0 && incidents.length === 0) return jobs.length === 1 ? `${called(jobs[0].job)} runs as usual` : `${jobs.length === 2 ? "Both jobs" : `All ${plural(jobs.length, "job")}`} run as usual`;
  const who = hurt.length === 1 ? `${called(hurt[0].job)} is ${hurt[0].state}` : hurt.length > 1 ? `${plural(hurt.length, "job")} hurt` : plural(incidents.length, "open incident");
  return `${who}${lost > 0 ? `, ${gpuTime(lost)} lost` : ""}${hurt.length && running > 0 ? `; ${plural(running, "other")} ${running === 1 ? "runs" : "run"} as usual` : ""}`;
}

function calm(store, open) {
  if (open.length > 0) return "";
  if (!store.loaded) return store.failure;
  return store.jobs.size > 0 ? "None. No job is slower than it was." : "None.";
}
