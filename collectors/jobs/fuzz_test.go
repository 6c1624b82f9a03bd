package jobs

import (
	"bytes"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/telemetry"
)

// FuzzSlurm: whatever a slurmrestd answers, what comes of it the log takes, and
// every edge that was stated is ended when nothing runs any more.
func FuzzSlurm(f *testing.F) {
	f.Add([]byte(`{"jobs":[{"job_id":7,"name":"a","job_state":["RUNNING"],"nodes":"n[1-2]","gres_detail":["gpu:2(IDX:0-1)","gpu:2(IDX:0,3)"],"start_time":{"set":true,"number":1999999999},"tasks":4}]}`))
	f.Add([]byte(`{"jobs":[{"job_id":7,"name":"a b/c","job_state":"FAILED","exit_code":{"return_code":1}}],"errors":[{"error":"x"}]}`))
	f.Add([]byte(`{"nodes":[{"name":"n1","state":["IDLE","DRAIN"],"reason":"x","reason_changed_at":5}],"jobs":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		defer collectorstest.Bounded(t, len(text))()
		s := newSlurm(Config{Type: typeSlurm, Name: "s", CPUJobs: true, Ranks: "block"}.withDefaults(), nil, "")
		e := listen(t)
		r := newReport(e, time.Unix(2000000000, 0))
		_ = s.readJobs(bytes.NewReader(text), r)
		_ = s.readNodes(bytes.NewReader(text), r)
		if err := s.sizes.emit(r, s.jobs); err != nil {
			t.Fatal(err)
		}
		s.jobs.finish(r)
		s.jobs.finish(r)
		if left := e.runs(); len(left) > 0 {
			t.Errorf("still run: %v", left)
		}
	})
}

// FuzzKubernetes: whatever resources an API server has, what comes of them the
// log takes, and when they are gone every edge that was stated is ended.
func FuzzKubernetes(f *testing.F) {
	const head = `{"metadata":{"name":"llm","namespace":"ml","uid":"u"`
	f.Add([]byte(head+`},"spec":{"nodeName":"n1"},"status":{"phase":"Running","startTime":"2033-05-18T03:33:00Z"}}`), []byte(head+`},"status":{"restarts":2,"conditions":[{"type":"Failed","status":"True","reason":"x"}]}}`),
		[]byte(head+`,"ownerReferences":[{"name":"llm","controller":true}]},"spec":{"queueName":"q"},"status":{"conditions":[{"type":"Evicted","status":"True"}]}}`))
	f.Add([]byte(head+`},"spec":{"nodeName":"n/1"},"status":{"phase":"Running"}}`), []byte(head+`},"spec":{"suspend":true}}`), []byte(`{"metadata":[]}`))
	config := Config{Type: typeKube, Name: "k", CPUJobs: true}.withDefaults()
	f.Fuzz(func(t *testing.T, p, o, q []byte) {
		defer collectorstest.Bounded(t, len(p)+len(o)+len(q))()
		k := newKube(config, nil, "")
		k.owners = []*feed[owner]{newFeed("/apis/batch/v1", "jobs", 10, k.follows)}
		k.queued = newFeed("/apis/kueue.x-k8s.io/v1beta1", "workloads", 10, func(w *workload) (*meta, bool) { return &w.Metadata, true })
		e := listen(t)
		r := newReport(e, time.Unix(2000000000, 0))
		for range 2 {
			k.pods.keep(k.pods.objects, p, false)
			k.publish(r)
			k.owners[0].keep(k.owners[0].objects, o, false)
			k.queued.keep(k.queued.objects, q, false)
			k.publish(r)
			clear(k.pods.objects)
		}
		clear(k.owners[0].objects)
		k.publish(r)
		if err := k.sizes.emit(r, k.jobs); err != nil {
			t.Fatal(err)
		}
		if left := e.runs(); len(left) > 0 {
			t.Errorf("still run: %v", left)
		}
	})
}

// FuzzLine: whatever a trainer prints, what comes of it the log takes.
func FuzzLine(f *testing.F) {
	for _, s := range []string{
		" [2024-08-21 10:19:42.5] iteration 4/ 25000 | consumed samples: 4096 | elapsed time per iteration (ms): 270125.4/270000.0 | throughput per GPU (TFLOP/s/GPU): 449.6 | global batch size: 8 |",
		"0: 2025-03-04 00:44:44,441 - root - INFO - \x1b[36mstep: 1990  \x1b[32mloss:  3.4370  tps: 6,785  mfu: 39.73%\x1b[39m",
		`[2025-04-21T23:53:58.605964] [426] [17b6] [T] [#log] [INSTANT] {"global_step": 177019, "logs": {"elapsed time per iteration (ms)": 1374427.3}}`,
		"Training epoch 0, iteration 0/19 | global_step: 0 | train_step_timing in s: 10.31", "saving checkpoint at iteration 5 to x", "validation loss at iteration 5", "loading checkpoint from x",
	} {
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		defer collectorstest.Bounded(t, len(a)+len(b))()
		e := listen(t)
		j := newLogJob(Config{Name: "n", Devices: 8, Sequence: 4096, Peak: 1000}, telemetry.Entity{Kind: telemetry.Job, Name: "x"})
		for i, line := range [][]byte{a, b, a} {
			l, ok := readLine(line, time.UTC)
			if !ok {
				continue
			}
			if err := j.take(newReport(e, time.Unix(2000000000+int64(i), 0)), &l, i == 0); err != nil {
				t.Fatal(err)
			}
		}
		for x, hs := range e.Series {
			for _, h := range hs {
				if !(h.Float() >= 0) || h.At <= 0 {
					t.Errorf("%s: %v at %s", x, h.Float(), h.At)
				}
			}
		}
	})
}

// FuzzFiles: a topology, a status and a dump of whatever bytes.
func FuzzFiles(f *testing.F) {
	for _, s := range []string{
		"SwitchName=s0 Nodes=tux[0-3]\nSwitchName=s4 Switches=s[0-3]\n", "switches: {a: {switches: [b]}}\nblocks: [{switch: b, nodes: ['n[1-2]'], annotations: {accelerator.x/domain: d}}]",
		"- {topology: t, tree: {switches: [{switch: s, nodes: n1}]}}", status("true"), `nccl_bus_bandwidth_gbs{node="n",gpu="GPU0",collective="a,\"b"} 1`,
		`[{"links":[{"compounded_links":[{"interfaces":[{"interface":"a","node":"1"},{"interface":"b","node":"2"}]}]}],"nodes":[{"compounded_nodes":[{"id":"1","name":"x","device_type":"switch"},{"id":"2","name":"y"}]}]}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer collectorstest.Bounded(t, len(text))()
		e := listen(t)
		r := newReport(e, time.Unix(2000000000, 0))
		edges, err := readLayout(text)
		if (err == nil) != (len(edges) > 0) {
			t.Errorf("%d edges, %v", len(edges), err)
		}
		for _, x := range edges {
			r.edge(x)
		}
		if c, err := readRAS(text); err == nil {
			s := newRAS(Config{Type: typeRAS, Name: "r", Job: "j"}.withDefaults(), nil)
			if err := s.reportErrors(r, c); err != nil {
				t.Fatal(err)
			}
		}
		found, _ := readDump(text)
		for _, d := range found {
			if d.gpu.Validate() != nil || d.metric == "" {
				t.Errorf("%+v", d)
			}
		}
	})
}
