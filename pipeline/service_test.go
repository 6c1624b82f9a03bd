package pipeline

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/config"
)

// TestStoppedWhileItStarts stops a service that has only begun to open its log,
// as a second signal to reload does: that is no failure.
func TestStoppedWhileItStarts(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	file := config.Default()
	file.Data = filepath.Join(t.TempDir(), "data")
	if err := Run(ctx, Config{File: file, Roles: Roles{Store: true}, Process: "host"}); err != nil {
		t.Errorf("stopped while it started: %v", err)
	}
}
