// An incident as a few lines of text, for chat and for other programs.

import { gpuTime, percent, called, interval, universal, plural } from "./format.js";

/** summary writes what a person who was not there must know, ending in the link. */
export function summary(incident, link) {
  const jobs = incident.impact?.jobs ?? [], lost = jobs.reduce((sum, j) => sum + (j.gpu_seconds_lost ?? 0), 0);
  const { middle, half } = interval(incident.onset), root = incident.root ?? {};
  return [
    `${incident.state === "open" ? incident.severity.toUpperCase() : "RESOLVED"}: ${incident.title}`,
    `Since ${universal(middle).replace(/\.\d+/, "")}${half >= 0.5 ? ` ± ${Math.round(half)} s` : ""}. ${root.entity ? `Root: ${called(root.entity)} (${root.signature}, ${root.domain}, confidence ${percent(root.confidence)})` : "Cause under investigation"}. ${jobs.length ? `${gpuTime(lost)} lost in ${plural(jobs.length, "job")}.` : "No job is degraded."}`,
    ...(incident.actions ?? []).map((a) => `- ${a.kind} ${a.target}: ${a.text}`),
    ...(incident.ruled_out?.length ? [`Ruled out: ${incident.ruled_out.map((r) => r.domain).join(", ")}.`] : []),
    link,
  ].join("\n").replaceAll("\u00a0", " ");
}

/** canShare reports whether the browser hands text on to other programs. */
export function canShare() { return typeof navigator.share === "function"; }

/** share hands it on. */
export function share(incident, link) { navigator.share({ title: incident.title, text: summary(incident, link), url: link }).catch(() => { /* the reader thought better of it */ }); }
