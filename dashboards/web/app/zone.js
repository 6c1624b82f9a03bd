// The zone in which times are written stands in the address: ?tz=UTC, else the
// browser's. Pure.

/** zoneIn reads it from a query. */
export function zoneIn(search) { return (new URLSearchParams(search).get("tz") ?? "").toUpperCase() === "UTC" ? "UTC" : ""; }

/** keepZone is a path with a zone in its query, as it stands in the address unless another is given. */
export function keepZone(path, zone = zoneIn(globalThis.location?.search ?? "")) {
  const at = path.indexOf("?"), q = new URLSearchParams(at < 0 ? "" : path.slice(at));
  q.delete("tz");
  if (zone) q.set("tz", zone);
  return `${at < 0 ? path : path.slice(0, at)}${q.size ? `?${q}` : ""}`;
}
