package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

func TestHostlists(t *testing.T) {
	for list, want := range map[string]string{
		"": "", "n1": "n1", "n[1-3]": "n1 n2 n3", "n[08-11,7],login": "n08 n09 n10 n11 n7 login", "r[1-2]n[3-4]": "r1n3 r1n4 r2n3 r2n4", "a,b": "a b",
		"rack[1-2]-x": "rack1-x rack2-x",
	} {
		got, err := hosts(list)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %v %v, want %s", list, got, err, want)
		}
	}
	for _, list := range []string{"n[", "n]", "n[3-1]", "n[a-b]", "n[1-9999999999]", "n[0-130000],m[0-130000]", ",", "n[]"} {
		if got, err := hosts(list); !errors.Is(err, errHostlist) {
			t.Errorf("%q: %d hosts, %v", list, len(got), err)
		}
	}
}

// TestMaintenanceEndsWhereTheMapIsFull: a node that was reported drained is
// reported back in service, also when no further node can be remembered.
func TestMaintenanceEndsWhereTheMapIsFull(t *testing.T) {
	s := newSlurm(Config{Type: typeSlurm, Name: "slurm", URL: "http://slurm"}.withDefaults(), nil, "")
	for i := range mostHosts {
		s.drained[fmt.Sprint("n", i)] = true
	}
	e := listen(t)
	r := newReport(e, time.Unix(1e9, 0))
	s.node(&slurmNode{Name: "n7", State: words{"IDLE"}}, r)
	s.node(&slurmNode{Name: "n8", State: words{"IDLE"}}, r)
	s.node(&slurmNode{Name: "m1", State: words{"DRAIN"}}, r)
	s.node(&slurmNode{Name: "m2", State: words{"DRAIN"}}, r)
	s.node(&slurmNode{Name: "m3", State: words{"DRAIN"}}, r)
	var got []string
	for _, x := range e.Events {
		got = append(got, x.Entity.Name+" "+string(x.Name))
	}
	if want := "[n7 maintenance_ended n8 maintenance_ended m1 maintenance_started m2 maintenance_started]"; fmt.Sprint(got) != want || r.dropped[collectors.OverLimit] != 1 {
		t.Errorf("%v, dropped %v, want %s", got, r.dropped, want)
	}
}

func TestGPUIndices(t *testing.T) {
	for gres, want := range map[string]string{
		"gpu:h100:8(IDX:0-7)": "[0 1 2 3 4 5 6 7]", "gpu:2(IDX:0,3),nic:1(IDX:5)": "[0 3]", "nic:1(IDX:5),gpu:a100:1(IDX:2)": "[2]",
		"gpu:8": "no", "": "no", "nic:1(IDX:5)": "no", "gpu:1(IDX:N/A)": "no", "gpu:1(IDX:99999)": "no", "gpu:1(IDX:1": "no",
	} {
		got, ok := gpuIndices(gres)
		if s := fmt.Sprint(got); ok && s != want || !ok && want != "no" {
			t.Errorf("%q: %v %t, want %s", gres, got, ok, want)
		}
	}
}

// TestForms: the same number, state and exit in the form of every version.
func TestForms(t *testing.T) {
	for _, x := range []struct{ job, want string }{
		{`{"job_id":7,"name":"a","job_state":"FAILED","exit_code":256}`, "failed FAILED exit code 1"},
		{`{"job_id":7,"name":"a","job_state":"FAILED","exit_code":9}`, "failed FAILED signal 9"},
		{`{"job_id":7,"name":"a","job_state":"FAILED","exit_code":{"status":"ERROR","return_code":3}}`, "failed FAILED exit code 3"},
		{`{"job_id":7,"name":"a","job_state":["FAILED"],"exit_code":{"status":["SIGNALED"],"return_code":{"set":true,"number":0},"signal":{"id":{"set":true,"number":6},"name":"Aborted"}}}`, "failed FAILED signal 6"},
		{`{"job_id":{"set":true,"number":7},"name":"a","job_state":["COMPLETED","REQUEUED"],"exit_code":{"set":true,"infinite":false,"number":0}}`, "ended COMPLETED"},
		{`{"job_id":7,"name":"a","job_state":["NODE_FAIL"]}`, "failed NODE_FAIL"},
		{`{"job_id":7,"name":"a","job_state":["TIMEOUT"]}`, "ended TIMEOUT"},
	} {
		e := listen(t)
		s := newSlurm(Config{Type: typeSlurm, Name: "s"}.withDefaults(), nil, "")
		now := time.Unix(2000000000, 0)
		run := `{"jobs":[{"job_id":7,"name":"a","job_state":["RUNNING"],"nodes":"n1","tres_alloc_str":"gres/gpu=8","start_time":1999999990}]}`
		for _, text := range []string{run, `{"jobs":[` + x.job + `]}`} {
			r := newReport(e, now)
			if err := s.readJobs(strings.NewReader(text), r); err != nil || len(r.dropped) > 0 {
				t.Fatalf("%s: %v %v", text, err, r.dropped)
			}
			s.jobs.finish(r)
		}
		name := map[string]telemetry.EventName{"failed": telemetry.EventJobFailed, "ended": telemetry.EventJobEnded}
		how, text, _ := strings.Cut(x.want, " ")
		if n := len(e.Events); n != 2 || e.Events[1].Name != name[how] || e.Events[1].Text != text {
			t.Errorf("%s: %+v, want %s", x.job, e.Events, x.want)
		}
	}
}

