package ibdiag

import (
	"bytes"
	"strconv"
	"strings"
)

// Set is which attribute of performance management a block of counters is.
type Set uint8

// The sets.
const (
	Basic    Set = iota + 1 // PortCounters: narrow, and stick at their maximum
	Extended                // PortCountersExtended: 64 bits
	Other                   // details of one kind or another
)

// Counters are what perfquery printed of one port.
type Counters struct {
	Set  Set
	Name string // "Port extended counters"
	LID  uint16
	Port int
	// Fields are the counters as they are called, in the order they came.
	Fields []Field
}

// Field is one counter.
type Field struct {
	Name  []byte // part of the text that was read
	Value uint64
}

// ParseCounters reads what perfquery prints, one block or many, and hands each to
// take; the block and its fields are the parser's again when take returns. Lines
// that mean nothing are faults, and the rest is kept. The error reports why there
// is no block at all.
func ParseCounters(text []byte, take func(*Counters)) (*Faults, error) {
	faults, blocks := &Faults{}, 0
	var c Counters
	open := false
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case line[0] == '#':
			if open {
				take(&c)
			}
			if open = c.title(line); !open {
				faults.add(number, "%.60q: want counters of a lid and a port", line)
				continue
			}
			blocks++
		case !open:
			faults.add(number, "%.60q: a counter of no port", line)
		default:
			f, ok := field(line)
			switch {
			case !ok:
				faults.add(number, "%.60q: want a name and a number", line)
			case len(c.Fields) == maxFields:
				faults.add(number, "%.60q: more than %d counters of a port", line, maxFields)
			default:
				c.Fields = append(c.Fields, f)
			}
		}
	}
	if open {
		take(&c)
	}
	if blocks == 0 {
		return faults, another(text, "counters of ports (perfquery)")
	}
	return faults, nil
}

// maxFields bounds a block; perfquery's longest has some 60.
const maxFields = 256

// title reads: # Port extended counters: Lid 1719 port 1 (CapMask: …).
func (c *Counters) title(line []byte) bool {
	*c = Counters{Fields: c.Fields[:0]}
	name, rest, ok := strings.Cut(strings.TrimSpace(string(line[1:])), ":")
	words := strings.Fields(rest)
	if !ok || len(words) < 4 || words[0] != "Lid" || words[2] != "port" {
		return false
	}
	lid, err := strconv.ParseUint(words[1], 0, 16)
	port, err2 := strconv.ParseUint(words[3], 0, 8)
	if err != nil || err2 != nil {
		return false
	}
	c.Name, c.LID, c.Port = name, uint16(lid), int(port)
	switch name {
	case "Port counters":
		c.Set = Basic
	case "Port extended counters":
		c.Set = Extended
	default:
		c.Set = Other
	}
	return true
}

// field reads: PortXmitData:....................36298026860928. Masks are in
// hexadecimal.
func field(line []byte) (f Field, ok bool) {
	i := bytes.IndexByte(line, ':')
	if i <= 0 {
		return f, false
	}
	f.Name = line[:i]
	digits := bytes.TrimLeft(line[i+1:], ". \t")
	base := 10
	if hex, isHex := bytes.CutPrefix(digits, []byte("0x")); isHex {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(string(digits), base, 64)
	f.Value = n
	return f, err == nil
}
