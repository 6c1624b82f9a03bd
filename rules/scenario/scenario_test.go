package scenario

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

func TestBracesStandForLines(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                        "plain",
		"h{0..2}":                      "h0;h1;h2",
		"h{08..10}":                    "h08;h09;h10",
		"{a,b}{0..1}":                  "a0;a1;b0;b1",
		"h{i=0..3} l{i/2} p{i%2}":      "h0 l0 p0;h1 l0 p1;h2 l1 p0;h3 l1 p1",
		"h{i=1..2} n{i} {i+4} {i-1}":   "h1 n1 5 0;h2 n2 6 1",
		"{r=red,blue} {r}{0..1}":       "red red0;red red1;blue blue0;blue blue1",
		"":                             "",
		"{x=0..1}{y=0..1} {x}{y}{x+1}": "00 001;01 011;10 102;11 112",
	} {
		got, err := expand(in, 100)
		if err != nil || strings.Join(got, ";") != want {
			t.Errorf("%q: %q, %v, want %q", in, strings.Join(got, ";"), err, want)
		}
	}
	for in, want := range map[string]string{
		"a{":                 "not closed",
		"a}":                 "without its '{'",
		"{i}":                "want a range",
		"{5..3}":             "lower first",
		"{-1..3}":            "whole numbers",
		"{0..1000}":          "more than 100 lines",
		"{0..9}{0..9}{0..9}": "more than 100 lines",
		"{i=0..1}{i=0..1}":   "chosen twice",
		"{=0..1}":            "no name",
		"{i=0..1}{i-1}":      "below 0",
		"{i=a,b}{i+1}":       "no whole number",
		"{i=0..1}{i/0}":      "want a range",
		"{0..4000000000}":    "whole numbers",
		"{i=0..1} {i*2}":     "want a range",
	} {
		if got, err := expand(in, 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}

// wordsOf plays the first values of a series.
func wordsOf(t *testing.T, text string, most int) string {
	t.Helper()
	terms, err := parseSeries(strings.Fields(text))
	if err != nil {
		return err.Error()
	}
	v := (&Scenario{}).play(&load{terms: terms})
	var out []string
	for range most {
		x, ok := v.next()
		if !ok {
			break
		}
		switch x.state {
		case telemetry.Absent:
			out = append(out, "_")
		case telemetry.Gap:
			out = append(out, "?")
		default:
			out = append(out, fmt.Sprint(x.v))
		}
	}
	return strings.Join(out, " ")
}

func TestSeriesNotation(t *testing.T) {
	for in, want := range map[string]string{
		"5":                          "5",
		"5x3 7":                      "5 5 5 7",
		"+2x3":                       "2 4 6",
		"100 +2x2 -1 +0x2":           "100 102 104 103 103 103",
		"1 _x2 ? +1":                 "1 _ _ ? 2",
		"(+1x2 +10)x2":               "1 2 12 13 14 24",
		"(5 (+1)x2)x2 9":             "5 6 7 5 6 7 9",
		"(1 2)x* 3":                  "1 2 1 2 1 2 1 2 1 2",
		"7x*":                        "7 7 7 7 7 7 7 7 7 7",
		"0.1 +0.1x2 1e3":             "0.1 0.2 0.3 1000",
		"(1 2)":                      "1 2",
		"0-":                         `"0-": want a number, +step, -step, _ or ?`,
		"x5":                         `"x5": want a number, +step, -step, _ or ?`,
		"5x0":                        `"5x0": count "0": want a whole number from 1 or *`,
		"5x-1":                       `"5x-1": count "-1": want a whole number from 1 or *`,
		"5x99999999999":              `"5x99999999999": count "99999999999": want a whole number from 1 or *`,
		"0x10x2":                     `"0x10x2": want a number, +step, -step, _ or ?`,
		"(1":                         "a '(' is not closed",
		"1)":                         "a ')' without its '('",
		"()":                         "nothing between brackets",
		"(1)5":                       `"5" after brackets: want x and a count`,
		"":                           "no values",
		"5~":                         `"5~": spread "": want a number or a percentage`,
		"5~-1":                       `"5~-1": spread "-1": want a number or a percentage`,
		"NaN":                        `"NaN": want a number, +step, -step, _ or ?`,
		"1e99":                       `"1e99": want a number, +step, -step, _ or ?`,
		strings.Repeat("(", 9) + "1": "brackets nest deeper than 8",
	} {
		if got := wordsOf(t, in, 10); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", in, got, want)
		}
	}
}

