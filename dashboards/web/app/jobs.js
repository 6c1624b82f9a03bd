// All jobs, degraded ones first.

import { h, text, replace, changed } from "./dom.js";
import { plural } from "./format.js";
import { jobList, nothing } from "./rows.js";
import { isDegraded } from "./store.js";
import { connectWays } from "./sources.js";

/** Jobs is the view of every job, with a filter. */
export class Jobs {
  constructor(store) {
    this.store = store;
    this.headline = h("h1", { tabindex: "-1" }, "Jobs");
    this.filter = h("input", { type: "search", placeholder: "name or state", "aria-label": "Only jobs whose name or state contains", oninput: () => this.update() });
    this.list = h("ol", { class: "rows long" });
    this.none = h("p", { class: "quiet" });
    this.ways = h("div", {});
    this.el = h("article", { class: "jobs" }, h("header", { class: "head withfilter" }, this.headline, h("label", { class: "filter" }, "Find ", this.filter)), this.list, this.none, this.ways);
  }

  get title() { return "Jobs"; }

  close() {}

  /** update brings the view up to what the store knows. */
  update() {
    const all = this.store.sortedJobs(), wanted = this.filter.value.trim().toLowerCase();
    const some = wanted ? all.filter((j) => `${j.job} ${j.state}`.toLowerCase().includes(wanted)) : all;
    const degraded = all.filter(isDegraded).length;
    text(this.headline, `${plural(all.length, "job")}${degraded ? `, ${degraded} degraded` : ""}`);
    jobList(this.list, some, this.store);
    nothing(this.none, all.length && !some.length ? `No job's name or state contains “${this.filter.value}”.` : "");
    if (changed(this.ways, "ways", all.length === 0)) replace(this.ways, all.length === 0 ? connectWays() : null);
  }
}
