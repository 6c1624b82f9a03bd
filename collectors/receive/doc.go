// Package receive accepts pushed data: job steps, edges, events over HTTP
// (docs/http.md has the requests), series by remote write and OTLP, the latter over
// gRPC too.
//
// It owns the form of those requests and what is refused in them, the sources of
// the jobs that report, and what a phase of a job becomes. What it accepts it emits
// as records, like any collector; a request is accepted whole or refused whole,
// with the place of what is wrong. It never authenticates HTTP clients: the server
// has done that before. Over gRPC it is the server, and does.
//
// # What a report of steps becomes
//
// Every report of phase train is one sample at its end, whatever its count:
// correlate/jobs weighs a report after a longer gap as so many steps by itself.
// Without a rank, or with rank 0, it is the job's: job_step_seconds, job_step_count
// where a count is stated, job_tokens_per_second (tokens over seconds: both are of
// one step). With a rank it is the rank's, too: rank_step_seconds;
// rank_compute_seconds and rank_comm_wait_seconds where they are stated, of rank 0
// where no rank is.
//
// A report of another phase is never a step: a long evaluation is not a slow step.
// One of phase checkpoint is job_checkpoint_seconds and the events
// checkpoint_started and checkpoint_ended. For eval and init there is no such pair,
// but the step in progress is expected activity for the same reason, and the engine
// knows one event for that: the last of them in a request is a checkpoint_ended
// whose text names the phase. Ranks other than 0 report nothing in these phases.
package receive
