package logs

import (
	"strconv"
	"strings"
	"time"
)

// maxLine is the longest line that is read whole; a longer one is cut, and counted.
// The kernel's longest record has 8 KiB.
const maxLine = 8 << 10

// line is one line of a log, decoded.
type line struct {
	at   time.Time // as stated; zero where nothing is
	host string    // who wrote it; "" where that is not stated
	app  string    // what wrote it: "kernel", "swss#orchagent"; "" unknown
	text string
	// Of the kernel's own records.
	record bool
	seq    uint64
	since  time.Duration // since boot
	part   bool          // the beginning of a line that goes on
	rest   bool          // what goes on
}

// Forms of a log.
const (
	formAuto   = "auto"   // found line by line
	formKmsg   = "kmsg"   // records of /dev/kmsg
	formSyslog = "syslog" // RFC 5424 and 3164, with or without a priority
)

// scope is the context that a line alone does not contain.
type scope struct {
	now  time.Time      // gives a year to what has none
	zone *time.Location // of times without one
}

// decode reads a line of a form. False where it is malformed. A text in no known
// form is a line of which only the text is known.
func (s scope) decode(form, raw string) (line, bool) {
	raw = strings.TrimRight(raw, "\r\n\x00")
	switch {
	case form == formKmsg:
		return decodeRecord(raw)
	case strings.HasPrefix(raw, "<"):
		return s.decodeSyslog(raw)
	case form == formSyslog:
		return s.decodeHeader(raw)
	}
	if raw == "" {
		return line{}, true
	}
	switch c := raw[0]; {
	case c == '[':
		return s.decodeBracketed(raw), true
	case c >= '0' && c <= '9':
		if l, ok := decodeRecord(raw); ok {
			return l, true
		}
	}
	if l, ok := s.decodeLevelled(raw); ok {
		return l, true
	}
	if l, ok := s.decodeHeader(raw); ok {
		return l, true
	}
	return line{text: clean(raw)}, true
}

// kernel is the app of kernel messages.
const kernel = "kernel"

// decodeRecord reads a record of /dev/kmsg: "priority,sequence,microseconds,
// flags[,more];text". What follows on lines that begin with a space describes
// the device, and is left out.
func decodeRecord(raw string) (line, bool) {
	head, text, ok := strings.Cut(raw, ";")
	if !ok {
		return line{}, false
	}
	f := strings.Split(head, ",")
	if len(f) < 4 {
		return line{}, false
	}
	priority, err := strconv.ParseUint(f[0], 10, 16)
	if err != nil {
		return line{}, false
	}
	seq, err := strconv.ParseUint(f[1], 10, 64)
	if err != nil {
		return line{}, false
	}
	micros, err := strconv.ParseUint(f[2], 10, 63)
	if err != nil || micros > uint64(1<<62)/1000 {
		return line{}, false
	}
	text, _, _ = strings.Cut(text, "\n")
	l := line{text: clean(unescape(text)), record: true, seq: seq, since: time.Duration(micros) * time.Microsecond,
		part: strings.Contains(f[3], "c"), rest: strings.Contains(f[3], "+")}
	if l.part || l.rest {
		l.text = neat(unescape(text)) // the blank between two parts is one of theirs
	}
	// What a program writes into the device has a facility of its own: only the
	// kernel itself has 0.
	if priority>>3 == 0 {
		l.app = kernel
	}
	return l, true
}

// unescape reads \xHH, as which the kernel writes what cannot be printed.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			if v, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// clean makes one line of printable UTF-8 out of a text, without blanks around
// it.
func clean(s string) string { return strings.TrimSpace(neat(s)) }

// neat makes one line of printable UTF-8 out of a text.
func neat(s string) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x85 || r >= 0x80 && r < 0xa0 }), " ")
}
