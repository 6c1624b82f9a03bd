package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
)

// TestSlurmHealthCheck runs Debian's slurmctld and slurmd with our
// HealthCheckProgram: the node is drained while it is the cause of an incident,
// not while its state is unknown or the cause is elsewhere, and resumed.
func TestSlurmHealthCheck(t *testing.T) {
	if os.Getenv("QUINTET_E2E") == "" {
		t.Skip("runs Slurm: make e2e")
	}
	for _, program := range []string{"slurmctld", "slurmd", "scontrol", "munged"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s (Debian: slurmctld, slurmd, munge): %v", program, err)
		}
	}
	var answer atomic.Pointer[string]
	say := func(state, role string) {
		text := fmt.Sprintf(`{"node":"n1","state":%q,"reason":"cause of incident: gpu n1/3 (gpu-slow)","role":%q,"incident":"inc-1","confidence":0.9,"since":null}`, state, role)
		answer.Store(&text)
	}
	say("healthy", "")
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes/n1/health" || r.URL.Query().Get("min_confidence") != "0.7" {
			t.Errorf("asked for %s", r.URL)
		}
		fmt.Fprint(w, *answer.Load())
	}))
	t.Cleanup(api.Close)
	c := startSlurm(t, api.URL)
	c.becomes("IDLE", "")
	say("degraded", "affected")
	c.becomes("IDLE", "")
	say("degraded", "cause")
	c.becomes("DRAIN", "quintet: n1: degraded: cause of incident: gpu n1/3 (gpu-slow), confidence 90 %, inc-1")
	say("no_data", "")
	c.becomes("DRAIN", "quintet:")
	say("healthy", "")
	c.becomes("IDLE", "")
}

// slurmCluster is a cluster of one node, n1.
type slurmCluster struct {
	t   *testing.T
	env []string
}

// becomes waits until the node has a state and a reason that begins with a text.
// The health check has run at least once more by then.
func (s *slurmCluster) becomes(state, reason string) {
	s.t.Helper()
	var out []byte
	runs := s.runs()
	deadline := time.NewTimer(60 * time.Second)
	defer deadline.Stop()
	poll := time.NewTicker(300 * time.Millisecond)
	defer poll.Stop()
	for {
		cmd := exec.Command("scontrol", "-o", "show", "node", "n1")
		cmd.Env = s.env
		out, _ = cmd.CombinedOutput()
		text := string(out)
		has := strings.Contains(text, " State="+state) || state == "DRAIN" && strings.Contains(text, "+DRAIN")
		if has && strings.Contains(text, reason) && (state != "IDLE" || !strings.Contains(text, "DRAIN")) && s.runs() > runs+1 {
			return
		}
		select {
		case <-deadline.C:
			log, _ := os.ReadFile(s.file("check.log"))
			s.t.Fatalf("not %s, %q after a minute and %d health checks: %s\n%s", state, reason, s.runs()-runs, out, log)
		case <-poll.C:
		}
	}
}

func (s *slurmCluster) dir() string {
	return strings.TrimPrefix(s.env[len(s.env)-1], "SLURM_TEST_DIR=")
}

func (s *slurmCluster) file(name string) string { return filepath.Join(s.dir(), name) }

// runs counts the health checks so far.
func (s *slurmCluster) runs() int {
	b, _ := os.ReadFile(s.file("check.log")) // none before the first
	return strings.Count(string(b), "checked\n")
}

// startSlurm starts munged, slurmctld and slurmd, all on loopback.
func startSlurm(t *testing.T, server string) *slurmCluster {
	dir, err := os.MkdirTemp("/tmp", "slurm") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &slurmCluster{t: t, env: append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm.conf"), "SLURM_TEST_DIR="+dir)}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(s.file(name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	check, err := filepath.Abs("../../deploy/slurm/quintet-health-check")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-trimpath", "-o", s.file("quintet"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	write("key", strings.Repeat("k", 64), 0o600)
	write("check", fmt.Sprintf("#!/bin/sh\nexport QUINTET_SERVER=%s QUINTET_BIN=%s QUINTET_MIN_CONFIDENCE=0.7 QUINTET_RESUME=yes QUINTET_CONF=/nonexistent SLURM_CONF=%s\n%s >>%s 2>&1\ncode=$?\necho checked >>%s\nexit $code\n",
		server, s.file("quintet"), s.file("slurm.conf"), check, s.file("check.log"), s.file("check.log")), 0o755)
	controller, node := port(wiretest.FreeAddress(t)), port(wiretest.FreeAddress(t))
	write("slurm.conf", fmt.Sprintf(`ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=%s
SlurmdPort=%s
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=%[3]s/munge.socket
CryptoType=crypto/munge
StateSaveLocation=%[3]s/state
SlurmdSpoolDir=%[3]s/spool
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmdPidFile=%[3]s/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/linear
MpiDefault=none
ReturnToService=2
HealthCheckProgram=%[3]s/check
HealthCheckInterval=1
HealthCheckNodeState=ANY
NodeName=n1 NodeAddr=127.0.0.1 NodeHostname=localhost CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n1 Default=YES State=UP
`, controller, node, dir), 0o644)
	for _, d := range []string{"state", "spool"} {
		if err := os.Mkdir(s.file(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.start("munged", "--foreground", "--force", "--socket="+s.file("munge.socket"), "--key-file="+s.file("key"), "--pid-file="+s.file("munged.pid"), "--seed-file="+s.file("seed"))
	s.start("slurmctld", "-D", "-c", "-f", s.file("slurm.conf"))
	s.start("slurmd", "-D", "-N", "n1", "-f", s.file("slurm.conf"))
	return s
}

// port is that of an address.
func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// start runs a program until the test is over.
func (s *slurmCluster) start(program string, args ...string) {
	s.t.Helper()
	log, err := os.Create(s.file(program + ".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, log, log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if s.t.Failed() {
			b, _ := os.ReadFile(log.Name())
			s.t.Logf("%s: %s", program, b)
		}
	})
}
