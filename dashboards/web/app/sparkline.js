// The sparkline of a job: its last steps, from zero.

export const width = 260, height = 26;

/**
 * sparkline returns the curve of steps {t, v, saved: the t of those with a checkpoint} as a
 * path, the height of the usual step, null where that is not known, and where steps with a
 * checkpoint end. Such a step does not set the axis: it is cut off.
 */
export function sparkline({ t, v, saved }, usual) {
  const peak = Math.max(...v.filter((_, i) => !saved.has(t[i])), (usual ?? 0) * 1.5) || 1;
  const span = t.at(-1) - t[0] || 1;
  const x = (at) => (((at - t[0]) / span) * (width - 4) + 1).toFixed(1), y = (of) => (height - 2 - Math.min(1, of / peak) * (height - 5)).toFixed(1);
  return {
    curve: t.map((at, i) => `${i ? "L" : "M"}${x(at)} ${y(v[i])}`).join(""),
    usual: usual > 0 ? y(usual) : null,
    checkpoints: t.filter((at) => saved.has(at)).map(x),
  };
}
