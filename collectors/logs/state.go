package logs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quintet-dc/quintet/settings"
)

// state is how far everything was read.
type state struct {
	Boot     string              `json:"boot,omitempty"`
	Sequence uint64              `json:"sequence,omitempty"`
	Numbers  bool                `json:"numbers,omitempty"`
	Files    map[string]position `json:"files,omitempty"`

	started time.Time // when the collector first ran; not kept in the file
	loaded  bool
}

// load reads a state file once. A missing file is no fault; one that cannot be read
// is reported, and reading starts over.
func (s *state) load(path string) error {
	if s.loaded {
		return nil
	}
	s.loaded = true
	s.Files = map[string]position{}
	if path == "" {
		return nil
	}
	b, err := settings.ReadFile(path, maxDocument)
	if os.IsNotExist(err) {
		return nil
	}
	var got state
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil {
		return fmt.Errorf("state %s: %w", path, err)
	}
	s.Boot, s.Sequence, s.Numbers = got.Boot, got.Sequence, got.Numbers
	for k, p := range got.Files {
		if p.Offset >= 0 && p.Of >= 0 && len(s.Files) < maxSources+1 {
			s.Files[k] = p
		}
	}
	return nil
}

// save writes it, whole or not at all.
func (s *state) save(path string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".logs-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if other := f.Close(); err == nil {
		err = other
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
