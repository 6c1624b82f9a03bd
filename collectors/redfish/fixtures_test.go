package redfish

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// Recordings and drawings of others are beside the repository and no part of it;
// the golden files here are what this collector makes of them.
const recordings = "../../../shared/fixtures/redfish"

func needRecordings(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(recordings); err != nil {
		t.Skip("no recordings beside the repository: ", err)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// mockup serves a folder of recorded answers: /redfish/v1/X is X/index.json, and
// an answer to a query lies under the MD5 sum of path and query.
func mockup(dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(r.URL.Path, root)), "index.json")
		if _, err := os.Stat(filepath.Join(dir, "redfish")); err == nil {
			file = filepath.Join(dir, filepath.FromSlash(r.URL.Path), "index.json")
		}
		if r.URL.RawQuery != "" {
			sum := md5.Sum([]byte(r.URL.Path + "?" + r.URL.RawQuery))
			if asked := filepath.Join(dir, "hashedresponses", hex.EncodeToString(sum[:])+".json"); exists(asked) {
				file = asked
			}
		}
		http.ServeFile(w, r, file)
	})
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// script is a sink that writes down what it receives.
type script struct {
	*board.Board
	t       *testing.T
	lines   []string
	dropped map[collectors.Reason]int
}

func (s *script) Emit(r *telemetry.Record) {
	collectorstest.Strict{T: s.t}.Emit(r)
	if err := s.Take(r); err != nil {
		s.t.Error(err)
	}
	if e := r.Edge; r.Kind == telemetry.EdgeRecord && e.Relation != telemetry.Member {
		s.lines = append(s.lines, fmt.Sprintf("%s %s %s", e.From, e.Relation, e.To))
	}
}

// Logger implements collectors.Sink.
func (s *script) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (s *script) Swept(x collectors.Sweep) {
	for why, n := range x.Dropped {
		s.dropped[why] += n
	}
}

func (s *script) String() string {
	for _, k := range telemetry.Kinds() {
		for _, e := range s.Entities(k) {
			for _, m := range s.Metrics(e) {
				r, _ := s.Read(e, m)
				text := strconv.FormatFloat(r.Float(), 'g', -1, 64)
				if r.Gap {
					text = "gap"
				}
				s.lines = append(s.lines, fmt.Sprintf("%s %s %s", e, m, text))
			}
		}
	}
	slices.Sort(s.lines)
	for _, why := range collectors.Reasons() {
		if n := s.dropped[why]; n > 0 {
			s.lines = append(s.lines, fmt.Sprintf("# %s %d", why, n))
		}
	}
	return strings.Join(s.lines, "\n") + "\n"
}

// TestRecordedServices walks every recorded service as a whole, over HTTP.
func TestRecordedServices(t *testing.T) {
	needRecordings(t)
	for _, c := range []struct{ name, dir, entity string }{
		{"cooling-unit", "dmtf/public-cooling-unit", "cdu:cdu00"},
		{"liquid-cooled-server", "dmtf/public-liquid-cooled-server", "node:n1"},
		{"pdu", "dmtf/public-pdu", "pdu:row1/a"},
		{"power-shelf", "dmtf/public-power-shelf", "shelf:r1/a"},
		{"telemetry", "dmtf/public-telemetry", "node:n1"},
		{"gb300", "lambdalabs/gb300_happypath", "node:n1"},
		{"hgx", "lambdalabs/gathergpus_happypath", "node:n1"},
		{"delta-shelf", "lambdalabs/powershelf_delta", "shelf:r1/a"},
		{"xclarity", "lambdalabs/manager_happypath", "node:n1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			golden(t, c.name, walk(t, c.dir, c.entity).String())
		})
	}
}

