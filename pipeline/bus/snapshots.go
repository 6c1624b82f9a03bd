package bus

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/telemetry"
)

// How many snapshots are kept: the newest two always, others up to both limits.
const (
	snapshotsKeptLeast = 2
	snapshotsKept      = 30
	snapshotsBytes     = 512 << 20
	snapshotChunk      = 128 << 10
	snapshotTimeout    = 2 * time.Minute
	abandonedAfter     = 10 * time.Minute // a piece without a whole
)

// SnapshotInfo is where a snapshot was taken and by what.
type SnapshotInfo struct {
	Position uint64         // of its tick in the log
	Tick     telemetry.Time // at which it was taken
	Engine   string         // version
	Rules    string         // digest
	Size     uint64         // bytes; set by Snapshots
}

// name is equal for snapshots of one tick, engine and rules.
func (i SnapshotInfo) name() string {
	h := sha256.Sum256([]byte(i.Engine + "\x00" + i.Rules))
	return fmt.Sprintf("%020d-%s", int64(i.Tick), hex.EncodeToString(h[:6]))
}

// Snapshots are objects of an object store, in the form that NATS gives those:
// chunks under one subject, then a description under another. We write and read
// them ourselves, because the window is bounded in bytes, a chunk that is sent
// twice is stored once, and what is removed leaves nothing behind.

func (b *Bus) chunks(id string) string { return "$O." + b.names.Bucket(Snapshots) + ".C." + id }

func (b *Bus) description(name string) string {
	return "$O." + b.names.Bucket(Snapshots) + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

func (b *Bus) objects() string { return "OBJ_" + b.names.Bucket(Snapshots) }

func (i SnapshotInfo) object(bucket, id string, data []byte) jetstream.ObjectInfo {
	h := sha256.New()
	h.Write(data)
	return jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: i.name(), Opts: &jetstream.ObjectMetaOptions{ChunkSize: snapshotChunk},
			Metadata: map[string]string{
				"position": strconv.FormatUint(i.Position, 10), "tick": strconv.FormatInt(int64(i.Tick), 10), "engine": i.Engine, "rules": i.Rules,
			}},
		Bucket: bucket, NUID: id, Size: uint64(len(data)), Chunks: uint32((len(data) + snapshotChunk - 1) / snapshotChunk),
		Digest: jetstream.GetObjectDigestValue(h),
	}
}

// parseSnapshot reads an object's description.
func parseSnapshot(text []byte) (i SnapshotInfo, o jetstream.ObjectInfo, err error) {
	if err := json.Unmarshal(text, &o); err != nil {
		return SnapshotInfo{}, o, fmt.Errorf("snapshot: %w", err)
	}
	i = SnapshotInfo{Engine: o.Metadata["engine"], Rules: o.Metadata["rules"], Size: o.Size}
	if i.Position, err = strconv.ParseUint(o.Metadata["position"], 10, 64); err != nil {
		return SnapshotInfo{}, o, fmt.Errorf("snapshot %.60q: position: %w", o.Name, err)
	}
	tick, err := strconv.ParseInt(o.Metadata["tick"], 10, 64)
	if err != nil {
		return SnapshotInfo{}, o, fmt.Errorf("snapshot %.60q: tick: %w", o.Name, err)
	}
	i.Tick = telemetry.Time(tick)
	if o.Name != i.name() || o.NUID == "" || strings.ContainsAny(o.NUID, ".*> \t\r\n") {
		return SnapshotInfo{}, o, fmt.Errorf("snapshot %.60q: does not fit its description", o.Name)
	}
	return i, o, nil
}

// kept is one snapshot with where its chunks are.
type kept struct {
	SnapshotInfo
	id string
}

// PutSnapshot keeps a snapshot, unless one of that tick, engine and rules is
// kept already, and removes the oldest beyond the limits: thirty, and 512 MiB of
// them, but never the newest two. It tries until ctx is done.
func (b *Bus) PutSnapshot(ctx context.Context, info SnapshotInfo, data []byte) error {
	err := b.persistFor(ctx, snapshotTimeout, b.objects(), func(ctx context.Context) error {
		all, err := b.list(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(k kept) bool { return k.name() == info.name() }) {
			return nil
		}
		if err := b.putObject(ctx, info, data); err != nil {
			return err
		}
		return b.prune(ctx)
	})
	if err != nil {
		return fmt.Errorf("bus: put snapshot of %s: %w", info.Tick, err)
	}
	return nil
}

func (b *Bus) putObject(ctx context.Context, info SnapshotInfo, data []byte) error {
	id := strings.TrimPrefix(nats.NewInbox(), nats.InboxPrefix)
	var pieces []Message
	for piece := range slices.Chunk(data, snapshotChunk) {
		pieces = append(pieces, Message{Subject: b.chunks(id), ID: id + "/" + strconv.Itoa(len(pieces)), Data: piece})
	}
	if _, err := b.pub.send(ctx, pieces); err != nil {
		// A chunk that is sent again would be stored behind its successors.
		return errors.Join(err, b.purge(ctx, b.chunks(id)))
	}
	text, err := json.Marshal(info.object(b.names.Bucket(Snapshots), id, data))
	if err != nil {
		return err
	}
	_, err = b.js.Publish(ctx, b.description(info.name()), text, jetstream.WithExpectLastSequencePerSubject(0))
	if Outrun(err) {
		return b.purge(ctx, b.chunks(id)) // another replica was faster
	}
	return err
}