// TestLengthIsWhatIsPlayed holds length against playing.
func TestLengthIsWhatIsPlayed(t *testing.T) {
	for _, in := range []string{"5", "5x3 7", "(+1x2 (3 4x2)x5)x7 _x2", "(1 2)x3 ?"} {
		terms, err := parseSeries(strings.Fields(in))
		if err != nil {
			t.Fatal(err)
		}
		n, exact := length(terms)
		if played := len(strings.Fields(wordsOf(t, in, 1000))); !exact || n != played {
			t.Errorf("%q: length %d, played %d", in, n, played)
		}
	}
	if terms, _ := parseSeries([]string{"1", "(2x*)x3"}); terms != nil {
		if n, exact := length(terms); exact || n < 2 {
			t.Errorf("x*: %d, exact %v", n, exact)
		}
	}
}

func TestJitterStaysInItsSpreadAndComesFromTheSeed(t *testing.T) {
	draw := func(seed uint64, name string) (out []float64) {
		s := &Scenario{Seed: seed}
		terms, _ := parseSeries([]string{"100~5%x50", "10~1x50"})
		v := s.play(&load{terms: terms, series: telemetry.Series{Metric: telemetry.MetricName(name)}})
		for x, ok := v.next(); ok; x, ok = v.next() {
			out = append(out, x.v)
		}
		return out
	}
	a := draw(1, "m")
	for i, x := range a {
		if mid, half := 100.0, 5.0; i < 50 && math.Abs(x-mid) > half || i >= 50 && math.Abs(x-10) > 1 {
			t.Errorf("sample %d is %g", i, x)
		}
	}
	lo, hi := slices.Min(a[:50]), slices.Max(a[:50])
	if lo > 97 || hi < 103 {
		t.Errorf("drawn only from %g to %g", lo, hi)
	}
	if !slices.Equal(a, draw(1, "m")) || slices.Equal(a, draw(2, "m")) || slices.Equal(a, draw(1, "n")) {
		t.Error("jitter does not follow from seed and series alone")
	}
}

const story = `A port pauses, a job slows.

-- site --
seed 7
fault 00:10   # from here a within counts
lateness 2s 15s 60s 300s
-- edges --
nic:h{i=0..1}/nic0 connects port:leaf0/p{i} speed_bits_per_second=1e11 b=1
job:train runs node:h{i=0..1} rank={i} from=5s until=1m
-- load --
1s nic:h{0..1}/nic0 port_pfc_tx_pause_seconds_total   0x10 +0.7x4
1s nic:h0/nic0      port_rx_bytes_total bits=32       4294967290 +4x3 _x2 ? +1
5s switch:leaf0     inlet_celsius class=slow late=30s from=2s 20x*
-- steps --
job:train           job_step_seconds                  1.5x4 _ 3x2
rank:train/{0..1}   rank_compute_seconds              0.5x*
-- events --
12s link_down port:leaf0/p1 carrier lost
-- want --
incident opened slow-receiver|pfc-storm root=nic:h0/nic0 degrades=job:train within=8s
`

