package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/settings"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	grantsFolder  = "grants" // below the data folder; one file for each process
	grantsSuffix  = ".json"
	grantsStated  = "grants.stated" // digest of what the log has
	lookAtGrants  = 2 * time.Second
	maxGrantBytes = 8 << 20
)

// WriteGrant writes a process's grant below the data folder of the process that
// holds the log, which puts it into force without a restart.
func WriteGrant(data string, g grants.Grant) error {
	if err := g.Validate(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	dir := filepath.Join(data, grantsFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	path := filepath.Join(dir, bus.Token(g.Process)+grantsSuffix)
	if err := settings.WriteFile(path, append(b, '\n')); err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	return nil
}

// AwaitGrants returns when the log has the grants below a data folder: until then who
// was enrolled last may state anything. It does not wait where no process holds the
// log, which states them when it starts.
func AwaitGrants(ctx context.Context, data string) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		stated, err := os.ReadFile(filepath.Join(data, grantsStated))
		if err != nil || !broker.Locked(data) {
			return nil
		}
		g, _, err := readGrants(data)
		if err != nil {
			return err
		}
		c, err := g.Config(0)
		if err != nil {
			return err
		}
		if string(stated) == grantsDigest(c.Content) {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("grants: the log does not have them yet: %w", context.Cause(ctx))
		}
	}
}

func grantsDigest(content []byte) string { return fmt.Sprintf("%x\n", sha256.Sum256(content)) }

// noteStated writes down what the log has.
func (s *service) noteStated(content []byte) error {
	return os.WriteFile(filepath.Join(s.c.File.Data, grantsStated), []byte(grantsDigest(content)), 0o600)
}

// readGrants reads the grants below a data folder; ok is false where there are none.
func readGrants(data string) (g grants.Grants, ok bool, err error) {
	dir := filepath.Join(data, grantsFolder)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return g, false, nil
	}
	if err != nil {
		return g, false, fmt.Errorf("grants: %w", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), grantsSuffix) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return g, false, fmt.Errorf("grants: %w", err)
		}
		var one grants.Grant
		d := json.NewDecoder(bytes.NewReader(b[:min(len(b), maxGrantBytes)]))
		d.DisallowUnknownFields()
		if err := d.Decode(&one); err != nil {
			return g, false, fmt.Errorf("grants: %s: %w", e.Name(), err)
		}
		if err := one.Validate(); err != nil {
			return g, false, fmt.Errorf("grants: %s: %w", e.Name(), err)
		}
		g.Processes = append(g.Processes, one)
	}
	return g, len(g.Processes) > 0, nil
}

// stateGrants states what each process may state, when it changes and every five
// minutes, until ctx is done.
func (s *service) stateGrants(ctx context.Context) error {
	look := time.NewTicker(lookAtGrants)
	defer look.Stop()
	var stated []byte
	var at, changed time.Time
	trouble := ""
	if err := s.noteStated(nil); err != nil {
		s.c.Logger.Error("enrolling does not wait until a grant is in force", "error", err)
	}
	for {
		info, err := os.Stat(filepath.Join(s.c.File.Data, grantsFolder))
		if due := time.Since(at) >= renewSite; err == nil && (due || !info.ModTime().Equal(changed)) {
			changed = info.ModTime()
			var content []byte
			if content, err = s.stateGrantsOnce(ctx, stated, due); err == nil {
				if !bytes.Equal(content, stated) || due {
					at = time.Now()
				}
				stated, trouble = content, ""
			} else if ctx.Err() == nil && err.Error() != trouble {
				trouble = err.Error()
				s.c.Logger.Error("what processes may state is as it was", "error", err)
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stateGrantsOnce states the grants if they differ from the last statement, or
// anyhow.
func (s *service) stateGrantsOnce(ctx context.Context, stated []byte, anyhow bool) ([]byte, error) {
	g, ok, err := readGrants(s.c.File.Data)
	if err != nil || !ok && stated == nil {
		return stated, err
	}
	c, err := g.Config(telemetry.Time(time.Now().UnixNano()))
	if err != nil {
		return stated, err
	}
	if !anyhow && bytes.Equal(c.Content, stated) {
		return stated, nil
	}
	if err := s.bus.Append(ctx, s.c.Process, &telemetry.Record{Kind: telemetry.ConfigRecord, Config: c}); err != nil {
		return stated, err
	}
	return c.Content, s.noteStated(c.Content)
}
