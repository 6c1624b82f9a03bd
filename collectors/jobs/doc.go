// Package jobs collects what schedulers and trainers know: which job runs
// where, when it starts, fails and ends, how long its steps take, and how a
// scheduler believes the site is laid out.
//
// It owns how Slurm, Kubernetes, trainers' logs and NCCL are read. It must never
// change anything of a scheduler: it only asks, one request at a time.
package jobs
