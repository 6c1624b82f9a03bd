package logs

import (
	"strconv"
	"strings"
	"time"
)

// decodeSyslog reads a message with a priority: RFC 5424 where a version
// follows it, else what RFC 3164 describes.
func (s scope) decodeSyslog(raw string) (line, bool) {
	end := strings.IndexByte(raw, '>')
	if end < 2 || end > 4 {
		return line{}, false
	}
	if p, err := strconv.ParseUint(raw[1:end], 10, 16); err != nil || p > 191 {
		return line{}, false
	}
	raw = raw[end+1:]
	if strings.HasPrefix(raw, "1 ") {
		return decode5424(raw[2:])
	}
	if l, ok := s.decodeHeader(raw); ok {
		return l, true
	}
	// A message with nothing but a tag: RFC 3164, 4.3.3.
	app, text := tagOf(raw)
	return line{app: app, text: clean(text)}, true
}

// decode5424 reads "time host app process id data text"; - means none.
func decode5424(raw string) (line, bool) {
	var f [5]string
	for i := range f {
		var ok bool
		if f[i], raw, ok = strings.Cut(raw, " "); !ok || f[i] == "" {
			return line{}, false
		}
		if f[i] == "-" {
			f[i] = ""
		}
	}
	l := line{host: f[1], app: f[2]}
	if f[0] != "" {
		at, err := time.Parse(time.RFC3339Nano, f[0])
		if err != nil {
			return line{}, false
		}
		l.at = at
	}
	text, ok := skipData(raw)
	if !ok {
		return line{}, false
	}
	l.text = clean(strings.TrimPrefix(text, "\ufeff"))
	return l, true
}

// skipData passes over structured data.
func skipData(raw string) (rest string, ok bool) {
	if rest, ok := strings.CutPrefix(raw, "-"); ok {
		return strings.TrimPrefix(rest, " "), rest == "" || rest[0] == ' '
	}
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case i == 0 && c != '[':
			return "", false
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			if i+1 == len(raw) {
				return "", true
			}
			switch raw[i+1] {
			case ' ':
				return raw[i+2:], true
			case '[':
			default:
				return "", false
			}
		}
	}
	return "", false
}

// decodeHeader reads "time host tag: text", as RFC 3164 and what writes files
// have it. The time may have a year before it, and a fraction; or be RFC 3339.
// SONiC has the severity between host and tag.
func (s scope) decodeHeader(raw string) (line, bool) {
	at, rest, ok := s.stamp(raw)
	if !ok {
		return line{}, false
	}
	l := line{at: at}
	host, rest, ok := strings.Cut(rest, " ")
	if !ok {
		l.text = clean(host)
		return l, true
	}
	if strings.HasSuffix(host, ":") { // no host: the tag is there already
		app, text := tagOf(host + " " + rest)
		l.app, l.text = app, clean(text)
		return l, true
	}
	l.host = host
	if word, after, ok := strings.Cut(rest, " "); ok && severity(word) {
		rest = after
	}
	app, text := tagOf(rest)
	l.app, l.text = app, clean(text)
	if l.app == kernel {
		l.text = sinceBoot(l.text)
	}
	return l, true
}

// severity reports whether a word is a severity, as SONiC writes it.
func severity(w string) bool {
	switch w {
	case "EMERG", "ALERT", "CRIT", "ERR", "ERROR", "WARNING", "WARN", "NOTICE", "INFO", "DEBUG":
		return true
	}
	return false
}

// sinceBoot removes "[ 123.456]", which syslog daemons leave before a kernel
// message.
func sinceBoot(text string) string {
	if !strings.HasPrefix(text, "[") {
		return text
	}
	number, rest, ok := strings.Cut(text[1:], "]")
	if _, err := strconv.ParseFloat(strings.TrimSpace(number), 64); !ok || err != nil {
		return text
	}
	return strings.TrimSpace(rest)
}

