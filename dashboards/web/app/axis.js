// Scales and ticks of the curves. Pure.

import { isRecording, zoneOffset } from "./format.js";

/** niceMax is the next round number at or above v: where an axis from zero ends. */
export function niceMax(v) {
  if (!(v > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(v));
  const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((n) => v <= n * power * (1 + 1e-9)) ?? 10;
  return step * power;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/**
 * timeTicks returns round instants (ms) from from to to, at least apart pixels
 * from each other on a width of pixels; round in the chosen zone, or in a recording's.
 */
export function timeTicks(from, to, width, apart = 90) {
  const span = (to - from) / 1000;
  if (!(span > 0) || !(width > 0)) return [];
  const wanted = span / Math.max(1, Math.floor(width / apart));
  const step = (steps.find((n) => n >= wanted) ?? Math.ceil(wanted / 86400) * 86400) * 1000;
  const shift = isRecording(from) ? 0 : -zoneOffset(from) * 60000;
  const out = [];
  for (let t = Math.ceil((from - shift) / step) * step + shift; t <= to; t += step) out.push(t);
  return out;
}
