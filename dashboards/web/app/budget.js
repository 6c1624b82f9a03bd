// The MFU budget as a waterfall: from what the GPUs could do to what the model
// got, part by part. What cannot be observed is said to be so; it is not zero.

import { h, s, replace, changed } from "./dom.js";
import { percent, gpuTime, mfu, score } from "./format.js";
import { domainSign, domainClass } from "./words.js";

const least = 5e-4; // the least share that is not written as 0

const words = {
  restarts: "starting, failed, restarted", checkpoint: "checkpoints", input: "waiting for input", heat: "held down by heat", power: "held down by power", stragglers: "waiting for stragglers",
  communication: "communication", clock: "clock below its best", memory: "memory wall", compute: "kernels below peak", idle: "GPUs without a job", drained: "GPUs drained", fragmented: "GPUs left over",
};
const why = {
  restarts: "no step is made, or one is made again that a failure had lost", stragglers: "ranks wait for the latest one, whatever holds it", communication: "transfers that no computing hides",
  clock: "normal power capping", memory: "memory is busy and the tensor pipes are not", idle: "on nodes without a job", drained: "under maintenance", fragmented: "on nodes where a job has others",
};

/** partName is a part of the budget in the page's words. */
export function partName(part) { return words[part] ?? String(part).replaceAll("_", " "); }

/** waterfall draws a budget of /api/v1/budget into el. */
export function waterfall(el, budget) {
  if (!changed(el, "budget", budget ?? null)) return;
  const whole = budget?.gpu_seconds;
  if (!(whole > 0)) {
    replace(el, h("p", { class: "quiet" }, "No GPU-second of a job is counted yet."));
    return;
  }
  replace(el, h("table", { class: "waterfall" },
    h("caption", { class: "unseen" }, "Where GPU-seconds went, from peak to achieved"),
    h("colgroup", {}, ["what", "bar", "share", "time", "seen"].map((c) => h("col", { class: `fall-${c}` }))),
    h("tbody", {}, rows(budget).map(row))), h("p", { class: "quiet" }, basis(budget)));
}

// rows are the lines of the waterfall: each begins where the one before ended.
export function rows(budget) {
  const out = [{ name: "peak", kind: "whole", from: 0, share: 1, value: budget.gpu_seconds }];
  let left = 1;
  const take = (line) => {
    const whole = Math.min(left, Math.max(0, line.share ?? 0)), none = whole < least, share = none ? 0 : whole;
    out.push({ ...line, share, from: left - share, at: left, ...(none && line.value > 0 && { value: 0 }) });
    left -= share;
  };
  for (const p of budget.parts ?? []) {
    if (p.share === 0 && p.observed > 0) continue; // nothing went there
    take({ name: partName(p.part), title: why[p.part], kind: p.share === null ? "unobserved" : "part", domain: p.domain, share: p.share, value: p.gpu_seconds, observed: p.observed });
  }
  take({ name: "unexplained", kind: "unexplained", share: budget.unexplained?.share, value: budget.unexplained?.gpu_seconds, title: "not attributed; it includes the parts that are not observed" });
  const got = budget.achieved;
  out.push({ name: "achieved", kind: got ? "achieved" : "unobserved", from: 0, share: got ? got.share : 0, at: left, value: got?.gpu_seconds ?? null, title: got ? "what the model's own arithmetic needs at peak" : "no MFU is known: it is part of what is unexplained" });
  return out;
}

function row(line) {
  const unseen = line.kind === "unobserved";
  return h("tr", { class: `fall-${line.kind} ${domainClass(line.domain)}` },
    h("th", { scope: "row", title: line.title }, line.domain ? domainSign(line.domain) : h("span", { class: "nosign" }), line.name),
    h("td", { class: "bar" }, bar(line)),
    unseen ? h("td", { class: "quiet", colspan: 3 }, "not observed") : [
      h("td", { class: "num" }, mfu(line.share)), // as the scores beside it, and the MFU that what is achieved is
      h("td", { class: "num quiet" }, gpuTime(line.value)),
      h("td", { class: "quiet seen" }, line.observed > 0 && line.observed < 0.995 ? `observed ${percent(line.observed)}` : "")]);
}

function bar(line) {
  const w = (v) => `${(100 * v).toFixed(3)}%`;
  return s("svg", { class: "fall", height: 16, "aria-hidden": "true" },
    line.kind === "unobserved"
      ? s("line", { class: "unknown", x1: w(line.at ?? 0), x2: w(line.at ?? 0), y1: 0, y2: 16 })
      : s("rect", { class: "part", x: w(line.from), y: 3, width: w(Math.max(line.share, 0.002)), height: 10 }));
}

const bases = { tokens: "from tokens and the model", converted: "converted from the reported one", reported: "as reported" };

function basis(budget) {
  const { palm, basis: from, convention, precision, reported } = budget.mfu ?? {};
  if (palm === null || palm === undefined) return "No MFU is known: no job states its model (event job_model) or an MFU. Achieved work and the reasons it is below peak are part of what is unexplained.";
  return [`MFU ${mfu(palm)} by PaLM's convention`, bases[from] && `, ${bases[from]}`, reported !== null && from === "converted" && ` (${mfu(reported)} as ${convention})`, precision && `, ${precision}`, "."];
}

const scores = [["redundant_computation", "redundant computation"], ["low_mfu", "low MFU"], ["memory_wall", "memory wall"], ["communication_overhead", "communication overhead"], ["density_cap", "density cap"], ["thermal_limit", "thermal limit"]];

/** bottlenecks draws the six scores into el. */
export function bottlenecks(el, answer) {
  const of = answer?.bottlenecks ?? {};
  if (!changed(el, "scores", of)) return;
  const known = ([name]) => typeof of[name] === "number";
  const sorted = [...scores].sort((a, b) => known(b) - known(a) || (of[b[0]] ?? 0) - (of[a[0]] ?? 0));
  replace(el, h("dl", { class: "scores" }, sorted.map(([name, said]) => [
    h("dt", {}, said),
    h("dd", {}, known([name]) ? [meter(of[name] / 100), h("b", { class: "num" }, score(of[name]))] : h("span", { class: "quiet" }, "not observed")),
  ])));
}

/** meter is a bar of a share from 0 to 1. */
export function meter(v) {
  return s("svg", { class: "meter", height: 8, "aria-hidden": "true" }, s("rect", { class: "all", width: "100%", height: 8 }), s("rect", { class: "part", width: `${(100 * Math.min(1, Math.max(0, v || 0))).toFixed(2)}%`, height: 8 }));
}
