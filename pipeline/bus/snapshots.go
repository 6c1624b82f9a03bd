package bus

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/telemetry"
)

// How many snapshots are kept: the newest two always, others up to both limits.
const (
	snapshotsKept      = 30
	snapshotsKeptLeast = 2
	snapshotsBytes     = 512 << 20
)

// SnapshotInfo says where a snapshot was taken and by what.
type SnapshotInfo struct {
	Position uint64         // of its tick in the log
	Tick     telemetry.Time // at which it was taken
	Engine   string         // version
	Rules    string         // digest
	Size     uint64         // bytes; set by Snapshots
}

// name is equal for snapshots that replace each other: by tick, engine, rules.
func (i SnapshotInfo) name() string {
	h := sha256.Sum256([]byte(i.Engine + "\x00" + i.Rules))
	return fmt.Sprintf("%020d-%s", int64(i.Tick), hex.EncodeToString(h[:6]))
}

func (i SnapshotInfo) meta() jetstream.ObjectMeta {
	return jetstream.ObjectMeta{Name: i.name(), Metadata: map[string]string{
		"position": strconv.FormatUint(i.Position, 10), "tick": strconv.FormatInt(int64(i.Tick), 10),
		"engine": i.Engine, "rules": i.Rules,
	}}
}

func snapshotInfo(o *jetstream.ObjectInfo) (i SnapshotInfo, err error) {
	i = SnapshotInfo{Engine: o.Metadata["engine"], Rules: o.Metadata["rules"], Size: o.Size}
	if i.Position, err = strconv.ParseUint(o.Metadata["position"], 10, 64); err != nil {
		return SnapshotInfo{}, fmt.Errorf("snapshot %s: position: %w", o.Name, err)
	}
	tick, err := strconv.ParseInt(o.Metadata["tick"], 10, 64)
	if err != nil {
		return SnapshotInfo{}, fmt.Errorf("snapshot %s: tick: %w", o.Name, err)
	}
	i.Tick = telemetry.Time(tick)
	return i, nil
}

// PutSnapshot keeps a snapshot, unless one of that tick, engine and rules is
// kept already, and removes the oldest beyond the limits.
func (b *Bus) PutSnapshot(ctx context.Context, info SnapshotInfo, data []byte) error {
	err := b.persist(ctx, func(ctx context.Context) error {
		store, err := b.js.ObjectStore(ctx, b.names.Bucket(Snapshots))
		if err != nil {
			return err
		}
		if _, err := store.GetInfo(ctx, info.name()); err == nil {
			return nil
		} else if !errors.Is(err, jetstream.ErrObjectNotFound) {
			return err
		}
		if _, err := store.Put(ctx, info.meta(), bytes.NewReader(data)); err != nil {
			return err
		}
		return b.prune(ctx, store)
	})
	if err != nil {
		return fmt.Errorf("bus: put snapshot of %s: %w", info.Tick, err)
	}
	return nil
}

// prune removes the oldest snapshots beyond the limits.
func (b *Bus) prune(ctx context.Context, store jetstream.ObjectStore) error {
	infos, err := b.list(ctx, store)
	if err != nil {
		return err
	}
	var size uint64
	for n, i := range infos {
		size += i.Size
		if n < snapshotsKeptLeast || n < snapshotsKept && size <= snapshotsBytes {
			continue
		}
		if err := store.Delete(ctx, i.name()); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return err
		}
	}
	return nil
}

// list returns what is kept, the newest first.
func (b *Bus) list(ctx context.Context, store jetstream.ObjectStore) ([]SnapshotInfo, error) {
	objects, err := store.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []SnapshotInfo
	for _, o := range objects {
		i, err := snapshotInfo(o)
		if err != nil {
			b.cfg.Logger.Warn("a snapshot that cannot be used", "error", err)
			continue
		}
		out = append(out, i)
	}
	slices.SortFunc(out, func(x, y SnapshotInfo) int {
		return cmp.Or(cmp.Compare(y.Tick, x.Tick), cmp.Compare(y.Position, x.Position), cmp.Compare(x.name(), y.name()))
	})
	return out, nil
}

// Snapshots lists the snapshots kept, the newest first.
func (b *Bus) Snapshots(ctx context.Context) (infos []SnapshotInfo, err error) {
	err = b.persist(ctx, func(ctx context.Context) error {
		store, err := b.js.ObjectStore(ctx, b.names.Bucket(Snapshots))
		if err != nil {
			return err
		}
		infos, err = b.list(ctx, store)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: list snapshots: %w", err)
	}
	return infos, nil
}

// Snapshot returns a snapshot's bytes; ErrNotHeld if it is not kept any more.
func (b *Bus) Snapshot(ctx context.Context, info SnapshotInfo) (data []byte, err error) {
	err = b.persist(ctx, func(ctx context.Context) error {
		store, err := b.js.ObjectStore(ctx, b.names.Bucket(Snapshots))
		if err != nil {
			return err
		}
		data, err = store.GetBytes(ctx, info.name())
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return ErrNotHeld
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: get snapshot of %s: %w", info.Tick, err)
	}
	return data, nil
}
