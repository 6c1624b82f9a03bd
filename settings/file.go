package settings

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file that a configuration names. One of more than so many bytes is
// refused, and no more of it is read. Errors name the file.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s: more than %d bytes", path, most)
	}
	return b, err
}
