package receive

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// TestTranscripts plays testdata/*.txt: lines that begin with '>' are a request
// (the path, then its body), what follows is the answer and what was emitted.
// The requests of one file go to one receiver.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(open(t, Config{MaxJobs: 3, MaxRanks: 4, MaxItems: 5, MaxBody: 4096}), string(b))
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(b) {
				t.Errorf("%s differs; -update rewrites it. Got:\n%s", name, got)
			}
		})
	}
}

// replay sends the requests of a transcript and returns it with the new responses.
func replay(p *post, text string) string {
	var out, body strings.Builder
	path := ""
	finish := func() {
		if path == "" {
			return
		}
		status, answer := p.send(path, body.String())
		fmt.Fprintf(&out, "%d %s\n", status, answer)
		for _, l := range p.drain() {
			fmt.Fprintf(&out, "  %s\n", l)
		}
		out.WriteByte('\n')
		path = ""
		body.Reset()
	}
	for line := range strings.Lines(text) {
		request, isRequest := strings.CutPrefix(strings.TrimRight(line, "\n"), "> ")
		switch {
		case isRequest && path == "":
			path = request
			out.WriteString(line)
		case isRequest:
			body.WriteString(request + "\n")
			out.WriteString(line)
		case strings.HasPrefix(line, "#"):
			finish()
			out.WriteString(line)
		default:
			finish()
		}
	}
	finish()
	return out.String()
}