// TestABrokenListEndsNothing: what a list that broke off does not have may be
// there still.
func TestABrokenListEndsNothing(t *testing.T) {
	e := listen(t)
	s := newSlurm(Config{Type: typeSlurm, Name: "s"}.withDefaults(), nil, "")
	r := newReport(e, time.Unix(2000000000, 0))
	for _, text := range []string{`{"jobs":[{"job_id":7,"name":"a","job_state":["RUNNING"],"nodes":"n1","tres_alloc_str":"gres/gpu=8"}]}`, `{"jobs":[{"job_id":8`, `{"errors":[{"error":"no controller"}],"jobs":[]}`, `[]`, ``} {
		if err := s.readJobs(strings.NewReader(text), r); err == nil {
			s.jobs.finish(r)
		} else if strings.Contains(text, "controller") && (!errors.Is(err, errSaid) || !strings.Contains(err.Error(), "no controller")) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if len(e.runs()) != 1 {
		t.Errorf("%v %v", e.runs(), e.Events)
	}
	_ = s.readJobs(strings.NewReader(`{"jobs":null}`), r)
	s.jobs.finish(r)
	if len(e.runs()) != 0 {
		t.Errorf("%v", e.runs())
	}
}

// TestTwoOfAName: two jobs of one name are not one.
func TestTwoOfAName(t *testing.T) {
	e := listen(t)
	s := newSlurm(Config{Type: typeSlurm, Name: "s", Job: "{name}"}.withDefaults(), nil, "")
	r := newReport(e, time.Unix(2000000000, 0))
	one := `{"job_id":%d,"name":"a","job_state":["RUNNING"],"nodes":"n%d","tres_alloc_str":"gres/gpu=8"}`
	if err := s.readJobs(strings.NewReader(`{"jobs":[`+fmt.Sprintf(one, 1, 1)+","+fmt.Sprintf(one, 2, 2)+`]}`), r); err != nil {
		t.Fatal(err)
	}
	if got := e.runs(); !slices.Equal(got, []string{"job:a > node:n1"}) || r.dropped[collectors.Duplicate] != 1 {
		t.Errorf("%v, dropped %v", got, r.dropped)
	}
}

// TestRotation: lines before, across and after a rotation and a cut come once
// each, whole.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	add := func(s string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = f.WriteString(s)
			_ = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	dropped := map[collectors.Reason]int{}
	x := &tail{path: path}
	defer x.close()
	read := func() error {
		return x.read(func(why collectors.Reason, n int) { dropped[why] += n }, func(line []byte) { got = append(got, string(line)) })
	}
	add("before, ha")
	if err := x.open(false); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func(){
		func() { add("lf of it\none\ntw") }, func() { add("o\n") },
		func() { add("three\n"); _ = os.Rename(path, path+".1"); add("four\n") },
		func() { _ = os.Truncate(path, 0) }, func() { add("five\n") },
		func() { add(strings.Repeat("x", 3*longestLine) + "\nsix\n") },
	} {
		step()
		if err := read(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"one", "two", "three", "four", "five", "six"}; !slices.Equal(got, want) || dropped[collectors.OverLimit] != 1 {
		t.Errorf("%q, dropped %v; want %q", got, dropped, want)
	}
	_ = os.Remove(path)
	if err := read(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a log that is gone: %v", err)
	}
}

// TestTopologyYAML: Slurm's own, newer form; and what is no longer in a file ends.
func TestTopologyYAML(t *testing.T) {
	path := filepath.Join(t.TempDir(), "topology.yaml")
	c, err := New(Config{Type: typeFile, Paths: []string{path}}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	e := listen(t)
	for _, text := range []string{
		"- topology: t1\n  cluster_default: true\n  tree:\n    switches:\n    - {switch: top, children: 's[1-2]'}\n    - {switch: s1, nodes: 'n[1-2]'}\n- topology: t2\n  block:\n    block_sizes: [2]\n    blocks:\n    - {block: b1, nodes: n3}\n",
		"SwitchName=s1 Nodes=n1 LinkSpeed=9\nBlockSizes=2\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r := newReport(e, time.Unix(1000, 0))
		if err := s.read(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	want := `group:switch/top contains group:switch/s1 1970-01-01T00:00:00Z to on
group:switch/top contains group:switch/s2 1970-01-01T00:00:00Z to on
node:n1 member group:switch/s1 1970-01-01T00:00:00Z to on
node:n2 member group:switch/s1 1970-01-01T00:00:00Z to on
node:n3 member group:block/b1 1970-01-01T00:00:00Z to on
group:switch/top contains group:switch/s1 1970-01-01T00:00:00Z to 1970-01-01T00:16:40Z
group:switch/top contains group:switch/s2 1970-01-01T00:00:00Z to 1970-01-01T00:16:40Z
node:n2 member group:switch/s1 1970-01-01T00:00:00Z to 1970-01-01T00:16:40Z
node:n3 member group:block/b1 1970-01-01T00:00:00Z to 1970-01-01T00:16:40Z
1970-01-01T00:16:40Z collector:` + strings.ReplaceAll(collectors.Part(sourceName)+"/"+collectors.Part(path), "\n", "") + ` topology_edges 5
1970-01-01T00:16:40Z collector:` + collectors.Part(sourceName) + "/" + collectors.Part(path) + ` topology_edges 1
`
	if got := e.golden(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, text := range []string{"", "SwitchName=s1 Nodes=n[", "SwitchName=s1 Colour=red", "a: b: c", "just text", "{}", "[]", "[{}]", "SwitchName=", "SwitchName=s1 Switches=s1"} {
		if edges, err := readLayout([]byte(text)); err == nil {
			t.Errorf("%q: %d edges", text, len(edges))
		}
	}
}

func TestConfigs(t *testing.T) {
	for text, want := range map[string]string{
		"{}": "type: required", "{type: slurm}": "url: required", "{type: log}": "paths: required", "{type: slurm, url: 'ftp://x'}": "want http", "{type: pbs}": "want one of",
		"{type: log, paths: [a], url: 'http://x'}": "1:30: jobs: url: not a key of type log", "{type: slurm, url: 'http://x', job: all}": "all jobs would be one",
		"{type: nccl_ras, address: '127.0.0.1:28028'}": "job: required", "{type: log, paths: [a], zone: Mars/Base}": "zone", "{type: slurm, url: 'http://u:p@x'}": "no user",
		"{type: nccl_ras, address: here, job: x}": "missing port", "{type: file, paths: [a], max_body: 1}": "max_body", "7": "want keys and values",
	} {
		if _, err := DecodeConfig(collectorstest.Node(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	c, err := DecodeConfig(collectorstest.Node(t, "{type: slurm, url: 'unix:///run/slurmrestd.sock', version: v0.0.41, user: q, authorization: {credentials_file: /t}, ranks: block, cpu_jobs: true, max_jobs: 9, timeout: 5s, interval: 1m}"))
	if err != nil || c.Ranks != "block" || !c.CPUJobs || c.MaxJobs != 9 || c.Every != time.Minute {
		t.Errorf("%+v, %v", c, err)
	}
	for _, kind := range types() {
		col, err := New(Config{Type: kind, URL: "http://x", Address: "127.0.0.1:1", Paths: []string{"p"}, Job: "{name}"}, dial.Guard{})
		if err != nil || col.Target() == "" {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := New(Config{Type: "pbs"}, dial.Guard{}); err == nil {
		t.Error("a type that is none")
	}
}
