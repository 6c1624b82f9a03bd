package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/telemetry"
)

// Metadata of a stream of revisions.
const (
	// signedAfterKey holds the sequence up to which entries need no signature: they
	// were stored by an earlier version.
	signedAfterKey = "quintet-signed-after"
	// removedKey lists the sequences of removed foreign entries.
	removedKey = "quintet-removed"
)

// maxRemoved bounds the sequences in removedKey.
const maxRemoved = 4096

// Foreign is an entry in a stream of revisions that was not signed by a process of
// the site that may write there. Nothing reads it as a revision.
type Foreign struct {
	Sequence uint64
	Stored   telemetry.Time
	Subject  string
	Data     []byte
	Reason   string
	Damaged  bool // it was written by one who may, and its content has changed since
}

// signedMark is the record of signatures in a stream's metadata. The zero value
// means that entries are not signed.
type signedMark struct {
	signed  bool
	after   uint64          // entries behind it must be signed
	removed map[uint64]bool // foreign entries that somebody removed
}

// mark reads the stream's metadata.
func (v *Revisions) mark(ctx context.Context) (signedMark, error) {
	if v.bus.signer == nil {
		return signedMark{}, nil
	}
	v.bus.mu.Lock()
	known, ok := v.bus.marks[v.stream]
	v.bus.mu.Unlock()
	if ok {
		return known, nil
	}
	s, err := v.bus.js.Stream(ctx, v.stream)
	if err != nil {
		return signedMark{}, err
	}
	m, err := parseMark(s.CachedInfo().Config.Metadata)
	if err != nil {
		return signedMark{}, fmt.Errorf("stream %s: %w", v.stream, err)
	}
	if m.signed { // it stays so; what is removed is read at each start of a reader
		v.bus.mu.Lock()
		v.bus.marks[v.stream] = m
		v.bus.mu.Unlock()
	}
	return m, nil
}

// markFor is mark, read again, for as long as it takes.
func (v *Revisions) markFor(ctx context.Context) (m signedMark, err error) {
	v.bus.mu.Lock()
	delete(v.bus.marks, v.stream)
	v.bus.mu.Unlock()
	err = v.bus.persist(ctx, v.stream, func(ctx context.Context) error {
		m, err = v.mark(ctx)
		return err
	})
	if err != nil {
		return signedMark{}, fmt.Errorf("bus: follow %s: %w", v.token, err)
	}
	return m, nil
}

func parseMark(metadata map[string]string) (m signedMark, err error) {
	text, ok := metadata[signedAfterKey]
	if !ok {
		return signedMark{}, nil
	}
	m.signed, m.removed = true, map[uint64]bool{}
	if m.after, err = strconv.ParseUint(text, 10, 64); err != nil {
		return signedMark{}, fmt.Errorf("metadata %s: %w", signedAfterKey, err)
	}
	for one := range strings.SplitSeq(metadata[removedKey], ",") {
		if one == "" {
			continue
		}
		n, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			return signedMark{}, fmt.Errorf("metadata %s: %w", removedKey, err)
		}
		m.removed[n] = true
	}
	return m, nil
}

// foreign returns why an entry was not written, as it is, by a process of the site
// with permission; nil if it was.
func (v *Revisions) foreign(d delivery, mark signedMark) error {
	if !mark.signed || d.position <= mark.after {
		return whole(d)
	}
	err := v.bus.signer.verify(v.tag, d.subject, d.header, d.data)
	if err == nil || errors.Is(err, errSignature) {
		return cmp.Or(whole(d), err)
	}
	return err
}

// revisionsMetadata returns the metadata of a stream of revisions that is made or
// adjusted: what is there stays, and where nothing is, entries are signed from here
// on.
func (b *Bus) revisionsMetadata(ctx context.Context, stream string) (map[string]string, error) {
	s, err := b.js.Stream(ctx, stream)
	var last uint64
	metadata := map[string]string{}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
	case err != nil:
		return nil, err
	default:
		last = s.CachedInfo().State.LastSeq
		for key, value := range s.CachedInfo().Config.Metadata {
			if strings.HasPrefix(key, "quintet-") {
				metadata[key] = value
			}
		}
	}
	if _, ok := metadata[signedAfterKey]; !ok && b.signer != nil {
		metadata[signedAfterKey] = strconv.FormatUint(last, 10)
	}
	return metadata, nil
}

// Foreign lists the foreign entries that the stream holds and that were not
// removed.
func (v *Revisions) Foreign(ctx context.Context) (out []Foreign, err error) {
	err = v.read(ctx, 0, true, func(Revision) error { return nil }, func(f Foreign) error {
		out = append(out, f)
		return nil
	})
	return out, err
}

// Remove removes foreign entries from what readers report. The stream denies
// deletion, so their bytes remain until they are as old as the stream keeps.
func (v *Revisions) Remove(ctx context.Context, sequences []uint64) error {
	err := v.bus.persist(ctx, v.stream, func(ctx context.Context) error {
		s, err := v.bus.js.Stream(ctx, v.stream)
		if err != nil {
			return err
		}
		cfg := s.CachedInfo().Config
		m, err := parseMark(cfg.Metadata)
		if err != nil {
			return err
		}
		first := s.CachedInfo().State.FirstSeq
		for _, n := range sequences {
			m.removed[n] = true
		}
		var kept []string
		for _, n := range slices.Sorted(maps.Keys(m.removed)) {
			if n >= first {
				kept = append(kept, strconv.FormatUint(n, 10))
			}
		}
		if len(kept) > maxRemoved {
			return fmt.Errorf("%d entries, at most %d", len(kept), maxRemoved)
		}
		cfg.Metadata[removedKey] = strings.Join(kept, ",")
		_, err = v.bus.js.UpdateStream(ctx, cfg)
		return err
	})
	if err != nil {
		return fmt.Errorf("bus: remove foreign entries of %s: %w", v.token, err)
	}
	return nil
}
