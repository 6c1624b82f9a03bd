package survey_test

import (
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

func TestCensusDomainsAndEntity(t *testing.T) {
	s := newSite(t)
	gpu := s.schema("scrape", "n1", []string{"gpu:n1/0", "gpu:n1/1"}, "gpu_sm_clock_hertz", "gpu_temperature_celsius")
	s.frame(gpu, second, 2) // gpu:n1/0 has no temperature
	nic := s.schema("sysfs", "n1", []string{"nic:n1/mlx0"}, "port_tx_bytes_total")
	s.frame(nic, 2*second)
	s.schema("redfish", "bmc1", []string{"node:n1"}, "node_power_watts") // without a frame
	stale := func(x telemetry.Source) bool { return x.Collector == "sysfs" }
	for _, d := range s.census.Domains(telemetry.DefaultCatalogue(), stale) {
		want := map[telemetry.Domain][3]int{telemetry.Computing: {1, 0, 2}, telemetry.Cooling: {1, 0, 1}, telemetry.Network: {1, 1, 1}}[d.Domain]
		if got := [3]int{d.Sources, d.Stale, d.Series}; got != want {
			t.Errorf("%s: sources, stale, series %v, want %v", d.Domain, got, want)
		}
		if (d.Latest == nil) != (d.Sources == 0) {
			t.Errorf("%s: latest %v with %d sources", d.Domain, d.Latest, d.Sources)
		}
	}
	for name, want := range map[string][3]int{"node:n1": {2, 1, 4}, "gpu:n1/0": {1, 0, 1}, "nic:n1/mlx0": {1, 1, 1}, "node:n": {0, 0, 0}, "gpu:n1/7": {0, 0, 0}} {
		r := s.census.Entity(entity(t, name), stale)
		if got := [3]int{r.Sources, r.Stale, r.Series}; got != want {
			t.Errorf("%s: sources, stale, series %v, want %v", name, got, want)
		}
	}
}

func TestCensusFind(t *testing.T) {
	s := newSite(t)
	s.schema("gnmi", "leaf1", []string{"port:leaf1/eth1", "port:leaf1/eth12"}, "port_up")
	s.schema("scrape", "n1", []string{"gpu:n1/0"}, "gpu_sm_clock_hertz")
	for text, want := range map[string][]string{
		"LEAF1": {"switch:leaf1", "port:leaf1/eth1", "port:leaf1/eth12"}, "eth12": {"port:leaf1/eth12"}, "n1": {"node:n1", "gpu:n1/0"}, "gpu:": {"gpu:n1/0"}, "nowhere": {},
	} {
		found := s.census.Find(text, 10)
		if len(found) != len(want) {
			t.Errorf("%s: %v, want %v", text, found, want)
			continue
		}
		for i := range want {
			if found[i].String() != want[i] {
				t.Errorf("%s: %v, want %v", text, found, want)
			}
		}
	}
	if found := s.census.Find("eth", 1); len(found) != 1 {
		t.Errorf("a limit of 1: %v", found)
	}
}
