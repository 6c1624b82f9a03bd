// The wall: what a room must know at a glance, for a screen of 2560 pixels and more
// without a keyboard. The headline, the five domains, the worst that is open and
// what to do about it, the fabric and the racks.

import { h, text, attr, show, replace, changed, keyed } from "./dom.js";
import { called, duration, gpuTime, percent, plural } from "./format.js";
import { sign, domainSign, domainClass } from "./words.js";
import { sentenceOf, rootOf, lastedFor, lossOf, addressOf } from "./parts.js";
import { headline } from "./states.js";
import { belongsTo } from "./timeline.js";
import { Domains } from "./domains.js";
import { Costs } from "./costs.js";
import { upToDate } from "./uptodate.js";
import { isDegraded } from "./store.js";
import { Fabric } from "./fabric.js";
import { Power } from "./power.js";
import { once } from "./reading.js";

const fewIncidents = 4;

/** Wall is the view. It fills the screen and never scrolls sideways. */
export class Wall {
  constructor(store, go) {
    this.store = store;
    this.headline = h("h1", { tabindex: "-1" });
    this.clock = h("p", { class: "wallfacts" });
    this.domains = new Domains();
    this.list = h("ol", { class: "wallincidents" });
    this.more = h("p", { class: "quiet" });
    this.pictures = [new Fabric(store, go), new Power(store, go)].map((view) => ({ view, words: h("p", { class: "walldo" }) }));
    this.maps = this.pictures.map(({ view, words }) => h("section", { "aria-label": view.title }, words, view.overall.legend.el, view.overall.map.el));
    this.el = h("article", { class: "wall" }, h("header", {}, this.headline, this.clock),
      h("section", { "aria-label": "The five domains" }, this.domains.el), h("section", { "aria-label": "Worst incidents" }, this.list, this.more), h("div", { class: "wallmaps" }, this.maps));
    this.costs = new Costs(["losses", "coupling"], { window: "24h", done: () => store.changed() });
    attr(document.documentElement, "data-view", "wall");
  }

  get title() { return "Wall"; }

  close() {
    attr(document.documentElement, "data-view", null);
    this.costs.close();
    this.domains.close();
    for (const { view } of this.pictures) view.close();
  }

  /** update brings the view up to what the store knows. */
  update() {
    const { store } = this, all = store.open(), open = all.filter((i) => !belongsTo(i, all)), { losses, coupling } = upToDate(this.costs.answers, store.incidents.values());
    text(this.headline, headline(store).words);
    text(this.clock, facts(store, losses, this.costs.span));
    this.domains.draw({ health: store.health, losses, coupling, span: this.costs.span });
    keyed(this.list, open.slice(0, fewIncidents), { key: (i) => i.id, create: card, update: (el, i) => update(el, i, store.tick) });
    text(this.more, open.length === 0 ? "No open incident." : open.length > fewIncidents ? `and ${plural(open.length - fewIncidents, "other open incident")}` : "");
    show(this.more, this.more.textContent !== "");
    this.pictures.forEach(({ view, words }, i) => {
      if (view.loaded) view.update(); else view.await();
      once(this.maps[i], [view], () => text(words, view.headline.textContent));
      show(this.maps[i], !view.loaded || view.overall.map.flat.length > 0);
    });
  }
}

function card(incident) {
  return h("li", {}, h("a", { class: "wallincident", href: addressOf(incident.id), "data-go": true, "data-row": true },
    h("p", { class: "walltitle" }), h("p", { class: "wallfacts" }), h("p", { class: "walldo" })));
}

function update(li, incident, now) {
  const [title, known, action] = li.firstChild.children, first = incident.actions?.[0];
  if (changed(li, "words", [incident.title, incident.severity, incident.onset, first])) {
    attr(li.firstChild, "data-severity", incident.severity);
    replace(title, sign(incident.severity), h("span", { class: "unseen" }, `${incident.severity}: `), sentenceOf(incident, now));
    replace(action, first ? [h("b", {}, "Do: "), h("b", { class: "kind" }, `${first.kind} ${called(first.target)}`), ` ${first.text}`] : h("span", { class: "quiet" }, incident.root ? "No action is known for it." : "No action before the cause is known."));
  }
  const { root } = incident, lost = lossOf(incident);
  if (changed(known, "facts", [root, lost, Math.floor(lastedFor(incident, now))])) {
    replace(known, h("span", { class: domainClass(root?.domain) }, root?.domain && domainSign(root.domain), rootOf(incident)), root && ` · ${root.signature}, confidence ${percent(root.confidence)}`, ` · for ${duration(lastedFor(incident, now))}`, lost > 0 && ` · ${gpuTime(lost)} lost`);
  }
}

// facts say how much of the work is well, as far as that is known.
function facts(store, losses, span) {
  const jobs = [...store.jobs.values()].filter((j) => j.state !== "ended"), degraded = jobs.filter(isDegraded).length, { goodput, gpus } = store.fleet ?? {};
  return [jobs.length > 0 && `${plural(jobs.length, "job")}${degraded ? `, ${degraded} degraded` : ", none degraded"}`, gpus > 0 && `${plural(gpus, "GPU")} at work`, typeof goodput === "number" && `goodput ${percent(goodput)}`,
    losses && `${gpuTime(losses.gpu_seconds_lost)} lost to incidents in the last ${span}`].filter(Boolean).join(" · ");
}
