package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/quintet-dc/quintet/settings"
)

// positionEvery is how often the position is written; later entries are read again
// after a crash.
const positionEvery = 10 * time.Second

// maxPlace bounds the file of the position, in bytes.
const maxPlace = 256

// place is how far the log has been read into the history.
type place struct {
	Position uint64 `json:"position"` // everything up to this entry is in the database
}

func placePath(dir string) string { return filepath.Join(dir, "position.json") }

// readPlace reads the place; where there is none, it is the log's beginning.
func readPlace(dir string) (p place, err error) {
	b, err := settings.ReadFile(placePath(dir), maxPlace)
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, nil
	}
	if err != nil {
		return place{}, fmt.Errorf("position: %w", err)
	}
	return parsePlace(b)
}

// parsePlace reads the output of write. Anything else is an error: a wrong place
// would leave a hole in the history.
func parsePlace(b []byte) (p place, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return place{}, fmt.Errorf("position: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return place{}, errors.New("position: data after the end")
	}
	return p, nil
}

// write puts the place down, whole or not at all, also where the power is cut.
func (p place) write(dir string) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return settings.WriteFile(placePath(dir), append(b, '\n'))
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
