// What the field's names are called on the page, and the signs that stand beside
// them. A name that is not listed is shown as it is.

import { s } from "./dom.js";

const metrics = {
  job_step_seconds: "step time", job_mfu_ratio: "MFU", job_tokens_per_second: "tokens", job_data_wait_seconds: "input wait",
  job_checkpoint_seconds: "checkpoint", job_ttft_seconds_p50: "time to first token, p50", job_ttft_seconds_p99: "time to first token, p99",
  job_itl_seconds_p50: "time between tokens, p50", job_itl_seconds_p99: "time between tokens, p99", job_queue_requests: "requests waiting",
  job_kv_cache_ratio: "KV cache in use",
  rank_compute_seconds: "compute, per step", rank_comm_wait_seconds: "wait for others, per step", rank_comm_transfer_seconds: "transfer, per step",
  rank_step_seconds: "step time of the rank",
  port_tx_bytes_total: "sends", port_rx_bytes_total: "receives", rdma_tx_bytes_total: "sends, RDMA", rdma_rx_bytes_total: "receives, RDMA",
  port_tx_packets_total: "packets sent", port_rx_packets_total: "packets received", port_tx_discards_total: "discards sent",
  port_rx_discards_total: "discards received",
  port_pfc_tx_pause_frames_total: "pause frames sent", port_pfc_rx_pause_frames_total: "pause frames received",
  port_pfc_tx_pause_seconds_total: "pause sent", port_pfc_rx_pause_seconds_total: "pause received",
  port_ecn_marked_packets_total: "packets marked (ECN)", port_queue_bytes: "queue", port_queue_max_bytes: "longest queue",
  port_headroom_max_bytes: "headroom taken", port_pfc_watchdog_storms_total: "PFC watchdog storms", port_xmit_wait_ticks_total: "credit wait",
  port_xmit_wait_seconds_total: "credit wait", port_up: "link up", port_speed_bits_per_second: "link speed", port_link_downs_total: "link went down",
  port_symbol_errors_total: "symbol errors", port_rx_errors_total: "receive errors", port_rx_crc_errors_total: "checksum errors",
  port_utilisation_ratio: "of what it can send", port_errors: "errors", port_discards: "drops", port_links_down: "down", port_fec_corrected_bits_total: "bits corrected by FEC",
  port_fec_uncorrectable_total: "uncorrectable FEC errors", port_pre_fec_ber: "bit errors before FEC",
  roce_cnp_sent_total: "CNPs sent", roce_cnp_handled_total: "CNPs handled", roce_cnp_ignored_total: "CNPs ignored", roce_ecn_marked_packets_total: "marks received",
  roce_out_of_sequence_total: "out of sequence", roce_packet_seq_errors_total: "sequence errors", roce_ack_timeouts_total: "acknowledgements timed out",
  nic_pcie_stalled_ratio: "PCIe stall", pcie_link_width: "PCIe width", pcie_link_speed_transfers_per_second: "PCIe speed",
  gpu_engine_active_ratio: "engine active", gpu_sm_active_ratio: "SMs active", gpu_tensor_active_ratio: "tensor pipes active", gpu_dram_active_ratio: "memory active",
  gpu_sm_clock_hertz: "SM clock", gpu_temperature_celsius: "temperature", gpu_memory_temperature_celsius: "memory temperature", gpu_power_watts: "power",
  gpu_energy_joules_total: "power", gpu_power_limit_watts: "power limit", gpu_clock_event_reasons: "clock event reasons",
  gpu_throttle_power_seconds_total: "slowed by power limit", gpu_throttle_thermal_seconds_total: "slowed by heat", gpu_throttle_brake_seconds_total: "slowed by power brake",
  nvlink_tx_bytes_total: "sends", nvlink_rx_bytes_total: "receives", nvlink_replay_errors_total: "replays", nvlink_up: "link up",
  node_power_watts: "power", rack_power_watts: "power", rack_power_limit_watts: "power limit", feed_up: "feed up", psu_up: "PSU up", battery_charge_ratio: "charge",
  coolant_flow_liters_per_minute: "coolant flow", coolant_supply_celsius: "coolant in", coolant_return_celsius: "coolant out", coolant_pressure_pascals: "coolant pressure",
  inlet_celsius: "inlet air", fan_speed_ratio: "fan speed", leak_detected: "leak", optic_temperature_celsius: "optic temperature",
};

/** metricName is a metric in the page's words, or as it is called. */
export function metricName(metric) { return metrics[metric] ?? String(metric ?? "").replace(/_total$/, "").replaceAll("_", " "); }

const units = [
  [/_seconds(_p\d+)?$/, "s"], [/_bytes$/, "bytes"], [/_celsius$/, "celsius"], [/_watts$/, "watts"], [/_hertz$/, "hertz"], [/_pascals$/, "pascals"],
  [/_liters_per_minute$/, "liters_per_minute"], [/_bits_per_second$/, "bits_per_second"], [/_transfers_per_second$/, "transfers_per_second"],
  [/_tokens_per_second$/, "tokens_per_second"], [/_joules$/, "joules"], [/_packets$/, "packets"], [/_frames$/, "frames"], [/_ticks$/, "ticks"], [/_(errors|downs|storms)$/, "events"],
];

