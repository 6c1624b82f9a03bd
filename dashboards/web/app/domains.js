// The five domains: how each is, what was lost to it, and through which others
// its trouble passed. One table: a row tells where trouble came from, a column
// where it went.

import { h, replace, changed } from "./dom.js";
import { gpuTime, duration, plural, called, NBSP } from "./format.js";
import { domains, domainSign, domainClass, sign, tone } from "./words.js";

const shades = 5; // of a cell, by how much of the largest it is

/** drawDomains brings el up to what is known: losses, coupling and what is open. */
export function drawDomains(el, { open, losses, coupling, loaded }) {
  const facts = domains.map((d) => stateOf(d, open, loaded));
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

// stateOf says how a domain is: it is the root of something open, trouble from
// elsewhere passes through it, or neither.
function stateOf(domain, open, loaded) {
  if (!loaded) return { name: "", words: "" };
  const roots = open.filter((i) => i.root?.domain === domain);
  const worst = ["critical", "warning", "info"].find((s) => roots.some((i) => i.severity === s));
  if (worst) {
    const risks = roots.filter((i) => i.kind === "risk").length, hurt = roots.length - risks;
    const where = roots.length === 1 ? ` at ${called(roots[0].root.entity)}` : "";
    return { name: worst, words: [hurt && plural(hurt, "root"), risks && plural(risks, "risk")].filter(Boolean).join(", ") + where };
  }
  const through = open.filter((i) => (i.chain ?? []).some((l) => l.domain === domain)).length;
  return through ? { name: "", words: "hit from elsewhere" } : { name: "healthy", words: "well" };
}

function stateWords({ name, words }) {
  return h("span", { class: `how ${tone(name)}` }, name && sign(name), words);
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
