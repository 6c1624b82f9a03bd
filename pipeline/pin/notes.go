package pin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// listen follows the bucket of notes.
func (k *keeper) listen(ctx context.Context) error {
	kv, err := k.c.Bus.KeyValue(ctx, bus.Notes)
	if err != nil {
		return err
	}
	w, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	return bus.Watch(ctx, w, nil, k.opinion)
}

// opinion takes an entry of the bucket.
func (k *keeper) opinion(e jetstream.KeyValueEntry) {
	var x struct {
		Verdict *Opinion `json:"verdict"`
	}
	if e.Operation() == jetstream.KeyValuePut && json.Unmarshal(e.Value(), &x) != nil {
		return // the notes' owner has reported it already
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if x.Verdict == nil {
		x.Verdict = &Opinion{}
	}
	if len(k.opinions) < 2*maxKnown {
		k.opinions[e.Key()] = *x.Verdict
	}
	k.label(e.Key())
}

// label writes, changes or removes the label of an incident's trace.
func (k *keeper) label(id string) {
	in, o := k.known[id], k.opinions[id]
	path := File(k.c.Dir, id)
	if _, err := os.Stat(path); err != nil || in == nil {
		return
	}
	file := strings.TrimSuffix(path, filepath.Ext(path)) + ".truth.json"
	b := label(in, o)
	var err error
	if b == nil {
		if err = os.Remove(file); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	} else {
		// Whoever scores the folder meanwhile reads the label before or this one, never a part.
		if err = os.WriteFile(file+".part", b, 0o640); err == nil {
			err = os.Rename(file+".part", file)
		}
	}
	if err != nil {
		k.c.Logger.Warn("verdict not stored with the trace", "incident", id, "error", err)
	}
}
