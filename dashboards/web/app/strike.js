// In a demo: a fault of choice is injected into the simulated site.

import { h, text, replace } from "./dom.js";
import { clock, instant, duration } from "./format.js";
import { entityLink } from "./parts.js";
import { get, post } from "./store.js";
import { once } from "./reading.js";
import { domains } from "./words.js";

const faults = "/api/v1/demo/faults";

/** Strike is the dialogue; opener is the button that opens it. */
export class Strike {
  constructor() {
    Object.assign(this, { loaded: false, failure: "" });
    this.opener = h("button", { type: "button", class: "plain", onclick: () => this.open() }, "Inject a fault …");
    this.which = h("select", { "aria-label": "Fault", onchange: () => this.chosen() });
    this.at = h("input", { type: "text", "aria-label": "Entity", placeholder: "anywhere, or kind:name" });
    this.what = h("p", { class: "quiet" });
    this.said = h("p", { role: "status" });
    this.form = h("form", { onsubmit: (e) => { e.preventDefault(); this.strike(); } }, h("div", { class: "buttons" }, this.which, this.at, h("button", { type: "submit" }, "Inject")));
    this.body = h("div", {}, this.form, this.what, this.said);
    this.el = h("dialog", { class: "help", "aria-labelledby": "h-strike" },
      h("form", { method: "dialog" }, h("h2", { id: "h-strike" }, "Inject a fault into the simulated site"), h("button", { class: "plain", "aria-label": "Close" }, "×")), this.body);
    this.el.addEventListener("click", (e) => { if (e.target.closest("a[data-go]")) this.el.close(); });
  }

  async open() {
    this.el.showModal();
    once(this.body, [this]);
    try {
      this.faults = (await get(faults)).faults;
      Object.assign(this, { loaded: true, failure: "" });
      replace(this.which, domains.map((d) => h("optgroup", { label: d }, this.faults.filter((f) => f.domain === d).map((f) => h("option", { value: f.name }, f.name)))));
      this.chosen();
    } catch (error) {
      this.failure = error.message;
    }
    once(this.body, [this]);
  }

  chosen() {
    const { severity } = this.faults.find((f) => f.name === this.which.value) ?? {};
    text(this.what, severity ? `Its severity is the ${severity}.` : "");
  }

  async strike() {
    const where = this.at.value.trim();
    try {
      const f = await post(faults, { fault: where ? `${this.which.value}@${where}` : this.which.value });
      replace(this.said, `Injected at ${clock(instant(f.at))}: ${f.fault} at `, entityLink(f.entity), `, for ${duration((instant(f.until) - instant(f.at)) / 1000)}.`);
    } catch (error) {
      text(this.said, `Not injected: ${error.message}`);
    }
  }
}
