package exposition

import (
	_ "embed"
	"strconv"
	"strings"
)

// helpTexts has one line for each metric of this program: its name, a space, its
// help text.
//
//go:embed help.txt
var helpTexts string

// help returns the help text of a metric, "" where it has none.
func help(name string) string {
	for line := range strings.Lines(helpTexts) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSuffix(text, "\n")
		}
	}
	return ""
}

// bucket is the place of a line in its histogram.
type bucket struct {
	labels string  // other than le
	part   int     // 0 a bucket, 1 the sum, 2 the count
	bound  float64 // of a bucket
}

func bucketOf(line string) bucket {
	name, rest, _ := strings.Cut(line, "{")
	labels, _, _ := strings.Cut(rest, "} ")
	if rest == "" {
		name, _, _ = strings.Cut(line, " ")
	}
	b := bucket{labels: labels}
	switch {
	case strings.HasSuffix(name, "_sum"):
		b.part = 1
	case strings.HasSuffix(name, "_count"):
		b.part = 2
	default:
		before, le, _ := strings.Cut(labels, `le="`)
		b.labels = strings.TrimSuffix(before, ",")
		b.bound, _ = strconv.ParseFloat(strings.TrimSuffix(le, `"`), 64) // of our own writing
	}
	return b
}
