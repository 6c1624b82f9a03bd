package promlint

// own lists the metrics that are no device's: the info series and what the
// history says of incidents, then our own (label instance and job are added to
// all of those), then those of the one who scrapes. A histogram is listed by its
// _sum and _count.
func own() map[string]string {
	return map[string]string{
		"quintet_job_info":                  "job kind name node",
		"quintet_member_info":               "kind name group_kind group",
		"quintet_incident_open":             "incident kind severity domain signature root job",
		"quintet_incident_gpu_seconds_lost": "incident job domain signature root",

		"ALERTS":           "*",
		"ALERTS_FOR_STATE": "*",
		"up":               "job instance",
	}
}

// service lists our own metrics and their labels.
func service() map[string]string {
	return map[string]string{
		"quintet_bus_connected":                   "name",
		"quintet_bus_connection_errors_total":     "",
		"quintet_bus_duplicate_messages_total":    "",
		"quintet_bus_log_holes_total":             "",
		"quintet_bus_malformed_entries_total":     "",
		"quintet_bus_publish_retries_total":       "",
		"quintet_bus_read_bytes_total":            "",
		"quintet_bus_read_entries_total":          "",
		"quintet_bus_read_restarts_total":         "",
		"quintet_bus_refused_messages_total":      "reason",
		"quintet_bus_stored_bytes_total":          "",
		"quintet_bus_stored_messages_total":       "",
		"quintet_bus_usurped_ticks_total":         "",
		"quintet_collectors_dropped_total":        "collector reason",
		"quintet_collectors_read_total":           "collector",
		"quintet_collectors_restarts_total":       "collector",
		"quintet_collectors_sweep_seconds":        "collector",
		"quintet_collectors_up":                   "collector",
		"quintet_engine_frames_total":             "outcome",
		"quintet_engine_grids_total":              "",
		"quintet_engine_samples_late_total":       "",
		"quintet_engine_samples_total":            "",
		"quintet_engine_frames_expired_total":     "",
		"quintet_notify_attempt_seconds_count":    "receiver",
		"quintet_notify_attempt_seconds_sum":      "receiver",
		"quintet_notify_attempts_total":           "receiver verdict",
		"quintet_notify_deliveries_total":         "receiver outcome",
		"quintet_notify_owed_incidents":           "receiver",
		"quintet_notify_receiver_gone":            "receiver",
		"quintet_notify_repeats_total":            "receiver",
		"quintet_notify_skipped_revisions_total":  "receiver",
		"quintet_notify_store_errors_total":       "receiver",
		"quintet_outbox_disk_errors_total":        "",
		"quintet_outbox_emitted_records_total":    "",
		"quintet_outbox_memory_bytes":             "",
		"quintet_outbox_removed_events_total":     "reason",
		"quintet_outbox_removed_frames_total":     "reason",
		"quintet_outbox_removed_samples_total":    "reason",
		"quintet_outbox_send_failures_total":      "",
		"quintet_outbox_spilled_bytes":            "",
		"quintet_outbox_stored_records_total":     "",
		"quintet_pin_frames_dropped_total":        "reason",
		"quintet_pin_incidents_total":             "outcome",
		"quintet_replica_caught_up":               "",
		"quintet_replica_diverged":                "",
		"quintet_replica_position":                "",
		"quintet_replica_publishing":              "",
		"quintet_replica_records_total":           "",
		"quintet_replica_revisions_total":         "outcome",
		"quintet_replica_snapshot_bytes":          "",
		"quintet_replica_snapshot_failures_total": "",
		"quintet_replica_snapshots_total":         "",
		"quintet_replica_tick_seconds":            "",
		"quintet_serve_incidents_held":            "",
		"quintet_serve_panics_total":              "",
		"quintet_serve_refused_total":             "reason",
		"quintet_serve_request_seconds_count":     "route",
		"quintet_serve_request_seconds_sum":       "route",
		"quintet_serve_requests_total":            "route code",
		"quintet_serve_streams":                   "",
		"quintet_ticker_behind_seconds":           "",
		"quintet_ticker_stated_total":             "",
	}
}
