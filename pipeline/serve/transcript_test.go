package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/recorder"
	"github.com/quintet-dc/quintet/telemetry"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// shown are the headers that a transcript lists.
var shown = [...]string{"Allow", "Cache-Control", "Content-Encoding", "Content-Type", "ETag", "Retry-After"}

// usual are those of every answer of the API: they are not worth a line.
var usual = [...]string{"no-store", "application/json"}

// TestTranscripts plays testdata/*.txt against a site with three incidents.
// Lines that begin with '>' are a request: method and path, headers, an empty
// line, the body. What follows is the answer.
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
			r := run(t, told(), Config{Curves: drawer{}, Page: fstest.MapFS{"index.html": {Data: []byte("<!doctype html>the page")}, "app/main.js": {Data: bytes.Repeat([]byte("main();\n"), 300)}},
				Push: map[string]http.HandlerFunc{"/api/v1/jobs/{job}/steps": func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "steps of %s\n", r.PathValue("job")) }},
				Demo: "a recorded run"})
			r.until("notes", func() bool { _, why := r.server.notes.bucket.Open(); return why == nil })
			r.until("silences", r.server.silences.Known)
			got := r.replay(string(b))
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

// told is a site whose engine answers, with three incidents in five revisions.
func told() *site {
	s := newSite()
	s.publish(incident("inc-0000000000000001", 1, -600))
	s.publish(incident("inc-0000000000000002", 1, -60))
	s.publish(resolved(incident("inc-0000000000000001", 2, -600), -500))
	other := incident("inc-0000000000000003", 1, -30)
	other.Impact.Jobs[0].Job = entity("job:llama-70b.481")
	s.publish(other)
	s.publish(incident("inc-0000000000000002", 2, -60))
	now := incident("inc-0000000000000002", 2, -60)
	now.Impact.Jobs[0].GPUSecondsLost = 812
	s.answers["incidents"] = func([]byte) ([]byte, error) { return listOf(now), nil }
	s.says("jobs", `{"jobs":[{"job":"job:train","state":"slow"}]}`)
	s.says("coverage", `{"sources":[{"collector":"sysfs","target":"h1"}]}`)
	s.says("status", `{"site":"lab","engine":"1","rules":"r","tick":"2026-11-21T12:00:00Z","position":7,"replicas":[],"alarms":[]}`)
	s.answers["reach"] = func(req []byte) ([]byte, error) {
		current, silent := `{"domain":%q,"sources":2,"stale":0,"series":9,"latest":"2026-11-21T11:59:59Z"}`, `{"domain":"power","sources":1,"stale":1,"series":2,"latest":"2026-11-21T11:00:00Z"}`
		out := fmt.Sprintf(`{"tick":"2026-11-21T12:00:00Z","domains":[`+current+","+current+","+current+`,%s,{"domain":"cooling","sources":0,"stale":0,"series":0,"latest":null}]`, "software", "computing", "network", silent)
		if strings.Contains(string(req), "node:h9") {
			out += `,"entity":{"sources":3,"stale":1,"series":12,"latest":"2026-11-21T11:59:59Z"}`
		}
		return []byte(out + "}"), nil
	}
	s.says("find", `{"entities":["nic:h9/nic0"]}`)
	for _, what := range []string{"losses", "coupling", "budget", "bottlenecks"} {
		s.answers[what] = func(req []byte) ([]byte, error) { return fmt.Appendf(nil, `{%q:%s}`, what, req), nil }
	}
	s.answers["topology"] = func(req []byte) ([]byte, error) {
		if strings.Contains(string(req), "job:nobody") {
			return nil, &bus.AnswerError{What: "topology", Text: "job:nobody is not known"}
		}
		return []byte(fmt.Sprintf(`{"asked":%s}`, req)), nil
	}
	return s
}

func listOf(ins ...explain.Incident) []byte {
	var b bytes.Buffer
	b.WriteString(`{"incidents":[`)
	for i := range ins {
		s := newSite()
		s.publish(ins[i])
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(s.stream[0].Data)
	}
	b.WriteString("]}")
	return b.Bytes()
}

// drawer draws one curve, and has troubles of every kind.
type drawer struct{}

func (drawer) Curves(_ context.Context, in *explain.Incident, since telemetry.Time) (*recorder.Picture, error) {
	switch in.ID {
	case "inc-0000000000000001":
		return nil, fmt.Errorf("curves of %s: %w", in.ID, recorder.ErrForgotten)
	case "inc-0000000000000003":
		return nil, fmt.Errorf("curves of %s: %w", in.ID, recorder.ErrBusy)
	}
	tick := clock(0)
	return &recorder.Picture{ID: in.ID, From: max(since, in.Onset.Earliest), To: clock(0), Tick: &tick, Curves: []recorder.Curve{
		{Entity: in.Root.Entity, Metric: "port_tx_bytes_total", Rate: true, Unit: "B/s", Role: recorder.Root, Times: []int64{1, 2}, Values: recorder.Values{0.5, 4e9}}}}, nil
}

// replay sends the requests of a transcript and writes it again.
func (r *running) replay(text string) string {
	var out strings.Builder
	var request []string
	finish := func() {
		if len(request) > 0 {
			out.WriteString(r.exchange(request))
			out.WriteByte('\n')
			request = nil
		}
	}
	for line := range strings.Lines(text) {
		said, isRequest := strings.CutPrefix(strings.TrimRight(line, "\n"), ">")
		switch {
		case isRequest:
			request = append(request, strings.TrimPrefix(said, " "))
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

// exchange sends one request and writes the answer down.
func (r *running) exchange(request []string) string {
	method, path, _ := strings.Cut(request[0], " ")
	var headers []string
	body := ""
	for i, l := range request[1:] {
		if l == "" {
			body = strings.Join(request[i+2:], "\n")
			break
		}
		headers = append(headers, l)
	}
	resp, text := r.request(method, path, body, headers...)
	var out strings.Builder
	fmt.Fprintf(&out, "%d\n", resp.StatusCode)
	for _, h := range shown {
		if v := strings.Join(resp.Header.Values(h), ", "); v != "" && !slices.Contains(usual[:], v) {
			fmt.Fprintf(&out, "%s: %s\n", h, v)
		}
	}
	if resp.Header.Get("Content-Encoding") == "gzip" && text != "" {
		z, err := gzip.NewReader(strings.NewReader(text))
		if err != nil {
			r.t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil {
			r.t.Fatal(err)
		}
		text = string(b)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/javascript") && text != "" {
		text = fmt.Sprintf("(%d bytes)", len(text))
	}
	if text = strings.TrimRight(text, "\n"); text != "" {
		out.WriteString(text + "\n")
	}
	return out.String()
}
