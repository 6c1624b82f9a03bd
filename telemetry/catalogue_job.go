package telemetry

// jobMetrics are a training job as it reports itself, one sample at each step's
// end (POST /api/v1/jobs/{job}/steps).
func jobMetrics() []Metric {
	return like(Metric{Domain: Software, Kinds: kinds(Job), Unit: "seconds", Rise: Worse, PerStep: true},
		Metric{Name: "job_step_seconds", Help: "Length of the step that ends here, or the mean of those reported together.", Origin: "POST /api/v1/jobs/{job}/steps seconds"},
		Metric{Name: "job_step_count", Unit: "steps", Rise: Neutral, Help: "How many steps job_step_seconds is the mean of; one where it is not stated.", Origin: "POST /api/v1/jobs/{job}/steps count"},
		Metric{Name: "job_mfu_ratio", Unit: "1", Rise: Better, Help: "Model FLOPs utilisation of the step.", Origin: "Chowdhery et al., PaLM, 2022, appendix B"},
		Metric{Name: "job_tokens_per_second", Unit: "tokens_per_second", Rise: Better, Help: "Tokens trained or served a second.", Origin: "POST /api/v1/jobs/{job}/steps tokens over seconds"},
		Metric{Name: "job_data_wait_seconds", Help: "Time in the step spent waiting for input.", Origin: "framework's data loader timer"},
		Metric{Name: "job_checkpoint_seconds", Help: "Time the step lost to writing a checkpoint.", Origin: "framework's checkpoint timer"},
	)
}

// rankMetrics are one rank's share of a step.
func rankMetrics() []Metric {
	return like(Metric{Domain: Software, Kinds: kinds(Rank), Unit: "seconds", Rise: Worse, PerStep: true},
		Metric{Name: "rank_step_seconds", Help: "Length of the rank's step.", Origin: "POST /api/v1/jobs/{job}/steps seconds, with a rank"},
		Metric{Name: "rank_compute_seconds", Help: "Time in the step for which the rank computed.", Origin: "POST /api/v1/jobs/{job}/steps compute_seconds"},
		Metric{Name: "rank_comm_wait_seconds", Rise: Neutral, Help: "Time blocked for others before data moves: who waits least is waited for.", Origin: "POST /api/v1/jobs/{job}/steps wait_seconds"},
		Metric{Name: "rank_comm_transfer_seconds", Help: "Time for which data moved.", Origin: "framework's collective timers"},
	)
}

// servingMetrics are an inference job's, sampled like any gauge.
func servingMetrics() []Metric {
	return like(Metric{Domain: Software, Kinds: kinds(Job), Unit: "seconds", Rise: Worse, Detectors: shapes(ShapeShift)},
		Metric{Name: "job_ttft_seconds_p50", Help: "Time to first token, median of the interval.", Origin: "vllm:time_to_first_token_seconds"},
		Metric{Name: "job_ttft_seconds_p99", Help: "Time to first token, 99th percentile of the interval.", Origin: "vllm:time_to_first_token_seconds"},
		Metric{Name: "job_itl_seconds_p50", Help: "Time between tokens, median of the interval.", Origin: "vllm:inter_token_latency_seconds"},
		Metric{Name: "job_itl_seconds_p99", Help: "Time between tokens, 99th percentile of the interval.", Origin: "vllm:inter_token_latency_seconds"},
		Metric{Name: "job_queue_requests", Unit: "requests", Help: "Requests waiting to be taken up.", Origin: "vllm:num_requests_waiting"},
		Metric{Name: "job_kv_cache_ratio", Unit: "1", Detectors: shapes(ShapeShift, ShapeLevel), Help: "Share of the key-value cache in use.", Origin: "vllm:kv_cache_usage_perc"},
	)
}
