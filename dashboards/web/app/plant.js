// What the site is made of, kind by kind, as /api/v1/topology lists it: asked for
// once, and again when it may have changed.

import { getAgain } from "./store.js";

const pageOf = 2000; // entities of one answer
const mostOf = 20000; // entities of one list: what is beyond is said to be
const keptLists = 24;
const freshFor = 60000, staleFrom = 300000; // ms of the log's time: an older list is asked for again behind the view, and from then on is not shown
const pagesAtOnce = 2; // of all lists, at one moment: those of a view are due together, and take too long for one update

/** Plant keeps lists of entities: {entities: [{id, kind, in, groups, …}], truncated}. */
export class Plant {
  #lists = new Map(); // key -> {query, at, pages, coming: of them, while they are asked for, asking, answer}
  #moment = NaN;
  #asked = 0; // pages at that moment

  /** list answers the entities of a kind, all or those in one, as of the log's now, as people count. */
  list(kind, { inside = "", now }) {
    const key = `${kind} ${inside}`, kept = this.#lists.get(key), age = now - kept?.at;
    if (kept && !(age > staleFrom)) {
      if (age > freshFor) this.#again(kept, now);
      return kept.answer;
    }
    const list = { query: { kind, limit: pageOf, ...(inside && { in: inside }) }, at: now, pages: [], coming: [], asking: true };
    list.answer = this.#all(list);
    this.#lists.delete(key);
    this.#lists.set(key, list);
    if (this.#lists.size > keptLists) this.#lists.delete(this.#lists.keys().next().value);
    list.answer.catch(() => { if (this.#lists.get(key) === list) this.#lists.delete(key); });
    return list.answer;
  }

  async #all(list) {
    while (!await this.#page(list)) { /* the next one */ }
    list.asking = false;
    return answerOf(list.pages);
  }

  // #page asks for the next page of a list, and reports whether all have come.
  async #page(list) {
    const { coming, pages, query } = list, after = coming.at(-1)?.value.next;
    coming.push(await getAgain(`/api/v1/topology?${new URLSearchParams({ ...query, ...(after && { after }) })}`, pages[coming.length]));
    if (coming.at(-1).value.next && coming.length * pageOf < mostOf) return false;
    Object.assign(list, { pages: coming, coming: [] });
    return true;
  }

  // #again asks for a page of a list that is shown meanwhile as it was.
  async #again(list, now) {
    if (now !== this.#moment) [this.#moment, this.#asked] = [now, 0];
    if (list.asking || this.#asked >= pagesAtOnce) return;
    this.#asked++;
    list.asking = true;
    const { pages } = list;
    try {
      if (await this.#page(list)) {
        list.at = now;
        if (list.pages.length !== pages.length || list.pages.some((p, i) => p !== pages[i])) list.answer = Promise.resolve(answerOf(list.pages));
      }
    } catch {
      list.coming = []; // once it is too old it is asked for in full, which says why
    }
    list.asking = false;
  }
}

function answerOf(pages) { return { entities: pages.flatMap((p) => p.value.entities ?? []).sort(byName), truncated: Boolean(pages.at(-1).value.next) }; }

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