func (b *Bus) purge(ctx context.Context, subject string) error {
	s, err := b.js.Stream(ctx, b.objects())
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// prune removes the oldest snapshots beyond the limits and the remains of attempts
// that never ended.
func (b *Bus) prune(ctx context.Context) error {
	all, err := b.list(ctx)
	if err != nil {
		return err
	}
	size, live := uint64(0), map[string]bool{}
	for n, k := range all {
		size += k.Size
		if n < snapshotsKeptLeast || n < snapshotsKept && size <= snapshotsBytes {
			live[b.chunks(k.id)] = true
			continue
		}
		if err := b.purge(ctx, b.description(k.name())); err != nil {
			return err
		}
		if err := b.purge(ctx, b.chunks(k.id)); err != nil {
			return err
		}
	}
	return b.sweep(ctx, live)
}

// sweep removes chunks of no snapshot, which a process leaves that is killed
// while it puts one.
func (b *Bus) sweep(ctx context.Context, live map[string]bool) error {
	s, err := b.js.Stream(ctx, b.objects())
	if err != nil {
		return err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(b.chunks("*")))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if live[subject] {
			continue
		}
		m, err := s.GetLastMsgForSubject(ctx, subject)
		if err == nil && info.State.LastTime.Sub(m.Time) > abandonedAfter {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
		}
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return err
		}
	}
	return nil
}

// list returns the kept snapshots, the newest first.
func (b *Bus) list(ctx context.Context) ([]kept, error) {
	if _, err := b.js.Stream(ctx, b.objects()); err != nil {
		return nil, err
	}
	var out []kept
	r := reader{bus: b, stream: b.objects(), filters: []string{"$O." + b.names.Bucket(Snapshots) + ".M.>"}, lenient: true, finite: true}
	r.fn = func(d delivery) error {
		i, o, err := parseSnapshot(d.data)
		if err != nil {
			b.count.malformed.Inc()
			b.cfg.Logger.Warn("a snapshot that cannot be used", "error", err)
		} else if !o.Deleted {
			out = append(out, kept{i, o.NUID})
		}
		return nil
	}
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(x, y kept) int {
		return cmp.Or(cmp.Compare(y.Tick, x.Tick), cmp.Compare(y.Position, x.Position), cmp.Compare(x.name(), y.name()))
	})
	return out, nil
}

// Snapshots lists the snapshots kept, the newest first.
func (b *Bus) Snapshots(ctx context.Context) (infos []SnapshotInfo, err error) {
	err = b.persist(ctx, b.objects(), func(ctx context.Context) error {
		all, err := b.list(ctx)
		infos = infos[:0]
		for _, k := range all {
			infos = append(infos, k.SnapshotInfo)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: list snapshots: %w", err)
	}
	return infos, nil
}

// Snapshot returns a snapshot's bytes; ErrNotRetained if it is not kept any more,
// ErrDamaged if they are not those that were put.
func (b *Bus) Snapshot(ctx context.Context, info SnapshotInfo) (data []byte, err error) {
	err = b.persistFor(ctx, snapshotTimeout, b.objects(), func(ctx context.Context) error {
		s, err := b.js.Stream(ctx, b.objects())
		if err != nil {
			return err
		}
		m, err := s.GetLastMsgForSubject(ctx, b.description(info.name()))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return ErrNotRetained
		}
		if err != nil {
			return err
		}
		_, o, err := parseSnapshot(m.Data)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		data, err = b.getObject(ctx, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: get snapshot of %s: %w", info.Tick, err)
	}
	return data, nil
}

func (b *Bus) getObject(ctx context.Context, o jetstream.ObjectInfo) ([]byte, error) {
	var out bytes.Buffer
	h := sha256.New()
	r := reader{bus: b, stream: b.objects(), filters: []string{b.chunks(o.NUID)}, lenient: true, finite: true}
	r.fn = func(d delivery) error {
		if uint64(out.Len()+len(d.data)) > o.Size {
			return fmt.Errorf("snapshot %s: %w: longer than its stated size of %d bytes", o.Name, ErrDamaged, o.Size)
		}
		h.Write(d.data)
		out.Write(d.data)
		return nil
	}
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	if uint64(out.Len()) != o.Size || jetstream.GetObjectDigestValue(h) != o.Digest {
		return nil, fmt.Errorf("snapshot %s: %w: %d of %d bytes, or not those that were put", o.Name, ErrDamaged, out.Len(), o.Size)
	}
	return out.Bytes(), nil
}
