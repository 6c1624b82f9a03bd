// Which time a view is about: ?last=24h up to now, or ?from= and to=. Pure, but for
// the control.

import { h } from "./dom.js";
import { instant } from "./format.js";

const hours = { "1h": 1, "6h": 6, "24h": 24, "7d": 168, "30d": 720 };
const names = { "1h": "last hour", "6h": "last 6 hours", "24h": "last 24 hours", "7d": "last 7 days", "30d": "last 30 days" };

/** spanOf reads {from, to, last, live} from a query, ms; without one the last of usual, or all time where usual is "". */
export function spanOf(search, now, usual = "") {
  const q = new URLSearchParams(search), from = instant(q.get("from") ?? undefined), to = instant(q.get("to") ?? undefined);
  if (from < to) return { from, to, last: "", live: false };
  const last = Object.hasOwn(hours, q.get("last") ?? "") ? q.get("last") : usual;
  return last ? { from: now - hours[last] * 3600e3, to: now, last, live: true } : { from: -Infinity, to: Infinity, last: "", live: true };
}

/** withSpan is a query with another span: {last} or {from, to}, none where neither is given. */
export function withSpan(search, { last = "", from = NaN, to = NaN } = {}) {
  const q = new URLSearchParams(search);
  for (const key of ["last", "from", "to"]) q.delete(key);
  if (last) q.set("last", last);
  if (from < to) { q.set("from", new Date(from).toISOString()); q.set("to", new Date(to).toISOString()); }
  return q.size ? `?${q}` : "";
}

/** spanSelect is the control of which time; chosen(last) is called with "" for any time, kept says that a span of one's own is shown. */
export function spanSelect(chosen, any) {
  return h("select", { "aria-label": "Time", onchange: (e) => chosen(e.target.value) }, any && h("option", { value: "" }, any), Object.entries(names).map(([value, words]) => h("option", { value }, words)), h("option", { value: "own", hidden: true }, "chosen interval"));
}
