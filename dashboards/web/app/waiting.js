// Who waits for whom in a job: the rank that waits least, measured by its own
// past, is the one that the others wait for. Pure.

/** middle is the median of what is finite, NaN of nothing. */
export function middle(values) {
  const all = Float64Array.from(values.filter(Number.isFinite)).sort();
  return all.length ? all[all.length >> 1] : NaN;
}

const now = 3; // columns that are "now"

/**
 * waitingOf orders ranks: whom the others wait for first. wait and compute are
 * tables of rankmap's tableOf; hurt are the spans [from, to] in which the job was
 * not as usual. Each: {name, rank, wait, waited, compute, computed, late}.
 */
export function waitingOf(wait, compute, hurt = []) {
  const split = (table, row) => {
    const past = row.v.slice(0, -now), usual = past.filter((_, i) => !hurt.some(([a, b]) => table.times[i] >= a && table.times[i] <= b));
    return [middle(usual.length ? usual : past.slice(0, now)), middle(row.v.slice(-now))];
  };
  const computed = new Map(compute.rows.map((r) => [r.name, split(compute, r)]));
  const out = wait.rows.map((r) => {
    const [before, after] = split(wait, r), [was, is] = computed.get(r.name) ?? [NaN, NaN];
    return { name: r.name, rank: r.rank, waited: before, wait: after, computed: was, compute: is, late: (is - was) - (after - before) };
  });
  return out.sort((a, b) => (Number.isFinite(b.late) ? b.late : -Infinity) - (Number.isFinite(a.late) ? a.late : -Infinity) || a.rank - b.rank);
}