func parse(t *testing.T, text string) *Scenario {
	t.Helper()
	s, err := Parse("story.txtar", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// told is the samples of a log, decoded: "seconds series value".
func told(t *testing.T, s *Scenario) (samples, others []string) {
	t.Helper()
	var reader telemetry.SampleReader
	sequence := map[telemetry.Fingerprint]uint64{}
	for _, r := range s.Records() {
		switch r.Kind {
		case telemetry.SchemaRecord:
			reader.Learn(r.Schema)
		case telemetry.FrameRecord:
			read, err := reader.Read(r.Frame)
			if err != nil {
				t.Fatal(err)
			}
			h, _ := r.Frame.Header() // it has been read
			if h.Sequence != sequence[h.Fingerprint]+1 {
				t.Fatalf("sequence %d after %d", h.Sequence, sequence[h.Fingerprint])
			}
			sequence[h.Fingerprint] = h.Sequence
			for x := range read {
				text := " ?"
				if x.State == telemetry.Present {
					text = fmt.Sprint(" ", x.Float())
				}
				samples = append(samples, fmt.Sprint(x.At.Sub(s.Start).Seconds(), " ", x.Series, text))
			}
		case telemetry.EdgeRecord:
			others = append(others, fmt.Sprint(r.Edge.From, " ", r.Edge.To, " ", int64(r.Edge.Start), " ", int64(r.Edge.End), " ", r.Edge.Attrs))
		case telemetry.EventRecord:
			others = append(others, fmt.Sprint(r.Event.At.Sub(s.Start), " ", r.Event.Name, " ", r.Event.Entity, " ", r.Event.Text))
		}
	}
	return samples, others
}

// TestSlowClassesDoNotOutliveTheStory: no job looks stalled in a tail in which
// only slow sources speak.
func TestSlowClassesDoNotOutliveTheStory(t *testing.T) {
	ticks := func(extra string) (n int) {
		for _, r := range parse(t, "-- site --\nfor 20s\n-- load --\n5s switch:leaf0 inlet_celsius "+extra+" 20x*\n-- steps --\njob:a job_step_seconds 2x*\n-- want --\nno incident\n").Records() {
			if r.Kind == telemetry.TickRecord {
				n++
			}
		}
		return n
	}
	if prompt, slow := ticks(""), ticks("class=slow"); prompt != slow {
		t.Errorf("%d ticks, with a slow source %d", prompt, slow)
	}
}

func TestAStoryBecomesRecords(t *testing.T) {
	s := parse(t, story)
	if s.Length != 14*time.Second {
		t.Errorf("it lasts %v", s.Length)
	}
	samples, others := told(t, s)
	has := func(list []string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !slices.Contains(list, w) {
				t.Errorf("missing: %s", w)
			}
		}
	}
	count := func(part string) (n int) {
		for _, x := range samples {
			if strings.Contains(x, part) {
				n++
			}
		}
		return n
	}
	has(samples,
		"0 nic:h0/nic0 port_pfc_tx_pause_seconds_total 0", "13 nic:h1/nic0 port_pfc_tx_pause_seconds_total 2.8",
		"1 nic:h0/nic0 port_rx_bytes_total 4.294967294e+09", "2 nic:h0/nic0 port_rx_bytes_total 2", "3 nic:h0/nic0 port_rx_bytes_total 6",
		"6 nic:h0/nic0 port_rx_bytes_total ?", "7 nic:h0/nic0 port_rx_bytes_total 7",
		"2 switch:leaf0 inlet_celsius 20", "7 switch:leaf0 inlet_celsius 20", "12 switch:leaf0 inlet_celsius 20",
		"1.5 job:train job_step_seconds 1.5", "6 job:train job_step_seconds 1.5", "10.5 job:train job_step_seconds 3", "13.5 job:train job_step_seconds 3",
		"1.5 rank:train/1 rank_compute_seconds 0.5", "7.5 rank:train/0 rank_compute_seconds 0.5", "13.5 rank:train/1 rank_compute_seconds 0.5",
	)
	for part, want := range map[string]int{"pause_seconds": 28, "rx_bytes": 6, "inlet": 3, "job_step": 6, "rank_compute": 14} {
		if n := count(part); n != want {
			t.Errorf("%d samples of %s, want %d", n, part, want)
		}
	}
	start := s.Start
	has(others, "nic:h1/nic0 port:leaf0/p1 0 0 [{b 1} {speed_bits_per_second 1e11}]",
		fmt.Sprint("job:train node:h0 ", int64(start+5e9), " ", int64(start+60e9), " [{rank 0}]"), "12s link_down port:leaf0/p1 carrier lost")
}

// TestTicksFollowArrivals holds what a log promises: every frame stands behind
// the tick before its arrival, and ticks go on until the jobs' steps are judged, or the last
// frame has come.
func TestTicksFollowArrivals(t *testing.T) {
	s := parse(t, story)
	var ticks int
	var now telemetry.Time
	late := false
	for _, r := range s.Records() {
		switch r.Kind {
		case telemetry.TickRecord:
			if ticks > 0 && r.Tick.At != now.Add(time.Second) {
				t.Fatalf("tick %v after %v", r.Tick.At, now)
			}
			now = r.Tick.At
			ticks++
		case telemetry.FrameRecord:
			h, err := r.Frame.Header()
			if err != nil {
				t.Fatal(err)
			}
			if h.First <= now && now.Sub(h.First) < 29*time.Second {
				t.Errorf("a frame of %v behind the tick %v", h.First, now)
			}
			late = late || now.Sub(h.First) >= 29*time.Second
		}
	}
	// switch:leaf0 is read at 12 s, and that arrives 30 s later.
	if want := s.Start.Add(41 * time.Second); now != want || ticks != 42 {
		t.Errorf("%d ticks, the last at %v, want 42 and %v", ticks, now, want)
	}
	if !late {
		t.Error("late=30s came in time")
	}
}

func TestRecordsAreAFunctionOfTheFile(t *testing.T) {
	a, _ := told(t, parse(t, strings.ReplaceAll(story, "+0.7x4", "+0.7~10%x4")))
	b, _ := told(t, parse(t, strings.ReplaceAll(story, "+0.7x4", "+0.7~10%x4")))
	if !slices.Equal(a, b) {
		t.Error("two readings differ")
	}
}

func TestButReplacesASeries(t *testing.T) {
	s := parse(t, `-- load --
1s gpu:a/{0..2} gpu_power_watts 100x3
but 1s gpu:a/1  gpu_power_watts 700x2
-- steps --
job:j          job_step_seconds 1x3
rank:j/{0..1}  rank_compute_seconds 0.5x*
but rank:j/0   rank_compute_seconds 0.7x*
-- want --
no incident
`)
	samples, _ := told(t, s)
	text := strings.Join(samples, "\n")
	for part, want := range map[string]int{"watts 100": 6, "watts 700": 2, "seconds 0.5": 3, "seconds 0.7": 3} {
		if n := strings.Count(text, part); n != want {
			t.Errorf("%d samples %q, want %d", n, part, want)
		}
	}
	_, err := Parse("b", []byte("-- load --\nbut 1s gpu:a/0 gpu_power_watts 1\n-- want --\nno incident"))
	if err == nil || !strings.Contains(err.Error(), "b:2: but: gpu:a/0 gpu_power_watts is not stated before") {
		t.Errorf("got %v", err)
	}
}

func TestLargeSourcesAreCut(t *testing.T) {
	s := parse(t, `-- load --
1s port:leaf0/p{0..2999} port_rx_bytes_total 0x2
1s port:leaf0/p{0..2999} port_tx_bytes_total 0x2
1s port:leaf0/p{0..2999} port_rx_packets_total 0x2
-- want --
no incident
`)
	samples, _ := told(t, s)
	if len(samples) != 3*3000*2 {
		t.Errorf("%d samples", len(samples))
	}
}

func TestWhatIsWrongIsNamedByLine(t *testing.T) {
	for old, c := range map[string]struct{ new, want string }{
		"seed 7":                               {"seed x", "4: seed: "},
		"fault 00:10 ":                         {"fault 00:70", "5: fault: time \"00:70\""},
		"lateness 2s":                          {"lateness 1500ms", "1: site config: lateness_ns[0]: 1500000000: want whole grids"},
		"-- edges --":                          {"-- edgs --", `7: unknown section "edgs"`},
		"nic:h{i=0..1}/nic0 c":                 {"nik:h{i=0..1}/nic0 c", "8: entity \"nik:h0/nic0\": unknown kind"},
		"speed_bits":                           {"=", `8: "=_per_second=1e11": want KEY=VALUE`},
		" runs ":                               {" walks ", `9: relation "walks"`},
		"until=1m":                             {"until=soon", "9: until: time \"soon\""},
		"job:train runs node:h{i=0..1}":        {"job:train runs node:h0}", "9: a '}' without"},
		"1s nic:h{0..1}/nic0":                  {"0s nic:h{0..1}/nic0", `11: EVERY "0s"`},
		"port_rx_bytes_total":                  {"port_rx_bites_total", `12: unknown metric "port_rx_bites_total"`},
		"bits=32":                              {"bits=99", "12: bits: want 4 to 48"},
		"late=30s":                             {"later=30s", "13: later: unknown; want from, late"},
		"class=slow":                           {"class=lazy", `13: class: "lazy": want prompt`},
		"5s switch:leaf0     inlet_celsius":    {"1s nic:h0/nic0 port_rx_bytes_total", "13: nic:h0/nic0 port_rx_bytes_total is stated in line 12 too"},
		"20x*":                                 {"2o", `13: switch:leaf0 inlet_celsius: "2o": want a number`},
		"job:train           job_step_seconds": {"job:train port_rx_bytes_total", "15: port_rx_bytes_total is not of a job's step"},
		"rank:train/":                          {"rank:other/", "16: rank:other/0 rank_compute_seconds: no steps of job:other"},
		"12s link_down":                        {"soon link_down", `18: time "soon"`},
		"incident opened":                      {"incident closed", "20: want: incident opened or incident resolved"},
		"within=8s":                            {"wihtin=8s", "20: want: wihtin=8s: unknown; want root"},
		"degrades=job:train":                   {"degrades=train", `20: want: degrades=train: entity "train"`},
		"-- want --":                           {"-- events --", `20: time "incident"`},
		"1.5x4 _ 3x2":                          {"0x4", "1: the scenario lasts"},
	} {
		text := strings.Replace(story, old, c.new, 1)
		if text == story {
			t.Fatalf("%q is not in the story", old)
		}
		if strings.HasPrefix(c.want, "1: the") {
			text = text[:strings.Index(text, "-- load")] + text[strings.Index(text, "-- steps"):strings.Index(text, "rank:")] + text[strings.Index(text, "-- want"):]
		}
		_, err := Parse("story.txtar", []byte(text))
		if err == nil || !strings.Contains("\n"+err.Error(), "\nstory.txtar:"+c.want) {
			t.Errorf("%q for %q:\ngot  %v\nwant %s", c.new, old, err, c.want)
		}
	}
}

func TestHostileStoriesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "nothing is wanted",
		"-- want --":                 "nothing is wanted",
		"-- want --\nothers allowed": "nothing is wanted",
		"-- site --\nfor 24h\ngrid 1ms\n-- want --\nno incident":                                                            "at most a million",
		"-- site --\nfor 24h\n-- load --\n1ms gpu:a/{0..3} gpu_power_watts 1x*\n-- want --\nno incident":                    "more than 20000000 samples",
		"-- load --\n1s gpu:a/{0..60000} gpu_power_watts 1\n-- want --\nno incident":                                        "more than 50000 series",
		"-- load --\n24h gpu:a/0 gpu_power_watts 1x9999999\n-- want --\nno incident":                                        "lasts",
		"-- steps --\njob:a job_step_seconds 1e-9x*\n-- site --\nfor 1s\n-- want --\nno incident":                           "more than 100000 steps",
		"-- load --\n1s gpu:a/0 gpu_power_watts ((((1x9999999)x9999999)x9999999)x9999999)x9999999\n-- want --\nno incident": "lasts",
	} {
		if _, err := Parse("h", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func TestFilesSayWhatTheirNamesSay(t *testing.T) {
	file := func(want string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("-- site --\nfor 10s\n-- want --\n" + want + "\n")}
	}
	root := fstest.MapFS{
		"incast/fires-a.txtar":  file("incident opened incast"),
		"incast/silent-b.txtar": file("incident opened slow-rank"),
		"incast/silent-c.txtar": file("no incident"),
		"incast/fires-d.txtar":  file("incident opened slow-rank"),
		"incast/silent-e.txtar": file("incident opened incast"),
		"incast/fires-f.txtar":  file("incident opend incast"),
		"incast/notes.txtar":    file("whatever"),
		"incast/signature.yaml": file("whatever"),
	}
	files, err := Files(root)
	var got []string
	for _, f := range files {
		got = append(got, fmt.Sprint(f.Path, " ", f.Fault, " ", f.Fires))
	}
	if want := []string{"incast/fires-a.txtar incast true", "incast/silent-b.txtar incast false", "incast/silent-c.txtar incast false"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for _, want := range []string{"fires-d.txtar:0: a scenario that fires", "silent-e.txtar:0: a scenario that stays silent", "fires-f.txtar:4: want: incident opened"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(story)
	f.Add("-- load --\n1s gpu:a/{i=0..1} gpu_power_watts (5~1% +1x2 _ ?)x3\n-- want --\n5s no risk root=gpu:a/0\nothers allowed\nfinding shift gpu:a/0 gpu_power_watts within=3s")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("f", []byte(text))
		if err != nil {
			if _, ok := err.(Errors); !ok || s != nil {
				t.Errorf("an error of another sort: %v", err)
			}
			return
		}
		if s.Length < 10*time.Minute && len(s.loads)+len(s.steps) < 50 {
			told(t, s)
			s.Check(nil)
			s.CheckFindings(nil)
		}
	})
}
