// "wrong" asks what it was: the signature and the entity label the incident's
// recording, from which quintet learn fits its weights.

import { h, text, show, replace } from "./dom.js";
import { get } from "./store.js";

const none = "none"; // the signature of an incident where nothing was wrong

/** Truth is the form. say(body) sends a verdict. */
export class Truth {
  constructor(say) {
    this.say = say;
    this.signature = h("input", { type: "text", list: "truth-signatures", maxlength: 100, "aria-label": "What it was: a signature", placeholder: "signature", autocomplete: "off", oninput: () => this.fits() });
    this.entity = h("input", { type: "text", list: "truth-entities", maxlength: 200, "aria-label": "Where it was: an entity", placeholder: "kind:name", autocomplete: "off" });
    this.why = h("input", { type: "text", maxlength: 1000, "aria-label": "Note", placeholder: "note", autocomplete: "off" });
    this.signatures = h("datalist", { id: "truth-signatures" });
    this.entities = h("datalist", { id: "truth-entities" });
    this.notice = h("p", { class: "quiet", role: "status" });
    this.el = h("form", { class: "truth", hidden: true, onsubmit: (e) => { e.preventDefault(); this.send(); } },
      h("p", {}, "What was it?"), this.signature, this.entity, this.why, this.signatures, this.entities,
      h("div", { class: "buttons" }, h("button", { type: "submit" }, "Save"), h("button", { type: "button", onclick: () => { this.signature.value = none; this.fits(); this.send(); } }, "Nothing was wrong")), this.notice);
  }

  /** update shows the form while the verdict is wrong or partly. */
  update(incident, verdict) {
    const asks = verdict === "wrong" || verdict === "partly";
    show(this.el, asks);
    this.verdict = verdict;
    if (!asks || this.asked) return;
    this.asked = true;
    const near = [...(incident.alternatives ?? []).map((a) => a.entity), ...(incident.chain ?? []).map((l) => l.entity), ...(incident.impact?.entities ?? []), ...(incident.impact?.jobs ?? []).map((j) => j.job)];
    replace(this.entities, [...new Set(near)].map((value) => h("option", { value })));
    const likely = (incident.alternatives ?? []).map((a) => a.signature);
    this.offer(likely);
    get("/api/v1/coverage/report").then((report) => this.offer([...likely, ...(report.faults ?? []).map((f) => f.signature).sort()])).catch(() => { /* names can be typed */ });
  }

  offer(names) { replace(this.signatures, [...new Set(names), none].map((value) => h("option", { value }))); }

  // fits: where nothing was wrong, there is no place.
  fits() { this.entity.disabled = this.signature.value.trim() === none; }

  async send() {
    const signature = this.signature.value.trim(), entity = this.entity.disabled ? "" : this.entity.value.trim();
    const body = { verdict: this.verdict, ...(this.why.value.trim() && { text: this.why.value.trim() }), ...(signature && { signature }), ...(entity && { entity }) };
    text(this.notice, "");
    if (await this.say(body)) text(this.notice, signature ? "Saved. It labels the recording of this incident for quintet learn." : "Saved.");
  }
}
