package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/wire/exporter"
	"github.com/quintet-dc/quintet/lab/wire/host"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// What collecting costs, as whole processes, beside what others run for the same:
// node_exporter, Telegraf and gnmic, all at once over the same minute (make
// peers-collectors builds them into bin/peers). What a scraper pays to fetch,
// parse and keep node_exporter's page is not in its figure.

const (
	besideSettle = 15 * time.Second
	besideWatch  = time.Minute
)

// peer is the path of a third-party program, "" where it was not built.
func peer(b testing.TB, name string) string {
	b.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", "peers", name))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		b.Logf("%s is not in bin/peers: make peers-collectors builds it", name)
		return ""
	}
	return path
}

// run starts a third-party program; it is killed at the end of the benchmark.
func (s *site) run(path string, args ...string) *process {
	s.t.Helper()
	p := &process{cmd: exec.Command(path, args...), said: &lockedBuffer{}, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = io.Discard, p.said, s.dir
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	s.t.Cleanup(p.kill)
	return p
}

// spent is what a process took while it was watched.
type spent struct {
	share float64 // of a core
	most  float64 // of RssAnon, MB
}

// watch looks at processes over the same time.
func watch(b *testing.B, processes map[string]*process, d time.Duration) map[string]spent {
	b.Helper()
	const looks = 12
	out, before, began := map[string]spent{}, map[string]time.Duration{}, time.Now()
	for name, p := range processes {
		before[name] = cpuTime(b, p)
	}
	for range looks {
		pause(b.Context(), d/looks)
		for name, p := range processes {
			if x := out[name]; anonymous(b, p) > x.most {
				x.most = anonymous(b, p)
				out[name] = x
			}
		}
	}
	for name, p := range processes {
		x := out[name]
		x.share = float64(cpuTime(b, p)-before[name]) / float64(time.Since(began))
		out[name] = x
	}
	return out
}

// BenchmarkHostBeside reads one host of the lab, its tree of eight adapters and a
// dcgm-exporter's page of eight GPUs, once a second and sent over TLS.
func BenchmarkHostBeside(b *testing.B) {
	for b.Loop() {
		s := newSite(b, 3)
		s.startStore()
		s.enrolled()
		d := s.devices(b)
		s.write("collect.yaml", "data: "+s.path("host")+"\n"+s.elsewhere(s.log)+d.config)
		all := map[string]*process{"quintet": s.start("collect", "--config", s.path("collect.yaml"))}
		pages := []string{d.gpus}
		if path := peer(b, "node_exporter"); path != "" {
			at := wiretest.FreeAddress(b)
			all["node_exporter"] = s.run(path, "--web.listen-address="+at, "--path.sysfs="+d.sys, "--collector.disable-defaults", "--collector.infiniband")
			pages = append(pages, "http://"+at+"/metrics")
			go fetchEverySecond(b.Context(), pages[1])
		}
		if path := peer(b, "telegraf"); path != "" {
			s.write("telegraf.conf", "[agent]\ninterval = \"1s\"\nflush_interval = \"1s\"\nquiet = true\n"+
				"[[outputs.discard]]\n[[inputs.prometheus]]\nurls = [\""+strings.Join(pages, "\", \"")+"\"]\n")
			all["telegraf"] = s.run(path, "--config", s.path("telegraf.conf"))
		}
		pause(b.Context(), besideSettle)
		for name, x := range watch(b, all, besideWatch) {
			b.ReportMetric(100*x.share, name+"-%-of-a-core")
			b.ReportMetric(x.most, name+"-RssAnon-MB")
		}
		heard := s.stored(b)
		seconds := float64(besideWatch/time.Second) * 0.8 // of a busy machine
		if n := heard["sysfs"] / seconds; n < 8*20 {
			b.Errorf("%.0f samples a second of eight adapters are in the log", n)
		}
		if n := heard["scrape"] / seconds; n < 8*20 {
			b.Errorf("%.0f samples a second of eight GPUs are in the log", n)
		}
		b.ReportMetric((heard["sysfs"]+heard["scrape"])/(besideSettle+besideWatch).Seconds(), "quintet-samples/s")
		b.ReportMetric(0, "ns/op")
	}
}

// host is one host of the lab as it is read.
type hostDevices struct {
	sys, gpus string // its tree, and its GPUs' page
	config    string // the collectors that read both
}

// devices lets a site of the lab live behind its hosts' trees and pages.
func (s *site) devices(b *testing.B) hostDevices {
	b.Helper()
	lab, err := live.New(16, 1, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	board := lab.Board()
	hosts, err := host.New(board, host.Config{Dir: memoryFolder(b)})
	if err != nil {
		b.Fatal(err)
	}
	pages, err := exporter.New(board, exporter.Config{})
	if err != nil {
		b.Fatal(err)
	}
	for _, run := range []func(context.Context) error{lab.Run, hosts.Run, pages.Run} {
		go func() { _ = run(b.Context()) }() // what it lacks is missing in what is read
	}
	tree := hosts.Entries()[0]
	name, _ := tree["node"].(string)
	page := pageOf(b, pages, name)
	text, err := yaml.Marshal(map[string]any{"collectors": map[string]any{"sysfs": []any{tree},
		"scrape": []any{map[string]any{"interval": "1s", "mappings": []string{"dcgm"}, "targets": []any{page}}}}})
	if err != nil {
		b.Fatal(err)
	}
	gpus := 0
	for _, x := range board.Inside(telemetry.Entity{Kind: telemetry.Node, Name: name}) {
		if x.Kind == telemetry.GPU {
			gpus++
		}
	}
	if adapters, _ := filepath.Glob(filepath.Join(tree["path"].(string), "class", "infiniband", "*")); len(adapters) != 8 || gpus != 8 {
		b.Fatalf("the lab's host has %d adapters and %d GPUs, want 8 of each", len(adapters), gpus)
	}
	return hostDevices{sys: tree["path"].(string), gpus: page["url"].(string), config: string(text)}
}

// pageOf finds the page of a host's GPUs.
func pageOf(b *testing.B, pages *exporter.Fleet, node string) map[string]any {
	b.Helper()
	for _, e := range pages.Entries() {
		targets := e["targets"].([]any)
		if i := slices.IndexFunc(targets, func(t any) bool { return t.(map[string]any)["name"] == "dcgm/"+node }); i >= 0 {
			return targets[i].(map[string]any)
		}
	}
	b.Fatalf("no page of the GPUs of %s", node)
	return nil
}

// memoryFolder is a folder in memory where the system has one: sysfs is.
func memoryFolder(b *testing.B) string {
	b.Helper()
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err != nil || !info.IsDir() {
		return b.TempDir()
	}
	dir, err := os.MkdirTemp(shm, "quintet-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// fetchEverySecond is who reads an exporter's page.
func fetchEverySecond(ctx context.Context, url string) {
	for ctx.Err() == nil {
		if resp, err := http.Get(url); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		pause(ctx, time.Second)
	}
}

// stored counts the samples in the log by collector.
func (s *site) stored(b *testing.B) map[string]float64 {
	b.Helper()
	out := map[string]float64{}
	var reader telemetry.SampleReader
	err := s.connect(s.log).Slice(b.Context(), bus.Span{}, func(e bus.Entry) error {
		switch e.Record.Kind {
		case telemetry.SchemaRecord:
			reader.Learn(e.Record.Schema)
		case telemetry.FrameRecord:
			samples, err := reader.Read(e.Record.Frame)
			if errors.Is(err, telemetry.ErrUnstated) {
				return nil
			}
			if err != nil {
				return err
			}
			for x := range samples {
				if x.State == telemetry.Present {
					out[x.Source.Collector]++
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return out
}
