package collect

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/config"
)

// TestRenewed: a process reconnects when its NATS credentials have changed, not
// when their file is gone, and never where the log is its own.
func TestRenewed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n012.creds")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	file := &config.File{NATS: config.NATS{CredentialsFile: path}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan bool, 1)
	go func() { done <- Renewed(ctx, file, time.Millisecond) }()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write("first")
	for n := 0; ; n++ { // the first content may be read only now
		write("second"[:1+n%6])
		select {
		case again := <-done:
			if !again {
				t.Error("the new credentials are not seen")
			}
		case <-time.After(time.Millisecond):
			continue
		}
		break
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if Renewed(over, file, time.Millisecond) || Renewed(over, &config.File{NATS: config.NATS{Embedded: true}}, time.Millisecond) {
		t.Error("renewed without a change")
	}
}