// tagOf parts "tag[process]: text". SONiC's tags name the container before #.
func tagOf(s string) (app, text string) {
	end := strings.IndexAny(s, "[: ")
	if end <= 0 {
		return "", strings.TrimPrefix(s, ": ")
	}
	app, rest := s[:end], s[end:]
	if rest[0] == '[' {
		_, after, ok := strings.Cut(rest, "]")
		if !ok {
			return "", s
		}
		rest = after
	}
	rest, ok := strings.CutPrefix(rest, ":")
	if !ok {
		return "", s // a word of the text
	}
	return app, rest
}

// stamp reads the time at the beginning of a line.
func (s scope) stamp(raw string) (at time.Time, rest string, ok bool) {
	if raw == "" {
		return at, "", false
	}
	if word, rest, _ := strings.Cut(raw, " "); len(word) >= 19 && word[4] == '-' {
		at, ok := s.iso(word)
		return at, strings.TrimLeft(rest, " "), ok
	}
	year := 0
	if raw[0] >= '0' && raw[0] <= '9' {
		word, after, cut := strings.Cut(raw, " ")
		n, err := strconv.Atoi(word)
		if !cut || err != nil || len(word) != 4 {
			return at, "", false
		}
		year, raw = n, strings.TrimLeft(after, " ")
	}
	// "Jan _2 15:04:05", and a fraction perhaps.
	if len(raw) < 15 {
		return at, "", false
	}
	clock, rest, _ := strings.Cut(raw[7:], " ")
	at, err := time.ParseInLocation("Jan _2 15:04:05.999999999", raw[:7]+clock, s.zone)
	if err != nil {
		return at, "", false
	}
	if year != 0 {
		return inYear(at, year), rest, true
	}
	return s.nearest(at), strings.TrimLeft(rest, " "), true
}

func inYear(t time.Time, year int) time.Time {
	return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}

// nearest gives a time without a year the one by which it is nearest to now:
// December's last lines are read in January.
func (s scope) nearest(t time.Time) time.Time {
	best := inYear(t, s.now.Year())
	for _, y := range []int{s.now.Year() - 1, s.now.Year() + 1} {
		if c := inYear(t, y); c.Sub(s.now).Abs() < best.Sub(s.now).Abs() {
			best = c
		}
	}
	return best
}

// iso reads RFC 3339, with a comma or a point before the fraction, and with or
// without a zone.
func (s scope) iso(word string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999-0700"} {
		if at, err := time.Parse(layout, word); err == nil { // takes a comma, too
			return at, true
		}
	}
	at, err := time.ParseInLocation("2006-01-02T15:04:05.999999999", word, s.zone)
	return at, err == nil
}

// decodeBracketed reads a line that begins with its time in brackets: dmesg's
// seconds since boot, dmesg -T's date, or the fabric manager's.
func (s scope) decodeBracketed(raw string) line {
	stamp, rest, ok := strings.Cut(raw[1:], "]")
	if !ok {
		return line{text: clean(raw)}
	}
	if at, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", stamp, s.zone); err == nil {
		return line{at: at, app: kernel, text: clean(rest)}
	}
	if at, err := time.ParseInLocation("Jan 02 2006 15:04:05", stamp, s.zone); err == nil {
		return line{at: at, app: fabricManager, text: clean(rest)}
	}
	if _, err := strconv.ParseFloat(strings.TrimSpace(stamp), 64); err == nil {
		return line{app: kernel, text: clean(rest)}
	}
	return line{text: clean(raw)}
}

// fabricManager is the app of its log.
const fabricManager = "nv-fabricmanager"

// decodeLevelled reads what dmesg --decode --time-format iso prints:
// "kern  :warn  : time text".
func (s scope) decodeLevelled(raw string) (line, bool) {
	facility, rest, ok := strings.Cut(raw, ":")
	facility = strings.TrimSpace(facility)
	if !ok || len(facility) > 8 || strings.Contains(facility, " ") {
		return line{}, false
	}
	level, rest, ok := strings.Cut(rest, ":")
	if !ok || len(level) > 8 {
		return line{}, false
	}
	at, text, ok := s.stamp(strings.TrimLeft(rest, " "))
	if !ok {
		return line{}, false
	}
	l := line{at: at, text: clean(text)}
	if facility == "kern" {
		l.app = kernel
	}
	return l, true
}
