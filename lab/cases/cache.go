package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quintet-dc/quintet/lab/cases/baseline"
	"github.com/quintet-dc/quintet/replay/score"
)

// Outcome is what became of a case.
type Outcome struct {
	Case Case `json:"case"`
	// Dropped states why the case is not scored: physics does not allow it.
	Dropped  string  `json:"dropped,omitempty"`
	Severity float64 `json:"severity"` // that was found
	Loss     float64 `json:"loss"`     // of the most degraded job, a share of its step
	Stops    bool    `json:"stops"`    // a job stalled or failed
	// Cadence is that of the slowest source that reports the root, in seconds.
	Cadence   float64            `json:"cadence"`
	Score     score.Case         `json:"score"`
	Baselines []baseline.Ranking `json:"baselines,omitempty"`
	Seconds   float64            `json:"seconds"` // that it took
}

// Cache keeps outcomes in a directory, one file each. An empty directory name
// keeps nothing.
type Cache struct{ Dir string }

func (c Cache) path(key string) string { return filepath.Join(c.Dir, key[:2], key+".json") }

// get returns what is kept under a key, and whether there is anything. A file
// that cannot be read as one counts as nothing.
func (c Cache) get(key string, into any) bool {
	if c.Dir == "" {
		return false
	}
	b, err := os.ReadFile(c.path(key))
	return err == nil && json.Unmarshal(b, into) == nil
}

// put keeps something under a key, whole or not at all.
func (c Cache) put(key string, what any) error {
	if c.Dir == "" {
		return nil
	}
	b, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("cache %s: %w", key, err)
	}
	path := c.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if gone := os.Remove(f.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return fmt.Errorf("cache: %w", err)
	}
	return nil
}
