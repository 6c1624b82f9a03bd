package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
)

// TestBlindnessOfOneHost kills the collector of a host with kill -9 and starts it
// again: the site reports no data from the host and since when, opens no incident
// for it, and receives from it again.
func TestBlindnessOfOneHost(t *testing.T) {
	s := newSite(t, 4)
	page := wiretest.FreeAddress(t)
	s.write("store.yaml", "data: "+s.path("data")+"\nlisten: \""+page+"\"\nnats: {listen: \""+s.log+"\", process: here}\n")
	s.start("serve", "--config", s.path("store.yaml"))
	s.enrolled()
	writeTree(t, s.path("sys"), 2)
	s.write("collect.yaml", "data: "+s.path("host")+"\n"+s.elsewhere(s.log)+"collectors: {sysfs: [{path: "+s.path("sys")+", node: n001}]}\n")
	collect := s.start("collect", "--config", s.path("collect.yaml"))
	heard := func(silent bool) func() bool {
		return func() bool {
			src, ok := s.source(page, "sysfs", "n001")
			return ok && src.Silent == silent && src.Latest != ""
		}
	}
	s.await("the host is heard", heard(false))
	collect.kill()
	s.await("the host is said to be silent", heard(true))
	last, _ := s.source(page, "sysfs", "n001")
	s.start("collect", "--config", s.path("collect.yaml"))
	s.await("the host is heard again", heard(false))
	again, _ := s.source(page, "sysfs", "n001")
	if again.Latest <= last.Latest {
		t.Errorf("heard again at %s, last before at %s", again.Latest, last.Latest)
	}
	if from, to := s.gap(page, "sysfs", "n001"); from != last.Latest || to <= from || to > again.Latest {
		t.Errorf("the gap is told to be from %s to %s; the last sample before was at %s, one after at %s", from, to, last.Latest, again.Latest)
	}
	var list struct{ Incidents []json.RawMessage }
	if s.get(page, "incidents", &list); len(list.Incidents) > 0 {
		t.Errorf("an incident of a silent host: %s", list.Incidents[0])
	}
}

// heardSource is a source of /api/v1/coverage.
type heardSource struct {
	Collector, Target, Part string
	Silent                  bool
	Latest                  string
}

// source finds the counters' source of a host in the coverage.
func (s *site) source(page, collector, target string) (heardSource, bool) {
	var c struct{ Sources []heardSource }
	s.get(page, "coverage", &c)
	for _, src := range c.Sources {
		if src.Collector == collector && src.Target == target && src.Part == "mlx5" {
			return src, true
		}
	}
	return heardSource{}, false
}

// gap finds when the counters' source of a host was silent.
func (s *site) gap(page, collector, target string) (from, to string) {
	var c struct {
		Gaps []struct{ Collector, Target, Part, From, To string }
	}
	s.get(page, "coverage", &c)
	for _, g := range c.Gaps {
		if g.Collector == collector && g.Target == target && g.Part == "mlx5" {
			return g.From, g.To
		}
	}
	return "", ""
}

// get asks the API; what is not there yet leaves into as it is.
func (s *site) get(page, what string, into any) {
	s.t.Helper()
	resp, err := s.client().Get("http://" + page + "/api/v1/" + what)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}
