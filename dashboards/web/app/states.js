// The state of the site, of its domains and of its entities, as the server
// computes it (package pipeline/status): the page shows it and decides nothing.

import { h } from "./dom.js";
import { sign, tone } from "./words.js";
import { unread } from "./reading.js";

const names = { degraded: "Degraded", at_risk: "At risk", alerting: "Alerting", no_data: "No data", healthy: "Healthy" };

/** stateName is a state in words; no state is no data. */
export function stateName(state) { return names[state] ?? names.no_data; }

/** stateMark is a state's sign and name, in its colour; role says whether the cause is here. */
export function stateMark({ state, role } = {}) {
  const name = Object.hasOwn(names, state) ? state : "no_data";
  return h("span", { class: `stateof ${tone(name)}`, "data-state": name }, sign(name), stateName(name), name === "degraded" && role === "affected" && " (affected)", name === "degraded" && role === "suspect" && " (possible cause)");
}

/** domainState is the state of one domain; without an answer it has no data. */
export function domainState(health, domain) {
  return health?.domains?.find((d) => d.domain === domain) ?? { state: "no_data", reason: "" };
}

/** headline is the state of the site in a sentence. link says whether that is of now. */
export function headline(store) {
  if (!store.loaded) return { state: "", words: unread([store]) };
  const health = store.health;
  if (!health) return { state: "no_data", words: "No data: the server reports no state" };
  const words = `${stateName(health.state)}${health.reason ? `: ${health.reason}` : ""}`;
  return { state: health.state, words: store.link === "lost" ? `Connection lost. Last known state: ${words}` : words };
}
