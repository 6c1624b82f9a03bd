// One curve's samples as they arrive, piece by piece, with its gaps. Pure.

const keptSamples = 4000;
const keptGaps = 400;

/** median of numbers, NaN of none. */
export function median(values) {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** Series holds the samples of one curve; memory is bounded however long it grows. */
export class Series {
  /** curve is as /api/v1/incidents/{id}/curves gives it. */
  constructor(curve) {
    this.entity = String(curve.entity ?? "");
    this.metric = String(curve.metric ?? "");
    this.name = String(curve.name ?? this.metric); // of what is measured, where metric is only a key
    this.title = curve.title; // what it is called, unless that is the metric's name
    this.unit = String(curve.unit ?? "1");
    this.role = String(curve.role ?? "witness");
    // A step is stated at its end and stands for the time that it took; what the
    // history holds of steps are samples.
    this.isSteps = !curve.sampled && (this.metric === "job_step_seconds" || this.metric === "rank_step_seconds");
    this.isThinned = curve.thinned > 0; // uneven: only what is stated as a gap is one
    this.t = []; // ms, ascending
    this.v = []; // numbers
    this.gaps = []; // [from, to] in which the source said nothing
    this.cadence = NaN; // ms between samples, usually
    this.received = -Infinity; // the last instant stated, gap or not
    this.hole = false; // explicit gap since the last sample
    this.peak = 0;
    this.least = 0; // below zero where a value is
    this.group = curve.group; // curves of a group share a scale; without one, by unit and metric
    this.query = curve.query; // the expression whose answer it is, where somebody asked one
  }

  /** add appends what is newer than all that is known; nulls are gaps. */
  add(t, v) {
    this.learnCadence(t);
    for (let i = 0; i < t.length; i++) {
      if (!(t[i] > this.received)) continue;
      this.received = t[i];
      if (typeof v[i] === "number" && Number.isFinite(v[i])) this.push(t[i], v[i]);
      else this.hole = true;
    }
    if (this.t.length > keptSamples) this.thin();
  }

  learnCadence(t) {
    const between = [];
    for (let i = Math.max(1, t.length - 100); i < t.length; i++) between.push(t[i] - t[i - 1]);
    const usual = median(between);
    if (usual > 0 && (between.length >= 5 || !(this.cadence > 0))) this.cadence = usual;
  }

  push(t, v) {
    const last = this.t.at(-1);
    const silent = !this.isSteps && !this.isThinned && this.cadence > 0 && t - last > 3 * this.cadence;
    if (last !== undefined && (this.hole || silent)) {
      this.gaps.push([last, t]);
      if (this.gaps.length > keptGaps) this.gaps.shift();
    }
    this.hole = false;
    this.t.push(t);
    this.v.push(v);
    if (v > this.peak) this.peak = v;
    if (v < this.least) this.least = v;
  }

  // thin keeps, in the older half, the extremes of each four samples, so that no
  // peak is lost.
  thin() {
    const half = this.t.length >> 1, t = [], v = [];
    for (let i = 0; i < half; i += 4) {
      let lo = i, hi = i;
      for (let k = i; k < Math.min(i + 4, half); k++) {
        if (this.v[k] < this.v[lo]) lo = k;
        if (this.v[k] > this.v[hi]) hi = k;
      }
      for (const k of lo === hi ? [lo] : [Math.min(lo, hi), Math.max(lo, hi)]) { t.push(this.t[k]); v.push(this.v[k]); }
    }
    this.t = t.concat(this.t.slice(half));
    this.v = v.concat(this.v.slice(half));
  }

  /** beside keeps what is drawn with it, as drawPlot names it: before, peers or limit; the axis has room for it. */
  beside(name, values) {
    this[name] = values;
    for (const v of [values.v, values.lo, values.hi, values.value].flat()) {
      if (v > this.peak) this.peak = v;
      if (v < this.least) this.least = v;
    }
  }

  /** openGap is the gap that has not ended, or null. */
  openGap() { return this.hole && this.t.length ? [this.t.at(-1), this.received] : null; }

  /** inGap reports whether instant x lies in a gap. */
  inGap(x) { return this.gaps.some(([a, b]) => a < x && x < b); }

  /** at returns the index of the sample that stands for instant x, -1 where none does. */
  at(x) {
    const { t, v } = this;
    if (t.length === 0) return -1;
    let lo = 0, hi = t.length - 1;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (t[mid] < x) lo = mid + 1; else hi = mid;
    }
    if (this.isSteps) return t[lo] >= x && x >= t[lo] - v[lo] * 1000 ? lo : -1;
    if (lo > 0 && x - t[lo - 1] < t[lo] - x) lo--;
    if (this.inGap(x)) return -1;
    const outside = x < t[0] || x > t.at(-1);
    return outside && Math.abs(t[lo] - x) > 1.5 * (this.cadence || 1000) ? -1 : lo;
  }

  /** extremeWithin is the largest value from from to to, or the least; NaN where there is none. */
  extremeWithin(from, to, least) {
    let found = NaN;
    for (let i = 0; i < this.t.length; i++) {
      if (this.t[i] < from || this.t[i] > to) continue;
      if (Number.isNaN(found) || (least ? this.v[i] < found : this.v[i] > found)) found = this.v[i];
    }
    return found;
  }
}

/** keyOf is what distinguishes one curve from another. */
export function keyOf(curve) { return `${curve.entity}\n${curve.metric}`; }
