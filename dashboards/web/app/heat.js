// Colours of a heat map, and the scales from values to them. One scale of
// lightness, away from the paper in either theme, so that neither hue nor theme is
// needed to distinguish more from less.

import { niceMax } from "./axis.js";

const light = ["#f2f0ea", "#f8e2a8", "#f2b765", "#dd7f3f", "#b24a2f", "#771f2e", "#390a22"];
const dark = ["#22272c", "#47294d", "#832f5e", "#c2484a", "#ec8038", "#f8c552", "#fdf8c4"];
const shades = 64;

function rgb(hex) { return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)); }

function table(stops) {
  const colours = stops.map(rgb), out = [];
  for (let i = 0; i < shades; i++) {
    const x = (i / (shades - 1)) * (colours.length - 1), at = Math.min(colours.length - 2, Math.floor(x)), part = x - at;
    const mixed = colours[at].map((c, k) => Math.round(c + (colours[at + 1][k] - c) * part));
    const bright = mixed.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((s, v, k) => s + v * [0.2126, 0.7152, 0.0722][k], 0);
    out.push({ fill: `rgb(${mixed.join(" ")})`, rgb: mixed, ink: bright > 0.19 ? "#000" : "#fff", bright });
  }
  out.pixels = new Uint32Array(Uint8Array.from(out.flatMap((c) => [...c.rgb, 255])).buffer);
  return out;
}

const tables = { light: table(light), dark: table(dark) };

let theme; // which theme is shown; undefined until it is asked for again after a change

/** isDark reports whether the dark theme is shown. It is computed once for each theme, because reading it makes the browser compute styles. */
export function isDark() {
  if (theme === undefined) theme = getComputedStyle(document.documentElement).colorScheme === "dark";
  return theme;
}

if (globalThis.document) { // before those who draw with it receive the change of theme
  const forget = () => { theme = undefined; };
  new MutationObserver(forget).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", forget);
}

/** pixels are the colours of shares from 0 to 1 as the points of a picture. */
export function pixels(darkly) { return tables[darkly ? "dark" : "light"].pixels; }

/** shade is the colour for a share from 0 to 1 of a scale: {fill, ink: what can be read on it, bright}. */
export function shade(share, darkly) {
  return tables[darkly ? "dark" : "light"][Math.min(shades - 1, Math.max(0, Math.round(share * (shades - 1))))];
}

/**
 * scaleOf maps values to shares. kind: "ratio" is from 0 to 1 whatever is there, so
 * that a colour always means the same; "root" likewise, with more of it for small
 * values; "count" is logarithmic to the greatest; "margin" shows the less the
 * stronger, from 40 degrees to none; "span" is from low to high.
 */
export function scaleOf(kind, { peak = 1, low = 0, high = 1 } = {}) {
  switch (kind) {
    case "root": return { ticks: [0, 0.05, 0.25, 0.5, 1], share: (v) => Math.sqrt(clamp(v)) };
    case "count": {
      const top = niceMax(Math.max(peak, 10));
      const ticks = [0];
      for (let d = 10 ** Math.max(0, Math.floor(Math.log10(top)) - 3); d <= top; d *= 10) ticks.push(d);
      return { ticks, share: (v) => (v > 0 ? clamp(Math.log1p(v) / Math.log1p(top)) : 0) };
    }
    case "margin": return { ticks: [40, 30, 20, 10, 0], share: (v) => clamp(1 - v / 40) };
    case "span": return { ticks: [0, 0.25, 0.5, 0.75, 1].map((x) => low + x * (high - low)), share: (v) => clamp((v - low) / (high - low)) };
    default: return { ticks: [0, 0.25, 0.5, 0.75, 1], share: clamp };
  }
}

function clamp(v) { return Math.min(1, Math.max(0, v)); }
