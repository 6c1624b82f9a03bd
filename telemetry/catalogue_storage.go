package telemetry

// storageMetrics are a storage system as the jobs that use it feel it.
func storageMetrics() []Metric {
	return like(Metric{Domain: Software, Kinds: kinds(Storage), Rise: Worse},
		Metric{Name: "storage_read_bytes_total", Unit: "bytes", Rise: Neutral, Detectors: shapes(ShapeShift), Help: "Bytes read from it.", Origin: "Lustre llite stats read_bytes; NFS mountstats"},
		Metric{Name: "storage_write_bytes_total", Unit: "bytes", Rise: Neutral, Detectors: shapes(ShapeShift), Help: "Bytes written to it.", Origin: "Lustre llite stats write_bytes; NFS mountstats"},
		Metric{Name: "storage_read_latency_seconds", Unit: "seconds", Detectors: shapes(ShapeShift), Help: "Mean time of a read in the interval.", Origin: "Lustre llite stats read; NFS mountstats RTT"},
		Metric{Name: "storage_write_latency_seconds", Unit: "seconds", Detectors: shapes(ShapeShift), Help: "Mean time of a write in the interval.", Origin: "Lustre llite stats write; NFS mountstats RTT"},
	)
}
