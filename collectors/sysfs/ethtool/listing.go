package ethtool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxListing bounds a recorded listing's file.
const maxListing = 4 << 20

// Listing is what "ethtool -S" prints, in its order.
type Listing struct {
	Names     []string
	Words     []uint64
	Malformed []int // places whose value is no number of 64 bits
}

// parse reads what "ethtool -S" prints: a line "NIC statistics:", then "name: value" on
// each. Text before that line is skipped, because recordings often begin with the
// command. A name may contain blanks and colons. It reuses l's slices.
func (l *Listing) parse(text []byte) error {
	l.Names, l.Words, l.Malformed = l.Names[:0], l.Words[:0], l.Malformed[:0]
	begun := false
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		switch {
		case !begun:
			begun = bytes.Equal(line, []byte("NIC statistics:"))
		case len(line) == 0:
		case len(l.Names) == MaxNames:
			return fmt.Errorf("line %d: more than %d statistics: %w", n, MaxNames, ErrListing)
		default:
			if err := l.line(line); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	if !begun {
		return fmt.Errorf("no line %q: %w", "NIC statistics:", ErrListing)
	}
	return nil
}

func (l *Listing) line(line []byte) error {
	i := bytes.LastIndexByte(line, ':')
	if i < 0 {
		return fmt.Errorf("%.60q has no value: %w", line, ErrListing)
	}
	v, err := strconv.ParseUint(string(bytes.TrimSpace(line[i+1:])), 10, 64)
	if err != nil {
		v, l.Malformed = 0, append(l.Malformed, len(l.Words))
	}
	l.Names = append(l.Names, string(bytes.TrimSpace(line[:i])))
	l.Words = append(l.Words, v)
	return nil
}

// find returns the file of an interface's listing.
func (s *Source) find(name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return "", ErrGone
	}
	for _, form := range []string{name + "/statistics", name + ".txt", "ethtool_S_" + name + ".txt", name} {
		file := filepath.Join(s.dir, form)
		info, err := os.Stat(file)
		if err == nil && info.Mode().IsRegular() {
			return file, nil
		}
	}
	if _, err := os.Stat(s.dir); err != nil {
		return "", err
	}
	return "", ErrGone
}

// parse reads the interface's file.
func (i *Interface) parse() error {
	f, err := os.Open(i.file)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	defer f.Close()
	buf := bytes.NewBuffer(i.text[:0])
	n, err := buf.ReadFrom(io.LimitReader(f, maxListing+1))
	i.text = buf.Bytes()
	switch {
	case err != nil:
		return err
	case n > maxListing:
		return fmt.Errorf("%s: more than %d bytes: %w", i.file, maxListing, ErrListing)
	}
	if err := i.parsed.parse(i.text); err != nil {
		return fmt.Errorf("%s: %w", i.file, err)
	}
	return nil
}
