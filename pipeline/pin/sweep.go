package pin

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sweep keeps the traces of a folder below a number of bytes: the oldest without
// a label go first, then the oldest.
func sweep(dir string, most int64) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.qtrace"))
	if err != nil {
		return err
	}
	type kept struct {
		path    string
		size    int64
		age     int64 // of the last change, as a file's time
		labeled bool
	}
	var all []kept
	var total int64
	for _, f := range files {
		i, err := os.Stat(f)
		if err != nil {
			continue
		}
		_, err = os.Stat(strings.TrimSuffix(f, ".qtrace") + ".truth.json")
		all = append(all, kept{f, i.Size(), i.ModTime().UnixNano(), err == nil})
		total += i.Size()
	}
	slices.SortFunc(all, func(a, b kept) int {
		switch {
		case a.labeled != b.labeled && b.labeled:
			return -1
		case a.labeled != b.labeled:
			return 1
		case a.age < b.age:
			return -1
		}
		return 1
	})
	for _, k := range all {
		if total <= most {
			break
		}
		if err := os.Remove(k.path); err != nil {
			return err
		}
		os.Remove(strings.TrimSuffix(k.path, ".qtrace") + ".truth.json")
		total -= k.size
	}
	return nil
}
