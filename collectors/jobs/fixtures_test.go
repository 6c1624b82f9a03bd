package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// shared is where recordings of others lie; a test that needs them is skipped
// without.
func shared(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	root := filepath.Join("..", "..", "..", "shared", "fixtures", dir)
	out := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		out[name] = b
		return err
	})
	if err != nil || len(out) == 0 {
		t.Skipf("no recordings at %s: %v", root, err)
	}
	return out
}

// asked has a file read as the answer of slurmrestd for key.
func asked(t *testing.T, text []byte, key string, cpu bool) (ear, error) {
	t.Helper()
	c := Config{Type: typeSlurm, Name: "slurm", URL: "http://slurm", CPUJobs: cpu}.withDefaults()
	s := newSlurm(c, nil, "")
	e := listen(t)
	r := newReport(e, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	var err error
	if key == "jobs" {
		err = s.readJobs(bytes.NewReader(text), r)
	} else {
		err = s.readNodes(bytes.NewReader(text), r)
	}
	e.Swept(collectors.Sweep{Dropped: r.dropped, Err: err})
	return e, err
}

// TestRecordingsOfSlurm: what others have recorded of slurmrestd and of Slurm's
// programs is read, or refused for what it is.
func TestRecordingsOfSlurm(t *testing.T) {
	want := map[string]string{
		"telegraf/gather/responses/jobs.json": `job:gridjob-20464 runs node:naboo222 2024-08-07T00:17:31Z to on
job:gridjob-20468 runs node:naboo222 2024-08-07T00:32:52Z to on
`,
		"telegraf/gather/responses/nodes.json": `2026-01-02T03:04:05Z node:naboo145 maintenance_started Kill task failed (since 2024-08-08T00:35:06Z)
2026-01-02T03:04:05Z node:naboo146 maintenance_started Kill task failed (since 2024-08-04T05:22:07Z)
`,
		"telegraf/panic/responses/jobs.json": "", "telegraf/panic/responses/nodes.json": "",
		"rivosinc/squeue_out.json": "job:job_name-26515966 runs node:cs75 2023-05-15T01:42:01Z to on\n", "rivosinc/sinfo_out.json": "",
	}
	for name, text := range shared(t, "slurm") {
		key := "jobs"
		if strings.Contains(name, "nodes") || strings.Contains(name, "sinfo") {
			key = "nodes"
		}
		e, err := asked(t, text, key, true)
		golden, listed := want[name]
		switch {
		case !listed:
			if !errors.Is(err, errForm) {
				t.Errorf("%s: %v, want it refused for its form", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case golden != "" && e.golden() != golden:
			t.Errorf("%s:\n%swant\n%s", name, e.golden(), golden)
		case len(e.Dropped) > 0:
			t.Errorf("%s: dropped %v", name, e.Dropped)
		}
		if listed {
			t.Logf("%s: %d edges, %d events", name, len(e.Edges), len(e.Events))
		}
	}
}

// TestRecordingsOfTopology: trees, blocks and graphs become groups and cables.
func TestRecordingsOfTopology(t *testing.T) {
	want := map[string]string{ // members, contains, connects, the first and the last edge
		"topograph/slurm/expected.slinky-oci-sim-tree.conf": "96 18 0 group:switch/switch.3.1 contains group:switch/switch.2.1, node:srv6208 member group:switch/switch.1.12", "topograph/slurm/expected.slinky-dra-block.conf": "96 0 0 node:srv1101 member group:block/rack11, node:srv6208 member group:block/rack62",
		"topograph/models/small-tree.yaml": "12 2 0 group:switch/S1 contains group:switch/S2, node:I36 member group:accelerator-domain/nvl3",
		"topograph/models/large.yaml":      "192 18 0 group:switch/core contains group:switch/spine-1, node:srv6208 member group:accelerator-domain/nvl-6-2", "topograph/models/nvl72.yaml": "144 6 0 group:switch/core contains group:switch/spine-1, node:node2218 member group:accelerator-domain/nvl-2-2", "topograph/models/medium.yaml": "16 6 0 group:switch/sw21 contains group:switch/sw11, node:1402 member group:accelerator-domain/nvl4", "topograph/models/dual-xclr-regular.yaml": "288 18 0 group:switch/core contains group:switch/spine-1, node:srv6208 member group:accelerator-sub-domain/rack12",
		"topograph/netq/computeNodes.json": "2 0 0 node:node1 member group:accelerator-domain/3fbfc98b-7f95-4749-ab11-bd351a2aab3e, node:node2 member group:accelerator-domain/3fbfc98b-7f95-4749-ab11-bd351a2aab3e", "topograph/netq/topologyGraph.json": "0 0 79 port:net-unit-l2/swp17s0 connects nic:dgx-05/ens4f0np0, port:net-unit-s1/swp24s0 connects port:net-unit-l2/swp52s0",
	}
	for name, text := range shared(t, "topology") {
		edges, err := readLayout(text)
		golden, listed := want[name]
		if !listed {
			if !errors.Is(err, errLayout) {
				t.Errorf("%s: %v, want it refused", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n := map[telemetry.Relation]int{}
		for _, e := range edges {
			n[e.Relation]++
		}
		say := func(e telemetry.Edge) string { return fmt.Sprintf("%s %s %s", e.From, e.Relation, e.To) }
		got := fmt.Sprintf("%d %d %d %s, %s", n[telemetry.Member], n[telemetry.Contains], n[telemetry.Connects], say(edges[0]), say(edges[len(edges)-1]))
		if got != golden {
			t.Errorf("%s: %s\nwant %s", name, got, golden)
		}
	}
}

// TestRecordingsOfTraining: the steps of real runs, and nothing from what is no
// trainer's log.
func TestRecordingsOfTraining(t *testing.T) {
	want := map[string]string{ // what was told
		"megatron/first-iterations.excerpt.log": "3 steps, 0 events, last 243.344 s, dropped map[]", "megatron/slurm-gpt3.excerpt.log": "3 steps, 0 events, last 0.0884 s, dropped map[]",
		"torchtitan/aurora-xpu.excerpt.log": "104 steps, 0 events, last 0.617277 s, dropped map[], job_mfu_ratio 0.2069, job_tokens_per_second 53176", "torchtitan/h100-llama3-8b.excerpt.log": "0 steps, 0 events, last 0 s, dropped map[duplicate:8], job_mfu_ratio 0.3973, job_tokens_per_second 54280",
		"superbench/megatron_deepspeed.log": "5 steps, 1 events, last 74.4949 s, dropped map[], job_mfu_ratio 0.152295, job_tokens_per_second 56303.2", "nemo/pretrain.cell14.log": "20 steps, 4 events, last 7.592 s, dropped map[]", "nemo/straggler-detected.cell29.log": "16 steps, 4 events, last 7.611 s, dropped map[]",
		"dlrover/events_0.log": "1 steps, 4 events, last 1374.43 s, dropped map[]",
	}
	for name, text := range shared(t, "training_logs") {
		e, job := replayed(t, name, text)
		golden, listed := want[name]
		if !listed {
			if len(e.Series) > 0 || len(e.Events) > 0 {
				t.Errorf("%s is no trainer's log, and says\n%s", name, e.golden())
			}
			continue
		}
		steps := e.Series[telemetry.Series{Entity: job, Metric: "job_step_seconds"}]
		all := len(steps)
		last := 0.0
		if all > 0 {
			last = steps[all-1].Float()
		}
		got := fmt.Sprintf("%d steps, %d events, last %.6g s, dropped %v", all, len(e.Events), last, e.Dropped)
		for _, m := range []telemetry.MetricName{"job_mfu_ratio", "job_tokens_per_second"} {
			if s := e.Series[telemetry.Series{Entity: job, Metric: m}]; len(s) > 0 {
				got += fmt.Sprintf(", %s %.6g", m, s[len(s)-1].Float())
			}
		}
		if got != golden {
			t.Errorf("%s: %s\nwant %s", name, got, golden)
		}
	}
}

// replayed reads a log line by line, as a reader that follows it would receive it.
func replayed(t *testing.T, name string, text []byte) (ear, telemetry.Entity) {
	t.Helper()
	e := listen(t)
	x := telemetry.Entity{Kind: telemetry.Job, Name: "run"}
	j := newLogJob(Config{Name: name, Devices: 8, Peak: 989}, x)
	dropped := map[collectors.Reason]int{}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, line := range bytes.Split(text, []byte("\n")) {
		l, ok := readLine(line, time.UTC)
		if !ok {
			continue
		}
		now = now.Add(time.Second)
		r := newReport(e, now)
		if err := j.take(r, &l, true); err != nil {
			t.Fatal(err)
		}
		for why, n := range r.dropped {
			dropped[why] += n
		}
	}
	e.Dropped = dropped
	return e, x
}

// TestRecordingsOfNCCL: RAS is read in JSON; its text and its monitor's events
// are refused for what they are.
func TestRecordingsOfNCCL(t *testing.T) {
	for name, text := range shared(t, "training_logs/nccl") {
		c, err := readRAS(text)
		switch {
		case name == "ras-status.excerpt.json":
			if err != nil || c.Size != 2 || len(c.Ranks) != 1 || c.Ranks[0].Host != "172.16.64.245" || *c.Ranks[0].GPU != 0 || len(c.Missing) != 1 || c.Missing[0].Rank != 1 || c.Missing[0].Status.Dead {
				t.Errorf("%s: %+v, %v", name, c, err)
			}
		case !errors.Is(err, errForm):
			t.Errorf("%s: %v, want it refused for its form", name, err)
		case strings.HasSuffix(name, ".txt") && !errors.Is(err, errOldRAS):
			t.Errorf("%s: %v, want to be told that it is text", name, err)
		}
	}
}

// TestRecordingsOfOthersAreRefused: output of nvidia-smi is accepted by no reader
// here.
func TestRecordingsOfOthersAreRefused(t *testing.T) {
	for name, text := range shared(t, "nvidia_smi") {
		if _, err := asked(t, text, "jobs", true); !errors.Is(err, errForm) {
			t.Errorf("%s as jobs: %v", name, err)
		}
		if edges, err := readLayout(text); !errors.Is(err, errLayout) {
			t.Errorf("%s as a topology: %v, %d edges", name, err, len(edges))
		}
		if _, err := readRAS(text); !errors.Is(err, errForm) {
			t.Errorf("%s as RAS: %v", name, err)
		}
		if found, _ := readDump(text); len(found) > 0 {
			t.Errorf("%s as a dump: %v", name, found)
		}
		if e, _ := replayed(t, name, text); len(e.Series)+len(e.Events) > 0 {
			t.Errorf("%s as a log:\n%s", name, e.golden())
		}
	}
}
