package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/replay/play"
)

// backAgain is how long the engine may be away after its process was killed.
const backAgain = 10 * time.Second

// TestServeOutlivesTheEngineProcess kills the engine's process with kill -9 at
// random moments, as the kernel does for lack of memory, while the log goes on: the
// page answers and reports it, the engine is back within ten seconds and raises an
// alarm, what is published is what one engine makes of the log, and the receiver
// has each revision once.
func TestServeOutlivesTheEngineProcess(t *testing.T) {
	s := newSite(t, 7)
	page := wiretest.FreeAddress(t)
	s.write("store.yaml", "listen: \""+page+"\"\ndata: "+s.path("data")+"\nnats: {listen: \""+s.log+"\"}\n"+
		"notify:\n  receivers:\n    - name: ear\n      figures: true\n      webhook: {url: \""+s.receiver.url+"\", timeout: 5s}\n")
	service := s.start("serve", "--config", s.path("store.yaml"), "--role", "store,engine,notify,web", "--log-level", "warn")
	s.enrolled()
	log := s.connect(s.log)
	playing := s.play(log, play.Config{From: 100e9, Speed: 8})
	get := func(path string) (status int, text string) {
		resp, err := s.client().Get("http://" + page + path)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	const kills = 6
	killed := 0
	for range kills {
		s.await("the engine answers", func() bool { status, _ := get("/-/ready"); return status == 200 })
		pause(s.ctx, time.Duration(s.random.Int64N(int64(2*time.Second))))
		pid := s.childOf(service)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed++
		began := time.Now()
		if status, text := get("/-/healthy"); status != 200 {
			t.Fatalf("the page: %d %s", status, text)
		}
		s.await("the page reports that no engine is there, or that one ended", func() bool {
			status, text := get("/-/ready")
			return status == 503 && strings.Contains(text, "no engine answers") || status == 200 && strings.Contains(text, "engine ended")
		})
		s.await("the engine is back", func() bool {
			status, text := get("/-/ready")
			return status == 200 && strings.Contains(text, "engine ended")
		})
		if took := time.Since(began); took > backAgain {
			t.Errorf("the engine was back after %s, want %s", took, backAgain)
		}
	}
	playing.wait()
	want := s.settled(log)
	s.await("the receiver hears the newest revisions", func() bool { return s.receiver.complete(want) })
	s.receiver.judge(t, want, 0)
	_, text := get("/metrics")
	if line := fmt.Sprintf("\nquintet_engine_process_restarts_total %d\n", killed); !strings.Contains(text, line) {
		t.Errorf("/metrics lacks %q", line)
	}
	for _, line := range []string{"\nquintet_replica_publishing 1\n", "\nprocess_resident_memory_bytes{part=\"engine\"} ", "\nprocess_resident_memory_bytes "} {
		if !strings.Contains(text, line) {
			t.Errorf("/metrics lacks %q", line)
		}
	}
	engine := s.childOf(service)
	service.kill()
	s.await("the engine ends with its parent", func() bool { return syscall.Kill(engine, 0) != nil })
	t.Logf("%d revisions; %d kills", len(want), killed)
}

// childOf waits for the only child of a process and returns its id.
func (s *site) childOf(p *process) (pid int) {
	s.t.Helper()
	id := p.cmd.Process.Pid
	s.await("the engine's process is there", func() bool {
		all := childrenOf(id)
		if len(all) != 1 {
			return false
		}
		pid = all[0]
		return true
	})
	return pid
}

// childrenOf lists the children of all threads of a process.
func childrenOf(id int) (out []int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", id))
	for _, task := range tasks {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", id, task.Name()))
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}