/** unitOf is a metric's unit by its name; of a counter, that of its rate. */
export function unitOf(metric) {
  const counter = metric.endsWith("_total"), unit = units.find(([re]) => re.test(counter ? metric.slice(0, -6) : metric))?.[1] ?? "1";
  return counter ? `${unit === "1" ? "events" : unit}/s` : unit;
}

const domainOf = [
  [/^(job|rank|storage|checkpoint)_/, "software"],
  [/^(port|roce|nic|rdma|pcie|queue)_/, "network"],
  [/(celsius|coolant|fan_|leak|thermal|inlet)/, "cooling"],
  [/(power|energy|watts|feed_|psu_|battery|brake)/, "power"],
  [/^(gpu|nvlink)_/, "computing"],
];

/** metricDomain is the domain that a metric belongs to, "" where its name does not say. */
export function metricDomain(metric) { return domainOf.find(([re]) => re.test(metric))?.[1] ?? ""; }

/** The domains, from the job down to the cooling. */
export const domains = ["software", "computing", "network", "power", "cooling"];

// Each domain has a shape of its own: colour is never alone.
const shapes = {
  software: "M8 1.5 14.5 8 8 14.5 1.5 8Z",
  computing: "M2.5 2.5h11v11h-11Z",
  network: "M8 1.8a6.2 6.2 0 1 1 0 12.4a6.2 6.2 0 1 1 0-12.4Z",
  power: "M8 1.6 15 13.8H1Z",
  cooling: "M4.6 2h6.8L14.8 8l-3.4 6H4.6L1.2 8Z",
};

/** domainShape is the outline of a domain's sign in a 16 × 16 field. */
export function domainShape(domain) { return shapes[domain] ?? "M2 8h12"; }

/** domainClass is a class that sets the domain's colour; "" for a name that is none. */
export function domainClass(domain) { return Object.hasOwn(shapes, domain) ? `d-${domain}` : ""; }

/** domainSign is a small drawing of a domain's shape in its colour. */
export function domainSign(domain) {
  return s("svg", { class: `sign ${domainClass(domain)}`, viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: domainShape(domain) }));
}

// States and severities: a drawing each, so that they can be distinguished without colour.
const signs = {
  critical: ["M5.2 1h5.6L15 5.2v5.6L10.8 15H5.2L1 10.8V5.2Z", "M8 4v5M8 11v1.4"],
  warning: ["M8 1.4 15.4 14.4H.6Z", "M8 6v4M8 11.4v1.3"],
  info: ["M8 1a7 7 0 1 1 0 14a7 7 0 1 1 0-14Z", "M8 7v5M8 3.8v1.4"],
  resolved: ["", "M2.5 8.5 6.2 12.2 13.5 4.2"],
  healthy: ["", "M2.5 8.5 6.2 12.2 13.5 4.2"],
  degraded: ["M5.2 1h5.6L15 5.2v5.6L10.8 15H5.2L1 10.8V5.2Z", "M8 4v5M8 11v1.4"],
  at_risk: ["M8 1.4 15.4 14.4H.6Z", "M8 6v4M8 11.4v1.3"],
  alerting: ["M8 1a7 7 0 1 1 0 14a7 7 0 1 1 0-14Z", "M8 3.5v5.5M8 11v1.4"],
  no_data: ["", "M3 8h2M7 8h2M11 8h2"],
  slow: ["M8 1.4 15.4 14.4H.6Z", "M8 6v4M8 11.4v1.3"],
  stalled: ["M2 2h12v12H2Z", "M6 5.5v5M10 5.5v5"],
  failed: ["M5.2 1h5.6L15 5.2v5.6L10.8 15H5.2L1 10.8V5.2Z", "M5.5 5.5l5 5M10.5 5.5l-5 5"],
  restarted: ["", "M13 8a5 5 0 1 1-1.6-3.7M13.4 1.6v3.2h-3.2"],
  ended: ["", "M3 8h10"],
  new: ["", "M8 3v10M3 8h10"],
};
const tones = { critical: "bad", failed: "bad", stalled: "bad", warning: "warn", slow: "warn", restarted: "warn", info: "note", new: "note", resolved: "good", healthy: "good", ended: "quiet", degraded: "bad", at_risk: "warn", alerting: "note", no_data: "quiet" };

/** tone is the class of a state's or severity's colour. */
export function tone(name) { return Object.hasOwn(tones, name) ? `t-${tones[name]}` : ""; }

/** sign is the drawing of a state or severity. */
export function sign(name) {
  const [body, mark] = Object.hasOwn(signs, name) ? signs[name] : ["", "M3 8h10"];
  return s("svg", { class: `sign ${tone(name)}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    body && s("path", { class: "body", d: body }), s("path", { class: body ? "mark" : "line", d: mark }));
}
