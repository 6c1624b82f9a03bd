// Which entities the incidents of a moment touch: where they begin, and what they
// pass through.

import { get } from "./store.js";
import { during } from "./time.js";
import { bare } from "./plant.js";
import { rootOf, addressOf, sentenceOf } from "./parts.js";
import { h, keyed, text } from "./dom.js";
import { sign } from "./words.js";

const mostPeers = 256; // cables looked up and remembered

/** touchedBy maps entities to "root" or "chain", and says which incidents there are. */
export function touchedBy(store, at) {
  const marks = new Map(), incidents = during(store, at);
  for (const i of incidents) {
    for (const link of i.chain ?? []) if (!marks.has(link.entity)) marks.set(link.entity, "chain");
  }
  for (const i of incidents) if (i.root?.entity) marks.set(i.root.entity, "root");
  return { marks, incidents };
}

/** stronger is the mark that stands where two do. */
export function stronger(a, b) { return a === "root" || b === "root" ? "root" : a || b || ""; }

/** Cables looks up what a host's adapter is plugged into. */
export class Cables {
  #known = new Map(); // nic -> port, "" where nobody says

  /** peer is what is known; where nothing is, it is asked for, and then() called. */
  peer(nic, then) {
    if (this.#known.has(nic)) return this.#known.get(nic);
    if (this.#known.size >= mostPeers) this.#known.delete(this.#known.keys().next().value);
    this.#known.set(nic, "");
    get(`/api/v1/topology?${new URLSearchParams({ entity: nic, hops: 1 })}`).then((answer) => {
      const cable = (answer.edges ?? []).find((e) => e.rel === "connects" && (e.from === nic || e.to === nic));
      if (!cable) return;
      this.#known.set(nic, cable.from === nic ? cable.to : cable.from);
      then();
    }).catch(() => this.#known.delete(nic));
    return "";
  }
}

/** switchOf is the switch that an entity is, lies in or is plugged into: {name, plugged}, "" where it is none of these. */
export function switchOf(id, isSwitch, cables, then) {
  const kind = id.slice(0, id.indexOf(":")), parts = bare(id).split("/");
  if (kind === "switch") return { name: bare(id), plugged: false };
  if (["port", "queue", "optic"].includes(kind) && isSwitch(parts[0])) return { name: parts[0], plugged: false };
  const nic = ["nic", "queue", "optic"].includes(kind) ? `nic:${parts.slice(0, 2).join("/")}` : "";
  const port = nic && cables.peer(nic, then);
  return { name: port ? bare(port).split("/")[0] : "", plugged: true };
}

/** incidentLines keeps a list of the incidents of a moment. */
export function incidentLines(list, incidents, now) {
  keyed(list, incidents, {
    key: (i) => `${i.id} ${i.revision}`,
    create: (i) => h("li", {}, h("a", { href: addressOf(i.id), "data-go": true }, sign(i.severity), sentenceOf(i, now)), h("span", { class: "quiet root" })),
    update: (el, i) => text(el.lastChild, ` ${i.root?.signature ?? ""} at ${rootOf(i)}`),
  });
}
