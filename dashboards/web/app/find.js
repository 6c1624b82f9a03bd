// Ctrl-K: find anything that has a name, and go there.

import { h, keyed, attr } from "./dom.js";
import { sign } from "./words.js";
import { addressOf, addressOfEntity, addressOfJob, entityOf } from "./parts.js";
import { exploreAddress } from "./query.js";
import { get } from "./store.js";

const views = [["Overview", "/"], ["Incidents", "/incidents"], ["Fabric", "/fabric"], ["Power & cooling", "/power"], ["Jobs", "/jobs"], ["Explore", "/explore"], ["Coverage", "/coverage"], ["Alerts", "/alerts"], ["Silences", "/silences"], ["Wall", "/wall"]];
const most = 20, pause = 150; // results; ms without a key before the server is asked

/** matches lists what the page itself knows by a text: views, jobs, incidents. */
export function matches(store, words) {
  const wanted = words.toLowerCase(), has = (v) => String(v).toLowerCase().includes(wanted);
  const found = [...views.filter(([name]) => has(name)).map(([name, href]) => ({ href, words: name, mark: "info" })),
    ...[...store.jobs.keys()].filter(has).map((id) => ({ href: addressOfJob(id), id, mark: "info" })),
    ...[...store.incidents.values()].filter((i) => has(i.title) || has(i.id) || has(i.root?.entity) || has(i.root?.signature)).sort((a, b) => (a.opened < b.opened ? 1 : -1))
      .map((i) => ({ href: addressOf(i.id), words: i.title, mark: i.state === "open" ? i.severity : "resolved" }))];
  return [...found, ...asked(words)].slice(0, most);
}

// asked is a text that is read as PromQL, where it looks like it.
function asked(wanted) { return /[{(]|^[a-z]\w*_\w+(_\w+)*$/i.test(wanted) ? [{ href: exploreAddress(wanted), words: `Explore ${wanted}`, mark: "info" }] : []; }

/** Find is the dialogue; go leads to an address. */
export class Find {
  constructor(store, go) {
    Object.assign(this, { store, go, results: [], at: 0 });
    this.input = h("input", { type: "text", "aria-label": "Find a job, node, switch, port, incident or view", placeholder: "job, node, switch, incident …", role: "combobox", "aria-expanded": "true", "aria-controls": "found", autocomplete: "off" });
    this.list = h("ul", { id: "found", role: "listbox", "aria-label": "Results" });
    this.el = h("dialog", { class: "find", "aria-label": "Find" }, this.input, this.list);
    this.input.addEventListener("input", () => this.search());
    this.el.addEventListener("keydown", (e) => this.key(e));
    this.el.addEventListener("click", (e) => { if (e.target === this.el || e.target.closest?.("a[data-go]")) this.el.close(); });
  }

  open() {
    if (!this.el.open) this.el.showModal();
    this.input.select();
    this.search();
  }

  search() {
    const wanted = this.input.value.trim();
    clearTimeout(this.timer);
    this.results = []; // other words: the first result is chosen again
    this.draw(matches(this.store, wanted), wanted.length >= 2 ? "Reading …" : "Nothing found.");
    if (wanted.length < 2) return;
    this.timer = setTimeout(async () => {
      try {
        const { entities = [] } = await get(`/api/v1/search?${new URLSearchParams({ q: wanted, limit: most })}`);
        const known = matches(this.store, wanted), hrefs = new Set(known.map((x) => x.href));
        if (this.input.value.trim() === wanted) this.draw([...known, ...entities.map((id) => ({ href: addressOfEntity(id), id, mark: "info" })).filter((x) => !hrefs.has(x.href))]);
      } catch (error) {
        if (this.input.value.trim() === wanted) this.draw(matches(this.store, wanted), `No data: ${error.message}`);
      }
    }, pause);
  }

  // What is listed already stays the same node, and chosen: the server's answer may
  // come between the two halves of a click, or between an arrow and Enter.
  draw(results, none = "Nothing found.") {
    const chosen = this.results[this.at]?.href;
    this.results = results;
    keyed(this.list, results.length > 0 ? results : [{ words: none }], {
      key: (x) => [x.href, x.mark, x.words].join(" "),
      create: (x) => (x.href ? h("li", { role: "none" }, h("a", { role: "option", href: x.href, "data-go": true, tabindex: "-1" }, x.id ? entityOf(x.id) : [sign(x.mark), x.words])) : h("li", { role: "option", "aria-selected": "false", class: "quiet" }, x.words)),
      update: () => {},
    });
    this.choose(results.findIndex((x) => x.href === chosen));
  }

  choose(at) {
    this.at = Math.min(Math.max(0, at), Math.max(0, this.results.length - 1));
    [...this.list.querySelectorAll("a")].forEach((el, i) => { attr(el, "id", `found-${i}`); attr(el, "aria-selected", String(i === this.at)); });
    attr(this.input, "aria-activedescendant", this.results.length ? `found-${this.at}` : null);
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  key(e) {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { e.preventDefault(); this.choose(this.at + (e.key === "ArrowDown" ? 1 : -1)); }
    if (e.key === "Enter" && this.results[this.at]) { e.preventDefault(); this.el.close(); this.go(this.results[this.at].href); }
  }
}
