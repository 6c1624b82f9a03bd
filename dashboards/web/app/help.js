// Keys, and what the signs mean.

import { h } from "./dom.js";
import { domains, domainSign, domainClass, sign } from "./words.js";

const keys = [["Ctrl-K", "find anything"], ["j, k", "next and previous line"], ["Enter", "open it"], ["u", "up to the overview"], ["/", "find a job"], ["← →", "move the crosshair over curves; Shift: by ten"], ["← → ↑ ↓", "choose a cell of a map; Enter opens it"], ["space, [ ]", "in a replay: pause; the incident before, the next"], ["t", "theme: auto, light, dark"], ["z", "times local or in UTC"], ["?", "this help"], ["Esc", "close, leave"]];

/** Help is the dialogue that says how to use the page. */
export class Help {
  constructor() {
    const row = (name, words) => [h("dt", {}, name), h("dd", {}, words)];
    this.el = h("dialog", { class: "help", "aria-labelledby": "h-help" },
      h("form", { method: "dialog" }, h("h2", { id: "h-help" }, "How to read and move"), h("button", { class: "plain", "aria-label": "Close" }, "×")),
      h("h3", {}, "Keys"), h("dl", { class: "keys" }, keys.map(([k, what]) => row(h("kbd", {}, k), what))),
      h("h3", {}, "Signs"),
      h("p", { class: "signs" }, domains.map((d) => h("span", { class: domainClass(d) }, domainSign(d), d))),
      h("p", { class: "signs" }, ["critical", "warning", "info", "resolved", "stalled", "failed"].map((n) => h("span", {}, sign(n), n))),
      h("p", { class: "quiet" }, "Times are of the log, in your zone; hover one for UTC. An onset is an interval: the trouble began somewhere within it. A lag in grey lies within the error of the times: the order of the two is not certain. Curves begin at zero; those that measure the same share a scale; a dashed box is time without data."));
  }

  open() { if (!this.el.open) this.el.showModal(); }
}
