// How numbers, units, names and durations are written. Pure: no document, no
// clock. correlate/explain/figures.go writes the same quantities alike for titles,
// messages and the command line, and a test compares the two.

export const NBSP = "\u00a0";
export const MINUS = "\u2212";
export const NONE = "\u2013"; // where there is no value

const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** number writes a number with three significant digits, whole ones in full. */
export function number(v) {
  if (v === null || v === undefined || !Number.isFinite(v)) return NONE;
  const f = Math.abs(v) >= 999.5 ? whole : three;
  return f.format(v).replace("-", MINUS).replace(/^\u22120$/, "0");
}

// What a unit is called by different hands, the shown unit, and the factor to it.
// "si" units take prefixes.
const units = {
  s: { si: false, shown: "s" }, bytes: { si: true, shown: "B" }, bits: { si: true, shown: "b" },
  celsius: { si: false, shown: "°C" }, hertz: { si: true, shown: "Hz" }, watts: { si: true, shown: "W" },
  joules: { si: true, shown: "J" }, pascals: { si: true, shown: "Pa" }, liters_per_minute: { si: false, shown: "l/min" },
  bits_per_second: { si: true, shown: "b/s" }, transfers_per_second: { si: true, shown: "T/s" },
  tokens_per_second: { si: true, shown: "tok/s" }, "1": { si: false, shown: "" },
};
const aliases = {
  seconds: "s", second: "s", By: "bytes", B: "bytes", byte: "bytes", bit: "bits", b: "bits", Hz: "hertz", W: "watts", watt: "watts",
  J: "joules", joule: "joules", Pa: "pascals", "°C": "celsius", Cel: "celsius", ratio: "1", "": "1", "l/min": "liters_per_minute",
  "bits/s": "bits_per_second", "tokens/s": "tokens_per_second", "W/s": "watts",
};

const prefixes = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

// prefixed finds the SI prefix for values up to peak.
function prefixed(peak, shown) {
  const [size, prefix] = prefixes.find(([p]) => peak >= p) ?? prefixes.at(-1);
  return { factor: 1 / size, unit: prefix + shown };
}

/**
 * scale says how values of a unit up to peak are shown: times factor, followed by
 * unit. Bytes a second are shown as bits a second, seconds a second and ratios as
 * percent, joules a second as watts.
 */
export function scale(unit, peak, metric = "") {
  const size = Math.abs(peak) || 0;
  const rate = unit?.endsWith("/s") && !(unit in aliases);
  let base = rate ? unit.slice(0, -2) : unit ?? "1";
  base = aliases[base] ?? base;
  if (rate && base === "s" || !rate && base === "1" && metric.endsWith("_ratio")) return { factor: 100, unit: "%" };
  if (rate && base === "bytes") return times(prefixed(size * 8, "b/s"), 8);
  if (rate && base === "bits") return prefixed(size, "b/s");
  if (rate && base === "joules") return prefixed(size, "W");
  if (base === "s") return seconds(size);
  const known = units[base];
  if (known && !rate) return known.si ? prefixed(size, known.shown) : { factor: 1, unit: known.shown };
  // Of what is counted, the metric's name says what it is.
  return rate ? prefixed(size, known ? `${known.shown}/s` : "/s") : prefixed(size, " " + base.replaceAll("_", " "));
}

function times(s, by) { return { factor: s.factor * by, unit: s.unit }; }

function seconds(size) {
  if (size > 0 && size < 1e-4) return { factor: 1e6, unit: "µs" };
  if (size > 0 && size < 0.1) return { factor: 1e3, unit: "ms" };
  if (size < 600) return { factor: 1, unit: "s" };
  if (size < 36000) return { factor: 1 / 60, unit: "min" };
  return { factor: 1 / 3600, unit: "h" };
}

/** shown writes a value as a scale says, with or without its unit. */
export function shown(v, sc, bare = false) {
  if (v === null || v === undefined || !Number.isFinite(v)) return NONE;
  const n = number(v * sc.factor);
  return bare || sc.unit.trim() === "" ? n : n + (sc.unit.startsWith("/") ? "" : NBSP) + sc.unit.trim();
}

/** short writes a value where there is little room: long names of units are left out. */
export function short(v, sc) {
  const n = number(v * sc.factor), [, prefix, name] = /^([kMGTP]?)(.*)$/.exec(sc.unit);
  return name.trim().length > 5 ? n + (prefix && NBSP + prefix) : shown(v, sc);
}

