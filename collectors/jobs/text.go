package jobs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quintet-dc/quintet/telemetry"
)

// plain returns s as an event's text or a source's name: valid, without control
// characters or bars, and not too long.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return '?'
		case unicode.IsControl(r):
			return ' '
		case r == '|':
			return '/'
		}
		return r
	}, s)
	for len(s) > longestText {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return strings.TrimSpace(s)
}

// jobEntity names a job by a template.
func jobEntity(template string, words ...string) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Job, Name: telemetry.NamePart(strings.NewReplacer(words...).Replace(template))}
}
