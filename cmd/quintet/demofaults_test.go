package main

import (
	"strings"
	"testing"
	"time"
)

// TestInjector lists what the site has a place for, injects one of them, and refuses
// what is none.
func TestInjector(t *testing.T) {
	w, err := newWiredSite(16, 3, "slurm", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var reported []struckFault
	faults := &injector{site: w.site, lasts: time.Minute, report: func(s struckFault) { reported = append(reported, s) }}
	if list := faults.Kinds(); len(list) < 30 {
		t.Errorf("%d faults", len(list))
	}
	f, err := faults.Inject("gpu-slow@gpu:n0001/4")
	if err != nil || f.Fault != "gpu-slow" || f.Entity.Name != "n0001/4" || f.Until.Sub(f.At) != time.Minute {
		t.Errorf("%+v, %v", f, err)
	}
	if len(reported) != 1 || reported[0].fault.Entity != f.Entity {
		t.Errorf("reported: %+v", reported)
	}
	for wanted, reason := range map[string]string{"gpu-slo": `did you mean "gpu-slow"`, "gpu-slow@gpu:nowhere/1": "nowhere"} {
		if _, err := faults.Inject(wanted); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", wanted, err)
		}
	}
}
