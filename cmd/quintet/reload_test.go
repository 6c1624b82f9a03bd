package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
)

// TestReload makes a running service reload its configuration, by signal and over
// HTTP: an invalid one changes nothing, a valid one takes effect.
func TestReload(t *testing.T) {
	s := newSite(t, 3)
	first, second := wiretest.FreeAddress(t), wiretest.FreeAddress(t)
	configure := func(listen, more string) {
		s.write("serve.yaml", "data: "+s.path("data")+"\nlisten: \""+listen+"\"\ncollectors: {sysfs: [{path: "+s.dir+"}]}\n"+more)
	}
	configure(first, "")
	p := s.start("serve", "--config", s.path("serve.yaml"))
	s.await("it answers", func() bool { return answers(first) })

	configure(second, "colour: red\n")
	resp, err := http.Post("http://"+first+"/-/reload", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode < 400 || !strings.Contains(string(body), `serve.yaml:4:1: unknown key`) {
		t.Errorf("a wrong configuration: %s %s", resp.Status, body)
	}
	if !answers(first) {
		t.Error("a wrong configuration must leave the service as it was")
	}

	configure(second, "")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.await("it answers at its new address", func() bool { return answers(second) })
	if answers(first) {
		t.Error("it still answers at the old address")
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.await("it ends", func() bool {
		select {
		case <-p.exited:
			return true
		default:
			return false
		}
	})
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d after SIGTERM", code)
	}
}

func answers(address string) bool {
	resp, err := http.Get("http://" + address + "/-/healthy")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