/** quantity writes a value in its unit: "48 %", "101 Gb/s", "3.33 s". */
export function quantity(v, unit, metric) {
  if (metric === "job_mfu_ratio") return mfu(v);
  return shown(v, scale(unit, Math.abs(v ?? 0), metric));
}

/** change writes "before → now" on one scale. */
export function change(before, now, unit, metric) {
  if (metric === "job_mfu_ratio" && [before, now].every(Number.isFinite)) return `${(before * 100).toFixed(1)} \u2192 ${mfu(now)}`;
  const sc = scale(unit, Math.max(Math.abs(before ?? 0), Math.abs(now ?? 0)), metric);
  const none = (v) => v === null || v === undefined;
  if (none(before) && none(now)) return NONE;
  return `${shown(before, sc, !none(now))} \u2192 ${shown(now, sc)}`;
}

/** LEAST_DIGITS are the decimals of the least percentage that is not written as 0. */
const LEAST_DIGITS = 7;

/** percent writes a ratio; ratios that are not quite 0 or 1 do not read so. */
export function percent(ratio) {
  if (ratio === null || ratio === undefined || !Number.isFinite(ratio)) return NONE;
  const p = ratio * 100;
  if (p > 99 && p < 100) return `${Math.min(99.9, Math.floor(p * 10) / 10)}${NBSP}%`;
  if (p > 0 && p < 1) {
    let decimals = 1, digit = 0.1;
    for (; p < digit && decimals < LEAST_DIGITS; decimals++) digit /= 10;
    return `${Math.max(digit, p).toFixed(decimals).replace(/\.?0+$/, "")}${NBSP}%`;
  }
  return `${whole.format(p)}${NBSP}%`;
}

/** mfu writes a model FLOPs utilisation, always with one decimal: "34.1 %". */
export function mfu(ratio) { return ratio === null || ratio === undefined || !Number.isFinite(ratio) ? NONE : `${(ratio * 100).toFixed(1)}${NBSP}%`; }

/** score writes what is in percent already, likewise. */
export function score(percent) { return mfu(percent / 100); }

/** factor writes how many times longer: "2.06 ×". */
export function factor(v) {
  return v === null || v === undefined || !Number.isFinite(v) ? NONE : `${v >= 100 ? whole.format(v) : v >= 10 ? v.toFixed(1) : v.toFixed(2)}${NBSP}×`;
}

/** gpuTime writes GPU-seconds as people count them. */
export function gpuTime(v) {
  if (v === null || v === undefined || !Number.isFinite(v)) return NONE;
  if (v < 120) return `${number(v)}${NBSP}GPU-s`;
  if (v < 7200) return `${number(v / 60)}${NBSP}GPU-min`;
  return `${number(v / 3600)}${NBSP}GPU-h`;
}

/** duration writes seconds as people say them: "3.3 s", "2 min 14 s", "3 h 05 min". */
export function duration(sec) {
  if (!Number.isFinite(sec)) return NONE;
  const v = Math.max(0, sec);
  if (v < 9.95) return `${number(Math.round(v * 10) / 10)}${NBSP}s`;
  if (v < 60) return `${Math.round(v)}${NBSP}s`;
  const total = Math.round(v), min = Math.floor(total / 60), hours = Math.floor(min / 60), days = Math.floor(hours / 24);
  if (min < 60) return `${min}${NBSP}min${min < 10 && total % 60 ? ` ${total % 60}${NBSP}s` : ""}`;
  if (hours < 24) return `${hours}${NBSP}h${min % 60 ? ` ${pad(min % 60)}${NBSP}min` : ""}`;
  return `${days}${NBSP}d${hours % 24 ? ` ${hours % 24}${NBSP}h` : ""}`;
}

/** lag writes how long after its cause something began, and how sure that is. */
export function lag(sec, uncertainty) {
  const v = Math.abs(sec) < 0.05 ? "0" : `${sec < 0 ? MINUS : "+"}${tenths(Math.abs(sec))}`;
  return uncertainty > 0 ? `${v}${NBSP}±${NBSP}${tenths(uncertainty)}${NBSP}s` : `${v}${NBSP}s`;
}

function tenths(v) { return v >= 10 ? whole.format(v) : (Math.round(v * 10) / 10).toFixed(1); }

/** plural writes a count with its noun. */
export function plural(n, one, many = one + "s") { return `${whole.format(n)} ${n === 1 ? one : many}`; }

