// The five domains: the state of each, what was lost to it, and through which
// others incidents passed. One table: rows are causes, columns effects.

import { h, replace, changed } from "./dom.js";
import { gpuTime, duration, NBSP } from "./format.js";
import { domains, domainSign, domainClass } from "./words.js";
import { domainState, stateMark } from "./states.js";

const shades = 5; // of a cell, by how much of the largest it is

/** drawDomains brings el up to what is known: states, losses and coupling. */
export function drawDomains(el, { health, losses, coupling }) {
  const facts = domains.map((d) => domainState(health, d));
  if (!changed(el, "domains", [facts, losses?.domains, losses?.unknown, coupling?.coupling, coupling?.lag_seconds])) return;
  const at = (i, j) => coupling?.coupling?.[i]?.[j] ?? 0;
  const peak = Math.max(0, ...domains.flatMap((_, i) => domains.map((_, j) => at(i, j))));
  replace(el, h("table", { class: "coupling" },
    h("caption", {}, "GPU time lost in incidents whose chain passes from one domain (row) to another (column), and how much later the second began"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Domain"), h("th", { scope: "col", class: "num" }, "Lost to it"), h("th", { scope: "col", class: "arrow" }, h("span", { class: "unseen" }, "leads "), "to"), domains.map((d) => h("th", { scope: "col", class: `to ${domainClass(d)}`, title: d }, domainSign(d), h("span", { class: "long" }, d))))),
    h("tbody", {}, domains.map((d, i) => h("tr", { class: domainClass(d) },
      h("th", { scope: "row" }, domainSign(d), h("span", { class: "long" }, d), stateWords(facts[i])),
      h("td", { class: "num lostto" }, lostTo(losses, d)),
      h("td", { class: "arrow", "aria-hidden": "true" }, "→"),
      domains.map((to, j) => cell(d, to, at(i, j), coupling?.lag_seconds?.[i]?.[j], peak)))))));
}

function stateWords(status) {
  return h("span", { class: "how" }, stateMark(status), status.reason && h("span", { class: "why" }, ` ${status.reason}`));
}

function lostTo(losses, domain) {
  const found = losses?.domains?.find((d) => d.domain === domain);
  if (!found) return "";
  return found.gpu_seconds_lost > 0 ? gpuTime(found.gpu_seconds_lost) : h("span", { class: "quiet" }, "0");
}

function cell(from, to, lost, lag, peak) {
  if (!(lost > 0)) return h("td", { class: "cell none" }, h("span", { class: "unseen" }, "nothing"), h("span", { "aria-hidden": "true" }, "·"));
  const shade = Math.max(1, Math.ceil((lost / peak) * shades));
  const later = typeof lag !== "number" ? "" : Math.abs(lag) < 0.5 ? "at once" : `${duration(Math.abs(lag))} ${lag < 0 ? "earlier" : "later"}`;
  return h("td", { class: `cell shade${shade}`, title: `from ${from} to ${to}: ${gpuTime(lost)}${later ? `, ${later}` : ""}` },
    h("b", {}, gpuTime(lost).replace(`${NBSP}GPU-`, NBSP)), later && h("span", { class: "lag" }, ` ${later}`));
}
