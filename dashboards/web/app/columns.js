// Answers of the history as columns, which pass from one thread to another as they are:
// to copy thousands of small objects takes as long as to read them. Pure, but for answerOf.

/** answerOf asks the history at an address: {columns}, or {failed: {message, status, kind}} in its own words. fetching is fetch, unless a test sets another. */
export async function answerOf(url, signal, fetching = (...args) => fetch(...args)) {
  const response = await fetching(url, { headers: { Accept: "application/json" }, signal });
  const body = (response.headers.get("Content-Type") ?? "").includes("json") ? await response.json().catch(() => null) : null;
  if (response.ok && body?.status === "success") return { columns: columnsOf(body.data) };
  return { failed: { message: body?.error ?? `the history answers ${response.status}`, status: response.status, kind: body?.errorType ?? "" } };
}

/**
 * columnsOf turns what Prometheus answers into numbers, milliseconds and one table of texts:
 * {names of labels, texts, label: of each series and name the index in texts plus 1 or 0, counts of
 * samples, t, v}. Of a vector or scalar each series has one sample, and t is null.
 */
export function columnsOf(data) {
  const matrix = data?.resultType === "matrix", series = data?.resultType === "scalar" ? [{ value: data.result }] : data?.resultType === "vector" || matrix ? data.result ?? [] : [];
  const names = [...new Set(series.flatMap((r) => Object.keys(r.metric ?? {})))], seen = new Map();
  const label = new Uint32Array(series.length * names.length), counts = Uint32Array.from(series, (r) => (matrix ? r.values.length : 1));
  const all = counts.reduce((sum, n) => sum + n, 0), t = matrix ? new Float64Array(all) : null, v = new Float64Array(all);
  let at = 0;
  series.forEach((r, i) => {
    names.forEach((name, k) => { label[i * names.length + k] = indexOf(seen, r.metric?.[name]); });
    for (const [time, text] of matrix ? r.values : [r.value ?? []]) {
      if (t) t[at] = Math.round(time * 1000);
      v[at++] = value(text);
    }
  });
  return { names, texts: [...seen.keys()], label, counts, t, v };
}

/** rowsOf are the columns as [{labels, v}], or [{labels, t: [ms], v: [number]}] where they have times. */
export function rowsOf({ names, texts, label, counts, t, v }) {
  let at = 0;
  return Array.from(counts, (n, i) => {
    const labels = {};
    names.forEach((name, k) => { const x = label[i * names.length + k]; if (x > 0) labels[name] = texts[x - 1]; });
    const from = at;
    at += n;
    return t ? { labels, t: Array.from(t.subarray(from, at)), v: Array.from(v.subarray(from, at)) } : { labels, v: v[from] };
  });
}

// indexOf is the place of a text in a table plus 1, which has it from then on; 0 of none.
function indexOf(table, text) {
  if (text === undefined) return 0;
  let at = table.get(text);
  if (!at) table.set(text, (at = table.size + 1));
  return at;
}

function value(text) { return text === "+Inf" ? Infinity : text === "-Inf" ? -Infinity : Number(text ?? NaN); }
