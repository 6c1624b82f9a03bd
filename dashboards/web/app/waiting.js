// Who waits for whom in a job: the rank that waits least, measured by its own
// past, is the one that the others wait for. Pure.

/** middle is the median of what is finite, the upper one of two, NaN of nothing; of some columns only, where they are given. */
export function middle(values, columns = values.keys()) {
  const a = [];
  for (const i of columns) if (Number.isFinite(values[i])) a.push(values[i]);
  return a.length ? select(a, a.length >> 1) : NaN;
}

/**
 * select finds what would stand at k were a in order. It is asked a thousand times
 * an update: putting each in order takes five times as long. a is stirred.
 */
export function select(a, k) {
  for (let low = 0, high = a.length - 1; low < high;) {
    const pivot = a[k];
    let i = low, j = high;
    while (i <= j) {
      while (a[i] < pivot) i++;
      while (a[j] > pivot) j--;
      if (i > j) break;
      [a[i], a[j]] = [a[j], a[i]];
      i++;
      j--;
    }
    if (j < k) low = i;
    if (i > k) high = j;
  }
  return a[k];
}

/** now is how many columns are "now". */
export const now = 3;

/**
 * waitingOf orders ranks: whom the others wait for first. wait and compute are
 * tables of rankmap's tableOf; degraded are the spans [from, to] in which the job was
 * not as usual. Each: {name, rank, wait, waited, compute, computed, late}.
 */
export function waitingOf(wait, compute, degraded = []) {
  const usual = (table) => {
    const past = table.times.slice(0, -now), columns = past.map((_, i) => i).filter((i) => !degraded.some(([a, b]) => past[i] >= a && past[i] <= b));
    return columns.length > 0 ? columns : [0, 1, 2].slice(0, past.length); // of all that is known the first
  };
  const split = (row, columns) => [middle(row.v, columns), middle(row.v.slice(-now))];
  const computing = usual(compute), waiting = usual(wait);
  const computed = new Map(compute.rows.map((r) => [r.name, split(r, computing)]));
  const out = wait.rows.map((r) => {
    const [before, after] = split(r, waiting), [was, is] = computed.get(r.name) ?? [NaN, NaN];
    return { name: r.name, rank: r.rank, waited: before, wait: after, computed: was, compute: is, late: (is - was) - (after - before) };
  });
  return out.sort((a, b) => (Number.isFinite(b.late) ? b.late : -Infinity) - (Number.isFinite(a.late) ? a.late : -Infinity) || a.rank - b.rank);
}
