// What the site is made of, kind by kind, as /api/v1/topology lists it: asked for
// once, and again when it may have changed.

import { get } from "./store.js";

const pageOf = 2000; // entities of one answer
const mostOf = 20000; // entities of one list: what is beyond is said to be
const keptLists = 24;
const freshFor = 60000; // ms of the log's time

/** Plant keeps lists of entities: {entities: [{id, kind, in, groups, …}], truncated}. */
export class Plant {
  #lists = new Map(); // key -> {at, answer}

  /** list answers the entities of a kind, all or those in one, as of the log's now, as people count. */
  list(kind, { inside = "", now }) {
    const key = `${kind} ${inside}`, kept = this.#lists.get(key);
    if (kept && !(now - kept.at > freshFor)) return kept.answer;
    const answer = this.#all(kind, inside);
    this.#lists.delete(key);
    this.#lists.set(key, { at: now, answer });
    if (this.#lists.size > keptLists) this.#lists.delete(this.#lists.keys().next().value);
    answer.catch(() => { if (this.#lists.get(key)?.answer === answer) this.#lists.delete(key); });
    return answer;
  }

  async #all(kind, inside) {
    const out = { entities: [], truncated: false };
    for (let after = ""; ;) {
      const page = await get(`/api/v1/topology?${new URLSearchParams({ kind, limit: pageOf, ...(inside && { in: inside }), ...(after && { after }) })}`);
      out.entities.push(...(page.entities ?? []));
      if (!page.next || out.entities.length >= mostOf) return { entities: out.entities.sort(byName), truncated: Boolean(page.next) };
      after = page.next;
    }
  }
}

/** group is the name of an entity's group of a kind, or of those whose name begins so: group(e, "group:tier/"). */
export function group(entity, prefix) {
  const found = (entity.groups ?? []).find((g) => g.startsWith(prefix));
  return found === undefined ? "" : found.slice(prefix.length);
}

/** bare is an entity's name without its kind: "port:a/b" is "a/b". */
export function bare(id) { return String(id).slice(String(id).indexOf(":") + 1); }

/** lastPart is the last part of an entity's name: of "port:leaf3/eth12" it is eth12. */
export function lastPart(id) { return bare(id).slice(bare(id).lastIndexOf("/") + 1); }

const numbers = new Intl.Collator("en", { numeric: true });

/** byName orders entities as people count: eth2 before eth10. */
export function byName(a, b) { return numbers.compare(a.id, b.id); }

/** planeOf is the plane or rail that a switch belongs to. */
export function planeOf(e) {
  for (const kind of ["plane", "rail"]) if (group(e, `${kind}:`) !== "") return `${kind} ${group(e, `${kind}:`)}`;
  return "";
}

/** tierOf is its tier: as it is stated, else by what is plugged in. */
export function tierOf(e) { return group(e, "group:tier/") || (e.downlinks > 0 ? "leaf" : e.uplinks > 0 ? "spine" : ""); }

/** plant is the page's one keeper of lists. */
export const plant = new Plant();
