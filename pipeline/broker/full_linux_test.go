package broker_test

import (
	"context"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestAWriteThatFails has the disk take no more, as far as this process goes: the
// server does not come back from that by itself, and says so.
func TestAWriteThatFails(t *testing.T) {
	s := start(t, broker.Config{})
	b := connect(t, s, broker.All)
	if err := b.Create(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	limitFiles(t, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_ = b.Append(ctx, "", &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: 1e18}})
	}()
	defer stop()
	for until := within(t, 10*time.Second); ; {
		err := s.Health()
		if err != nil {
			if !strings.Contains(err.Error(), "quintet-lab-log") {
				t.Errorf("the stream is not named: %v", err)
			}
			return
		}
		select {
		case <-until.Done():
			t.Fatal("a log that takes nothing is called healthy")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// limitFiles bounds the files that this process may write, until the test ends.
func limitFiles(t *testing.T, bytes uint64) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Error(err)
		}
	})
}
