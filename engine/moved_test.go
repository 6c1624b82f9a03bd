package engine_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
)

// A moved snapshot differs in its position and in nothing else, and continues as
// the one from which it was made.
func TestI4AMovedSnapshotIsTheSameState(t *testing.T) {
	rec, err := enginetest.Open(bundleDir("slownic-2"))
	if err != nil {
		t.Fatal(err)
	}
	n := len(rec.Log) / 2
	played, err := enginetest.Play(rec.Log[:n], 1)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := played.Runner.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	was, _ := played.Runner.Position()
	moved, said, err := engine.Moved(snapshot, was+1000)
	if err != nil {
		t.Fatal(err)
	}
	if said.Tick != played.Runner.Tick() {
		t.Errorf("it is of %v, want %v", said.Tick, played.Runner.Tick())
	}
	back, _, err := engine.Moved(moved, was)
	if err != nil || !bytes.Equal(back, snapshot) {
		t.Errorf("moved there and back it is another (%v)", err)
	}
	runner, err := enginetest.NewRunner(1)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := runner.Restore(moved); err != nil || at != was+1000 {
		t.Fatalf("restored at %d: %v", at, err)
	}
	again, err := runner.Snapshot()
	if err != nil || !bytes.Equal(again, moved) {
		t.Errorf("its own snapshot is another (%v)", err)
	}
	moved[len(moved)/2] ^= 1
	if _, _, err := engine.Moved(moved, 1); !errors.Is(err, engine.ErrSnapshotDamaged) {
		t.Errorf("a damaged one: %v", err)
	}
}
