package live

import (
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestDevicesAnswerAtOnce: after New every kind of device has a reading, and
// after a fault that kind's readings move.
func TestDevicesAnswerAtOnce(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s, err := New(16, 3, now)
	if err != nil {
		t.Fatal(err)
	}
	b := s.Board()
	for _, k := range []telemetry.Kind{telemetry.GPU, telemetry.NIC, telemetry.Port, telemetry.Node, telemetry.Rack, telemetry.CDU, telemetry.PSU, telemetry.Job} {
		xs := b.Entities(k)
		if len(xs) == 0 {
			t.Errorf("no %s", k)
			continue
		}
		read := 0
		for _, x := range xs {
			read += len(b.Metrics(x))
		}
		if read == 0 {
			t.Errorf("%d of %s, and nothing is read of them", len(xs), k)
		}
	}
	if at := b.Now(); at != telemetry.Time(now.UnixNano()) {
		t.Errorf("it is %v on the board, want %v", at, now)
	}
	gpu := b.Entities(telemetry.GPU)[0]
	before, ok := b.Read(gpu, "gpu_sm_clock_hertz")
	if !ok {
		t.Fatal("no clock")
	}
	if _, err := s.Strike("gpu-slow", gpu, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(now.Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	after, _ := b.Read(gpu, "gpu_sm_clock_hertz")
	if after.Float() > 0.9*before.Float() {
		t.Errorf("a slow GPU runs at %g Hz, %g before", after.Float(), before.Float())
	}
	if got := s.Struck(); len(got) != 1 || got[0].Entity != gpu {
		t.Errorf("struck: %+v", got)
	}
	if _, err := s.Strike("gremlins", gpu, time.Minute); err == nil {
		t.Error("gremlins struck")
	}
}

// TestStrikeHasASeverity: a fault that is injected without a severity has one, also
// where its kind has no loud one.
func TestStrikeHasASeverity(t *testing.T) {
	s, err := New(64, 1, time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	struck := 0
	for _, k := range fault.Kinds() {
		places := s.Places(k.Name)
		if len(places) == 0 {
			continue
		}
		f, err := s.Strike(k.Name, places[0], time.Minute)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		struck++
		if f.Severity <= 0 {
			t.Errorf("%s: severity %g: it would change nothing", k.Name, f.Severity)
		}
	}
	if struck < 30 {
		t.Errorf("%d kinds of faults were injected, want most of them", struck)
	}
}