// walk reads a recorded service once.
func walk(t *testing.T, dir, entity string) *script {
	t.Helper()
	srv := httptest.NewServer(mockup(filepath.Join(recordings, dir)))
	defer srv.Close()
	r, err := New(Config{Address: srv.URL, Entity: entityOf(entity)}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	s := &script{Board: board.New(), t: t, dropped: map[collectors.Reason]int{}}
	if err := r.Once(t.Context(), s); err != nil && !errors.Is(err, errNothing) {
		t.Fatal(err)
	}
	return s
}

// TestAnotherProgramReadsTheSame: the values that an exporter's authors expect of
// the GB300's NVLinks are the values read here.
func TestAnotherProgramReadsTheSame(t *testing.T) {
	needRecordings(t)
	s := walk(t, "lambdalabs/gb300_happypath", "node:n1")
	b, err := os.ReadFile(filepath.Join(recordings, "lambdalabs/golden/gb300_nvlink_happy.golden"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, line := range strings.Split(string(b), "\n") {
		name, labels, _ := strings.Cut(line, "{")
		metric := map[string]telemetry.MetricName{"redfish_gpu_nvlink_link_status": "nvlink_up", "redfish_gpu_nvlink_link_error_recovery_count": "nvlink_recovery_errors_total"}[name]
		_, gpu, ok := strings.Cut(labels, `gpu_id="GPU_`)
		if metric == "" || !ok {
			continue
		}
		_, link, _ := strings.Cut(labels, `port_id="NVLink_`)
		_, value, _ := strings.Cut(labels, "} ")
		gpu, _, _ = strings.Cut(gpu, `"`)
		link, _, _ = strings.Cut(link, `"`)
		r, heard := s.Read(telemetry.Entity{Kind: telemetry.NVLink, Name: "n1/" + gpu + "/" + link}, metric)
		if got := strconv.FormatFloat(r.Float(), 'f', -1, 64); !heard || got != value {
			t.Errorf("%s: %s, heard %v", line, got, heard)
		}
		compared++
	}
	if compared != 2*4*18 {
		t.Errorf("%d lines compared", compared)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(b) {
		t.Errorf("%s is not what was made of it:\n%s", file, got)
	}
}

// broken are the recordings that are broken on purpose.
var broken = []string{"dell_chassisinvalid.json", "dell_powerinvalid.json", "dell_systemsinvalid.json", "dell_thermalinvalid.json", "hp_powerinvalid.json", "hp_thermalinvalid.json"}

// TestEveryRecording is decoded by itself, as each kind of service, or refused
// for a reason that is right; no number comes of nothing.
func TestEveryRecording(t *testing.T) {
	needRecordings(t)
	m := standardMapping(t)
	files, read := 0, 0
	err := filepath.WalkDir(recordings, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		files++
		doc, err := parse(b)
		isJSON := strings.HasSuffix(file, ".json")
		if (err != nil) != (slices.Contains(broken, filepath.Base(file)) || !isJSON) {
			t.Errorf("%s: %v", file, err)
		}
		if err != nil {
			return nil
		}
		for _, kind := range []string{"node", "shelf", "pdu", "cdu", "ups", "crah", "rack", "switch"} {
			read += readAlone(t, m, kind+":x", file, doc)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files != 866 || read < 900 {
		t.Errorf("%d files, %d readings", files, read)
	}
}

// readAlone reads one document and looks at every reading for what it was made
// of.
func readAlone(t *testing.T, m *library, self, file string, doc map[string]any) int {
	t.Helper()
	v := &view{rules: m, self: entityOf(self), chassis: map[string]string{}}
	path := "/" + strings.TrimSuffix(filepath.ToSlash(strings.TrimPrefix(file, recordings)), "/index.json")
	if id, ok := doc["@odata.id"].(string); ok {
		path, _, _ = strings.Cut(id, "#")
	} else {
		_, after, _ := strings.Cut(path, "/public-")
		_, after, _ = strings.Cut(after, "/")
		path = root + "/" + after
	}
	if parts, ok := split(clean(path)); ok && len(parts) > 1 {
		v.chassis[strings.ToLower(parts[1])] = "RackMount"
	}
	s := v.read(clean(path), doc)
	for _, r := range s.readings {
		page, place, _ := strings.Cut(r.from, "#/")
		from, ok := at(doc, strings.Split(place, "/"))
		if page != clean(path) || r.gap {
			continue // inside a list, which its own pages are read from
		}
		text, isWord := word(excerpt(from))
		if !ok || !isWord {
			t.Errorf("%s: %s %s is %g, made of %v", file, r.entity, r.metric, r.column.Float(r.word), from)
		}
		if d, ok := mapping.ParseISODuration(text); ok {
			text = strconv.FormatFloat(d.Seconds(), 'g', -1, 64)
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil && (f == 0) != (r.word == 0) && !strings.HasSuffix(string(r.metric), "_celsius") {
			t.Errorf("%s: %s %s is %g, made of %s", file, r.entity, r.metric, r.column.Float(r.word), text)
		}
	}
	return len(s.readings)
}

// TestRecordedPages reads the pages that were recorded one by one.
func TestRecordedPages(t *testing.T) {
	needRecordings(t)
	m := standardMapping(t)
	var out []string
	for _, glob := range []string{"telegraf/dell/*.json", "telegraf/hp/*.json", "telegraf/*.json", "lambdalabs/*.json"} {
		files, err := filepath.Glob(filepath.Join(recordings, glob))
		if err != nil || len(files) == 0 {
			t.Fatal(glob, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, "-- "+filepath.Base(f))
			doc, err := parse(b)
			if err != nil {
				out = append(out, "refused: "+err.Error())
				continue
			}
			path, _ := doc["@odata.id"].(string)
			if path == "" {
				path = root + "/Chassis/1"
			}
			v := &view{rules: m, self: entityOf("node:n1"), chassis: map[string]string{}}
			if parts, ok := split(clean(path)); ok && len(parts) > 1 {
				v.chassis[strings.ToLower(parts[1])] = "RackMount"
			}
			s := v.read(clean(path), doc)
			out = append(out, told(s)...)
			for _, x := range s.traits {
				out = append(out, fmt.Sprintf("%s states %s", x.entity, x.name))
			}
		}
	}
	golden(t, "pages", strings.Join(out, "\n")+"\n")
}
