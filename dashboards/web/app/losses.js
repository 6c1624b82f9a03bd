// What was lost, by cause.

import { h, s, replace, changed } from "./dom.js";
import { gpuTime, percent, called, number, NONE } from "./format.js";
import { domainSign, domainClass } from "./words.js";
import { entityOf } from "./parts.js";

const fewCauses = 8;

/** drawLosses draws the answer of /api/v1/losses into el. */
export function drawLosses(el, losses, linkOf = () => null) {
  if (!changed(el, "losses", losses ? [losses.causes, losses.unknown, losses.gpu_seconds_lost, losses.available_gpu_seconds] : null)) return;
  const total = losses?.gpu_seconds_lost ?? 0;
  if (!(total > 0)) {
    replace(el, h("p", { class: "quiet" }, "Nothing was lost in this time."));
    return;
  }
  const some = losses.causes.slice(0, fewCauses), rest = losses.causes.slice(fewCauses);
  const lines = some.map((c) => ({ who: entityLink(c, linkOf), what: c.signature, domain: c.domain, lost: c.gpu_seconds_lost, jobs: c.jobs }));
  if (rest.length) lines.push({ who: `${rest.length} others`, what: "", lost: rest.reduce((sum, c) => sum + c.gpu_seconds_lost, 0), jobs: [] });
  if (losses.unknown?.gpu_seconds_lost > 0) lines.push({ who: "cause not known", what: "", lost: losses.unknown.gpu_seconds_lost, jobs: [] });
  replace(el, h("p", {}, h("b", { class: "big" }, gpuTime(total)), " lost", losses.available_gpu_seconds > 0 && h("span", { class: "quiet" }, `, ${percent(total / losses.available_gpu_seconds)} of what the jobs' GPUs had to give`)),
    h("table", { class: "causes" },
      h("caption", { class: "unseen" }, "What was lost, by cause"),
      h("thead", {}, h("tr", {}, ["Cause", "", "Lost", "Of it", "Jobs"].map((x, i) => h("th", { scope: "col", class: i === 2 || i === 3 ? "num" : null }, x || h("span", { class: "unseen" }, "Share"))))),
      h("tbody", {}, lines.map((l) => h("tr", { class: domainClass(l.domain) },
        h("th", { scope: "row" }, l.domain && domainSign(l.domain), l.who, l.what && h("span", { class: "signature" }, ` ${l.what}`)),
        h("td", { class: "sharebar" }, share(l.lost / total)),
        h("td", { class: "num" }, gpuTime(l.lost)),
        h("td", { class: "num quiet" }, percent(l.lost / total)),
        h("td", { class: "quiet hurtjobs" }, l.jobs?.length ? `${l.jobs.slice(0, 2).map(called).join(", ")}${l.jobs.length > 2 ? ` and ${number(l.jobs.length - 2)} more` : ""}` : NONE))))));
}

function entityLink(cause, linkOf) {
  const href = linkOf(cause);
  const who = cause.root ? entityOf(cause.root) : "not known";
  return href ? h("a", { href, "data-go": true }, who) : who;
}

function share(v) {
  return s("svg", { class: "meter", height: 8, "aria-hidden": "true" }, s("rect", { class: "part domain", width: `${(100 * Math.min(1, v)).toFixed(2)}%`, height: 8 }));
}

/** drawDays draws what was lost each day, the oldest first, where there is more than one. */
export function drawDays(el, losses) {
  const days = [...(losses?.days ?? [])].reverse();
  if (!changed(el, "days", days)) return;
  if (days.length < 2) { replace(el); return; }
  const peak = Math.max(...days.map((d) => d.gpu_seconds_lost)) || 1;
  replace(el, h("table", { class: "days" }, h("caption", {}, "By day (UTC)"), h("tbody", {}, days.slice(-14).map((d) => h("tr", {},
    h("th", { scope: "row" }, d.day.slice(5)), h("td", { class: "sharebar" }, share(d.gpu_seconds_lost / peak)), h("td", { class: "num" }, gpuTime(d.gpu_seconds_lost)))))));
}
