package broker_test

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/telemetry"
)

// fullDisk marks this process as the one with the full disk.
const fullDisk = "QUINTET_TEST_FULL_DISK"

// TestAWriteThatFails limits the file size of this process, so that the disk is
// full for it: the server does not recover from that by itself, and reports it. The
// limit applies to everything that a process writes, the test's own output
// included: the test runs in a process of its own.
func TestAWriteThatFails(t *testing.T) {
	if os.Getenv(fullDisk) == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAWriteThatFails$", "-test.count=1")
		child.Env = append(os.Environ(), fullDisk+"=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
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
