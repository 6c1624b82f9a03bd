// Command peer reads a tree with node_exporter's infiniband collector, as often
// as its arguments require, and prints the processor time of one reading in nanoseconds
// and how many samples it gave. Benchmarks are next to it.
package main

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/node_exporter/collector"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(tree, times string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	flags := []string{"--path.sysfs=" + tree}
	if _, err := kingpin.CommandLine.Parse(flags); err != nil {
		return err
	}
	c, err := collector.NewNodeCollector(slog.New(slog.DiscardHandler), "infiniband")
	if err != nil {
		return err
	}
	r := prometheus.NewRegistry()
	if err := r.Register(c); err != nil {
		return err
	}
	samples, err := gather(r) // whatever is made once is made now
	if err != nil {
		return err
	}
	start := processorTime()
	for range n {
		if samples, err = gather(r); err != nil {
			return err
		}
	}
	fmt.Println((processorTime()-start)/int64(n), samples)
	return nil
}

func gather(r *prometheus.Registry) (samples int, err error) {
	families, err := r.Gather()
	for _, f := range families {
		samples += len(f.Metric)
	}
	return samples, err
}

// processorTime is what this process has used, in nanoseconds.
func processorTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail for this process
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
