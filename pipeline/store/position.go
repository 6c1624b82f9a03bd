package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// positionEvery is how often the position is written down; what lies behind it
// is read again after a crash.
const positionEvery = 10 * time.Second

// place is how far the log has been read into the history.
type place struct {
	Position uint64 `json:"position"` // everything up to this entry is in the database
}

func placePath(dir string) string { return filepath.Join(dir, "position.json") }

// readPlace reads the place; where there is none, it is the log's beginning.
func readPlace(dir string) (p place, err error) {
	b, err := os.ReadFile(placePath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return place{}, fmt.Errorf("position: %w", err)
	}
	return p, nil
}

// write puts the place down, whole or not at all.
func (p place) write(dir string) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	path := placePath(dir)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// place is up to where everything is committed: nothing of it waits in a slot.
func (f *feed) place() place {
	at := f.taken
	for _, st := range f.live {
		if st.from != 0 {
			at = min(at, st.from-1)
		}
	}
	return place{Position: at}
}
