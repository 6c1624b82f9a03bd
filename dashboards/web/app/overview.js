// The first page: what is wrong now, what runs, what was wrong, what is heard.

import { h, text, show, replace, changed } from "./dom.js";
import { plural, gpuTime, called } from "./format.js";
import { lossOf, section } from "./parts.js";
import { incidentList, jobList, nothing } from "./rows.js";
import { isHurt } from "./store.js";
import { connectWays, heard } from "./heard.js";

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
    this.sections = {
      open: section("open", "Open incidents", this.open, this.calm),
      jobs: section("jobs", "Jobs", this.jobs, this.allJobs, this.ways),
      resolved: section("resolved", "Resolved", this.resolved, this.more),
      heard: section("heard", "What is heard", this.heard),
    };
    this.el = h("article", { class: "overview" }, h("header", { class: "head" }, this.headline), Object.values(this.sections));
  }

  get title() { return ""; }

  close() {}

  /** update brings the view up to what the store knows. */
  update() {
    const { store } = this;
    const open = store.open(), resolved = store.resolved(), jobs = store.sortedJobs();
    text(this.headline, headline(store, open, jobs));
    incidentList(this.open, open, store.tick);
    nothing(this.calm, calm(store, open));
    jobList(this.jobs, jobs.slice(0, fewJobs), store);
    show(this.allJobs, jobs.length > fewJobs);
    text(this.allJobs.firstChild, `All ${plural(jobs.length, "job")} →`);
    incidentList(this.resolved, this.everything ? resolved : resolved.slice(0, fewResolved), store.tick);
    show(this.sections.resolved, resolved.length > 0);
    show(this.more, !this.everything && resolved.length > fewResolved);
    text(this.more, `Show all ${resolved.length}`);
    if (changed(this.ways, "ways", store.loaded && jobs.length === 0)) replace(this.ways, store.loaded && jobs.length === 0 ? connectWays() : null);
    heard(this.heard, store);
  }
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
