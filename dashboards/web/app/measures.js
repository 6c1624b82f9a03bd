// What the fabric can be coloured by. Each measure is asked of the history for every
// switch or for the ports of one; where a recording rule has it, it
// is asked for there, and made up from counters where nobody records it.

import { quoted } from "./promql.js";
import { quantity, number, percent, NONE } from "./format.js";

const rate = (metric, where, over = "1m") => `rate(${metric}{${where}}[${over}])`;

// several adds up counters that a port may have or not: they are distinguished by a
// label while they are together, since a rate has no name.
function several(metrics, where) {
  return metrics.map((m) => `label_replace(${rate(m, where, "5m")}, "of", ${quoted(m)}, "kind", ".*")`).join(" or ");
}

const wrong = ["port_rx_crc_errors_total", "port_rx_errors_total", "port_symbol_errors_total", "port_fec_uncorrectable_total"];

/**
 * measures, in the order in which they are offered: {recorded: a question for every
 * switch that recording rules answer, each: one for ports, fold: how a switch's ports
 * are put together, otherwise: what stands in where nobody has it}.
 */
export const measures = [
  { id: "pause", name: "PFC pause received", what: "of the time paused by PFC", none: "no pause received", unit: "s/s", scale: "root", fold: "max",
    recorded: "switch:port_pfc_rx_pause:max_ratio_rate1m", each: (where) => rate("port_pfc_rx_pause_seconds_total", where) },
  { id: "stops", name: "PFC pause sent", what: "of the time pausing its peer by PFC", none: "no pause sent", unit: "s/s", scale: "root", fold: "max",
    recorded: "switch:port_pfc_tx_pause:max_ratio_rate1m", each: (where) => rate("port_pfc_tx_pause_seconds_total", where) },
  { id: "marks", name: "ECN marks", what: "of ECN marks", none: "nothing is marked", unit: "packets/s", scale: "count", fold: "sum",
    recorded: "switch:port_ecn_marked_packets:rate1m", each: (where) => rate("port_ecn_marked_packets_total", where) },
  { id: "credits", name: "Credit wait", what: "of the time waiting for credits", none: "none waits for credits", unit: "s/s", scale: "root", fold: "max",
    recorded: "switch:port_xmit_wait:max_ratio_rate1m", each: (where) => rate("port_xmit_wait_seconds_total", where),
    otherwise: { id: "credits", name: "Credit wait", what: "of ticks waited for credits", none: "none waits for credits", unit: "ticks/s", scale: "count", fold: "sum",
      recorded: "switch:port_xmit_wait_ticks:rate1m", each: (where) => rate("port_xmit_wait_ticks_total", where) } },
  { id: "use", name: "Utilisation", what: "of what it can send", none: "all idle", unit: "1", scale: "ratio", fold: "max",
    recorded: "switch:port_utilisation:max_ratio_rate1m", each: (where) => `8 * ${rate("port_tx_bytes_total", where)} / (port_speed_bits_per_second{${where}} > 0)` },
  { id: "errors", name: "Errors", what: "of errors", none: "no errors", unit: "errors/s", scale: "count", fold: "sum",
    recorded: 'sum by (switch) ({__name__=~"switch:port_(rx_errors|rx_crc_errors|symbol_errors|fec_uncorrectable):rate5m"})',
    each: (where) => `sum by (switch, port) (${several(wrong, where)})` },
  { id: "drops", name: "Drops", what: "of dropped packets", none: "nothing is dropped", unit: "packets/s", scale: "count", fold: "sum",
    recorded: 'sum by (switch) ({__name__=~"switch:port_(tx|rx)_discards:rate5m"})',
    each: (where) => `sum by (switch, port) (${several(["port_tx_discards_total", "port_rx_discards_total"], where)})` },
  { id: "down", name: "Links down", what: "links down", none: "all links up", unit: "1", metric: "port_up", scale: "count", fold: "sum", whole: true,
    recorded: "switch:port_up:count - switch:port_up:sum", each: (where) => `1 - port_up{${where}}` },
];

/** measureOf is the measure of that id, of ours or of others, or the first. */
export function measureOf(id, of = measures) { return of.find((m) => m.id === id) ?? of[0]; }

/** bySwitch are the questions for every switch, the cheapest first: the first that is answered stands. */
export function bySwitch(m) { return [m.recorded, `${m.fold} by (switch) (${m.each('kind="port"')})`]; }

/** byPort is the question for the ports of one switch. */
export function byPort(m, name) { return `max by (port) (${m.each(`kind="port",switch=${quoted(name)}`)})`; }

/** byEveryPort is the question for the ports of all switches. */
export function byEveryPort(m) { return `max by (switch, port) (${m.each('kind="port"')})`; }

/** variants are a measure and what stands in for it. */
export function variants(m) { return m.otherwise ? [m, m.otherwise] : [m]; }

/** possible is a value, NaN for a share that no time can have: a counter that steps back looks like one that began anew. */
export function possible(v, m) { return m.unit === "s/s" && v > 1.2 ? NaN : v; }

/** valueWords writes a value of a measure in its unit. */
export function valueWords(v, m) {
  if (v === undefined || !Number.isFinite(v)) return NONE;
  if (m.unit === "s/s" || m.id === "use") return percent(v);
  return m.whole ? number(v) : quantity(v, m.unit, m.metric ?? "");
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 2 });

/** brief writes a value so that it fits a cell. */
export function brief(v, m) {
  if (!Number.isFinite(v)) return "";
  if (m.scale === "count") return compact.format(v);
  return v > 0 && v < 0.005 ? "<1" : String(Math.round(v * 100));
}
