package settings

import (
	"fmt"
	"os"
)

// ReadFile reads a file that a configuration names. One of more than so many bytes is
// refused before it is read. Errors name the file.
func ReadFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s: %d bytes, at most %d", path, info.Size(), most)
	}
	return os.ReadFile(path)
}