/** entity splits "nic:h9/nic0" into kind and name, with %2F read as it is meant. */
export function entity(id) {
  const at = String(id ?? "").indexOf(":");
  if (at < 0) return { kind: "", name: String(id ?? "") };
  return { kind: id.slice(0, at), name: id.slice(at + 1).replaceAll(/%2f/gi, "/") };
}

/** called is an entity as it is spoken of: "nic h9/nic0"; a job by its name. */
export function called(id) {
  const e = entity(id);
  return e.kind === "job" || e.kind === "" ? e.name : `${e.kind} ${e.name}`;
}

/** sentence splits a title into the effect and the cause: "train is slower since …:" and "the host …". */
export function sentence(title) {
  const whole = title.replaceAll(" \u00b1 ", `${NBSP}\u00b1${NBSP}`).replace(/(\d) (%|s\b|MHz\b)/g, `$1${NBSP}$2`);
  const at = whole.indexOf(": ");
  return at < 0 ? [whole, ""] : [whole.slice(0, at + 1), whole.slice(at + 2)];
}

function pad(n) { return String(n).padStart(2, "0"); }

// ---------------------------------------------------------------- instants

/** instant reads an RFC 3339 time as milliseconds since 1970, NaN where there is none. */
export function instant(v) { return typeof v === "string" ? Date.parse(v) : NaN; }

// Before 1980 nobody recorded anything with this: such times count from the
// beginning of a recording.
const recorded = Date.UTC(1980, 0, 1);

/** isRecording reports of times whether they are of a recording that begins at zero. */
export function isRecording(ms) { return ms < recorded; }

let universally = false; // times are written in UTC, not in the browser's zone

/** setZone chooses the zone in which times are written, "UTC" or the browser's, and reports whether that is another one. */
export function setZone(name) {
  const was = universally;
  universally = name === "UTC";
  return was !== universally;
}

/** zoneOffset is how many minutes the chosen zone is ahead of UTC at an instant. */
export function zoneOffset(ms) { return universally ? 0 : -new Date(ms).getTimezoneOffset(); }

// zoned is a date whose UTC fields are those of the chosen zone.
function zoned(ms) { return new Date(ms + zoneOffset(ms) * 60000); }

/** clock writes an instant as a time of day in the chosen zone, or as time into a recording. */
export function clock(ms) {
  if (!Number.isFinite(ms)) return NONE;
  const d = new Date(ms);
  if (isRecording(ms)) return `${pad(Math.floor(ms / 3600e3))}:${pad(d.getUTCMinutes())}:${pad(d.getUTCSeconds())}`;
  const z = zoned(ms);
  return `${pad(z.getUTCHours())}:${pad(z.getUTCMinutes())}:${pad(z.getUTCSeconds())}`;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** day writes the date of an instant, "" in a recording. */
export function day(ms) {
  if (!Number.isFinite(ms) || isRecording(ms)) return "";
  const d = zoned(ms);
  return `${d.getUTCDate()} ${months[d.getUTCMonth()]} ${d.getUTCFullYear()}`;
}

/** when is the clock, with the date where it is not that of now. */
export function when(ms, now) {
  const date = day(ms);
  if (date === "" || !Number.isFinite(now) || date === day(now)) return clock(ms);
  return `${date.replace(/ \d+$/, zoned(ms).getUTCFullYear() === zoned(now).getUTCFullYear() ? "" : "$&")} ${clock(ms)}`;
}

/** universal is an instant in UTC, for the hover. */
export function universal(ms) {
  if (!Number.isFinite(ms)) return "";
  const iso = new Date(ms).toISOString();
  return isRecording(ms) ? `${iso.slice(11, 23)} into the recording (${iso})` : `${iso.slice(0, 10)} ${iso.slice(11, 23)} UTC`;
}

/** zone names the chosen zone as an offset, "" in a recording. */
export function zone(ms) {
  if (!Number.isFinite(ms) || isRecording(ms)) return "";
  const min = zoneOffset(ms);
  if (min === 0) return "UTC";
  const a = Math.abs(min);
  return `UTC${min < 0 ? MINUS : "+"}${Math.floor(a / 60)}${a % 60 ? ":" + pad(a % 60) : ""}`;
}

/** middle and half of an interval {earliest, latest}: when, and ± how many seconds. */
export function interval(iv) {
  const a = instant(iv?.earliest), b = instant(iv?.latest);
  return { from: a, to: b, middle: (a + b) / 2, half: (b - a) / 2000 };
}
