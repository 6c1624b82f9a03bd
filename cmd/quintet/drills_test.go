package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestEveryFault injects every fault that has a signature, each on a site of its
// own behind real protocols, and writes to docs/drills.md how soon the state is no
// longer healthy, how soon the root is named, and what comes with it. QUINTET_DRILL
// is a regular expression of the faults to inject; rows of others stay.
func TestEveryFault(t *testing.T) {
	wanted := os.Getenv("QUINTET_DRILL")
	if wanted == "" {
		t.Skip("an hour: make drills")
	}
	only, err := regexp.Compile("^(" + wanted + ")$")
	if err != nil {
		t.Fatal(err)
	}
	var table drillTable
	for _, s := range signatureNames(t) {
		if !only.MatchString(s) {
			continue
		}
		t.Run(s, func(t *testing.T) {
			t.Parallel() // -parallel says how many sites run at a time
			d := newFaultDrill(t, s)
			d.run(t)
			t.Log(d.row())
			if d.behind > drillBehind || d.named == 0 && d.verdict == "" {
				t.Errorf("not counted: the log was up to %s behind: this machine has too much to do", d.behind.Round(time.Second))
				return
			}
			table.add(d.row())
		})
	}
	t.Cleanup(func() {
		if err := table.write("../../docs/drills.md"); err != nil {
			t.Error(err)
		}
	})
}

// signatureNames are the faults that have a signature.
func signatureNames(t *testing.T) []string {
	t.Helper()
	book, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range book.Signatures {
		out = append(out, s.Name)
	}
	slices.Sort(out)
	return out
}

const (
	drillWarm   = 75 * time.Second // before a fault, so that a job has a usual step
	drillLasts  = 4 * time.Minute  // long enough for heat: two minutes from a pump that stops to a GPU that slows down
	drillPolls  = 500 * time.Millisecond
	drillPlaces = 6                // of a site, that are tried
	drillOnce   = 15 * time.Second // after the root was named, for what follows

	// drillBehind is how far the log's tick may be behind the clock: beyond, the
	// machine is too busy for a measurement.
	drillBehind = 30 * time.Second
)

// faultDrill is one fault on a site of its own, and what was measured.
type faultDrill struct {
	kind   fault.Kind
	gpus   int
	seed   uint64
	where  telemetry.Entity
	lasts  time.Duration
	fault  fault.Fault
	answer fault.Answer

	url    string
	ear    *hookEar
	struck time.Time

	before     string        // the state of the site when it was struck
	shows      time.Duration // the first sample in which a device shows it; 0: none did
	notHealthy time.Duration // 0: it never stopped
	reported   time.Duration // the first incident
	named      time.Duration // the first that is right
	verdict    string
	claims     string
	folded     string
	revisions  int
	engine     string
	behind     time.Duration // the log's tick behind the clock, at most, since the fault was struck
}

// newFaultDrill finds the smallest site and a place on it where the fault does what
// its kind is expected to: a path that no flow takes shows nothing.
func newFaultDrill(t *testing.T, name string) *faultDrill {
	t.Helper()
	k := fault.Find(name)
	if k == nil {
		t.Skipf("%s cannot be struck in the lab", name)
	}
	for _, gpus := range []int{16, 64, 256} {
		for seed := uint64(1); seed <= 8; seed++ {
			if d := drillOn(t, k, gpus, seed); d != nil {
				return d
			}
		}
	}
	t.Skipf("no site of up to 256 GPUs has a place for %s", name)
	return nil
}

// drillOn finds a place on one site; nil where the fault costs too little at each of
// the places that are tried.
func drillOn(t *testing.T, k *fault.Kind, gpus int, seed uint64) *faultDrill {
	t.Helper()
	places := newModel(t, gpus, seed).Places(k.Name)
	for i := range min(len(places), drillPlaces) {
		model := newModel(t, gpus, seed) // one without a fault
		d := &faultDrill{kind: *k, gpus: gpus, seed: seed, where: places[(len(places)/2+i)%len(places)], lasts: drillLasts + time.Duration(k.Ramp)*time.Second}
		var err error
		if d.fault, err = model.Strike(k.Name, d.where, drillLasts); err != nil {
			t.Fatal(err)
		}
		cost, err := cases.Costs(t.Context(), gpus, seed, d.fault)
		if err != nil || k.Expect == fault.Incident && cost < cases.QuietFrom {
			t.Logf("not struck at %s of %d GPUs, seed %d: it costs %.1f %% (%v)", d.where, gpus, seed, 100*cost, err)
			continue
		}
		if d.answer, err = model.Answer(d.fault); err != nil {
			t.Fatal(err)
		}
		return d
	}
	return nil
}

func newModel(t *testing.T, gpus int, seed uint64) *live.Site {
	t.Helper()
	model, err := live.New(gpus, seed, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// run injects the fault and polls twice a second, as the page does.
func (d *faultDrill) run(t *testing.T) {
	t.Helper()
	listen := wiretest.FreeAddress(t)
	d.url, d.ear = "http://"+listen, newHookEar(t)
	told := lines(t, exec.CommandContext(t.Context(), programIn(t, t.TempDir()), "demo", "--gpus", fmt.Sprint(d.gpus), "--seed", fmt.Sprint(d.seed), "--listen", listen,
		"--fault", d.kind.Name+"@"+d.where.String(), "--after", drillWarm.String(), "--lasts", d.lasts.String(), "--webhook", d.ear.url))
	wait(t, told, "the first fault is struck", 2*time.Minute)
	d.before = d.stateUntil(t, told)
	d.struck = time.Now()
	for end := d.struck.Add(d.lasts); time.Now().Before(end); pause(t.Context(), drillPolls) {
		d.look(t)
		if d.named > 0 && time.Since(d.struck) > d.named+drillOnce {
			break
		}
	}
	d.evidence(t)
}

// stateUntil returns the state of the site before the fault is injected.
func (d *faultDrill) stateUntil(t *testing.T, told <-chan string) (state string) {
	t.Helper()
	for limit := time.Now().Add(drillWarm + 2*time.Minute); time.Now().Before(limit); pause(t.Context(), drillPolls/5) {
		select {
		case line, open := <-told:
			if !open {
				t.Fatal("the demo ended")
			}
			if strings.Contains(line, "  struck  ") {
				return state
			}
		default:
			state = cmp.Or(d.state(t), state)
		}
	}
	t.Fatal("nothing was struck")
	return ""
}

// state is the state of the site, "" where it does not answer.
func (d *faultDrill) state(t *testing.T) string {
	t.Helper()
	var status struct {
		Engine string    `json:"engine"`
		Tick   time.Time `json:"tick"`
		Health struct {
			State string `json:"state"`
		} `json:"health"`
	}
	if err := readInto(t.Context(), d.url+"/api/v1/status", &status); err != nil {
		return ""
	}
	d.engine = cmp.Or(status.Engine, d.engine)
	if !d.struck.IsZero() && !status.Tick.IsZero() {
		d.behind = max(d.behind, time.Since(status.Tick))
	}
	return status.Health.State
}

// look records what has changed since the fault was injected.
func (d *faultDrill) look(t *testing.T) {
	t.Helper()
	after := time.Since(d.struck)
	if s := d.state(t); d.notHealthy == 0 && s != "" && s != "healthy" && s != d.before {
		d.notHealthy = after
	}
	x := d.best(t)
	if x == nil {
		return
	}
	if d.reported == 0 {
		d.reported = after
	}
	if d.verdict = judged(d.fault, d.answer, x); d.named == 0 && d.verdict == right {
		d.named = after
	}
}

// best is the open incident that is right, or else the first one.
func (d *faultDrill) best(t *testing.T) *opened {
	t.Helper()
	all, err := incidentsOf(t.Context(), d.url+"/", "")
	if err != nil {
		return nil
	}
	all = slices.DeleteFunc(all, func(x opened) bool { return x.Opened.Before(d.struck.Add(-time.Second)) })
	for i := range all {
		if judged(d.fault, d.answer, &all[i]) == right {
			return &all[i]
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1] // the newest is first
}

// evidence records what is shown with the incident at the end.
func (d *faultDrill) evidence(t *testing.T) {
	t.Helper()
	d.folded = d.alerts(t)
	d.shows = d.device(t)
	d.claims = "–"
	x := d.best(t)
	if x == nil {
		d.verdict = "not reported"
		return
	}
	if x.Root.Entity.IsZero() {
		d.verdict = "no root named"
	}
	d.claims = d.curves(t, x.ID)
	var all struct {
		Revisions []json.RawMessage `json:"revisions"`
	}
	if err := readInto(t.Context(), d.url+"/api/v1/incidents/"+x.ID+"/revisions", &all); err != nil {
		t.Error(err)
	}
	d.revisions = len(all.Revisions)
}

// curves counts the claims of an incident, and those of them that have samples in
// their interval.
func (d *faultDrill) curves(t *testing.T, id string) string {
	t.Helper()
	type series struct {
		Entity string    `json:"entity"`
		Metric string    `json:"metric"`
		From   time.Time `json:"from"`
		To     time.Time `json:"to"`
		T      []int64   `json:"t"`
		V      []any     `json:"v"`
	}
	var in struct {
		Claims []series `json:"claims"`
	}
	var kept struct {
		Curves []series `json:"curves"`
	}
	for path, into := range map[string]any{"": &in, "/curves": &kept} {
		err := readInto(t.Context(), d.url+"/api/v1/incidents/"+id+path, into)
		for limit := time.Now().Add(drillOnce); err != nil && time.Now().Before(limit); pause(t.Context(), drillPolls) {
			err = readInto(t.Context(), d.url+"/api/v1/incidents/"+id+path, into) // the log is still read
		}
		if err != nil {
			t.Error(err)
		}
	}
	shown := 0
	for _, c := range in.Claims {
		found := slices.ContainsFunc(kept.Curves, func(s series) bool {
			return s.Entity == c.Entity && s.Metric == c.Metric && slices.ContainsFunc(s.T, func(at int64) bool { return at >= c.From.UnixMilli() && at <= c.To.UnixMilli() })
		})
		if found {
			shown++
		} else {
			t.Logf("claim without a curve: %s of %s", c.Metric, c.Entity)
		}
	}
	return fmt.Sprintf("%d of %d", shown, len(in.Claims))
}

// alerts counts the open alerts that matter, and those of them that an incident
// includes.
func (d *faultDrill) alerts(t *testing.T) string {
	t.Helper()
	var all struct {
		Alerts []struct {
			ID       string `json:"id"`
			Severity string `json:"severity"`
		} `json:"alerts"`
		Notes map[string]struct {
			Incident string `json:"incident"`
		} `json:"notes"`
	}
	if err := readInto(t.Context(), d.url+"/api/v1/alerts?state=open", &all); err != nil {
		t.Error(err)
	}
	open, folded := 0, 0
	for _, a := range all.Alerts {
		if a.Severity == "info" {
			continue
		}
		open++
		if all.Notes[a.ID].Incident != "" {
			folded++
		}
	}
	return fmt.Sprintf("%d of %d", folded, open)
}

// sent counts the messages that the receiver got.
func (d *faultDrill) sent() int {
	d.ear.mu.Lock()
	defer d.ear.mu.Unlock()
	return d.ear.n
}

// row is the drill as a line of the table.
func (d *faultDrill) row() string {
	seconds := func(v time.Duration) string {
		if v == 0 {
			return "–"
		}
		return fmt.Sprintf("%.1f", v.Seconds())
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %s | %s | %s | %s | %s | %s | %s | %d | %d | %.0f | %s |", d.kind.Name, d.kind.Domain, d.where, d.gpus,
		seconds(d.shows), seconds(d.notHealthy), seconds(d.reported), seconds(d.named), d.verdict, d.claims, d.folded, d.revisions, d.sent(), d.behind.Seconds(), d.engine)
}

// readInto reads JSON from an address.
func readInto(ctx context.Context, url string, into any) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, a.Status)
	}
	return json.NewDecoder(a.Body).Decode(into)
}

// drillTable is docs/drills.md.
type drillTable struct {
	mu   sync.Mutex
	rows []string
}

func (d *drillTable) add(row string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rows = append(d.rows, row)
}

const drillHead = `# Every fault, struck behind real protocols

Written by ` + "`TestEveryFault`" + ` (` + "`make drills`" + `). Each fault is struck on a simulated site of its own: the smallest that has a place for it, its devices read over their own protocols, everything in one process (` + "`quintet demo`" + `). A fault lasts four minutes (ber-drift, which comes about slowly, longer) and begins %s after the site; it is struck where the same site, simulated with and without it, shows that a job loses 5 %% or more; the drill ends 15 s after the right root was named. Times are seconds from the strike, by a client that asks twice a second.

- *device shows it*: until the first sample in which a gauge or a state that the signature reads at the root has left the range it had before the strike; – where none did, or what shows it is a counter or another entity's. It is when the sample was measured: the device had the trouble for up to an interval of its readings before. The history keeps one sample in ten seconds, so that it may be up to 10 s too late, and later than the next column;
- *not healthy*: until the state of the site, which the headline of the page shows, is another than before the strike;
- *reported*: until the first incident or risk; *named*: until one whose root is the fault that was struck, where it was struck (or what also [counts as right](scoring.md)); – where that did not happen in the four minutes;
- *claims*: numbers that the incident states, and those of them whose series has samples to plot; *alerts*: alerts of severity warning or critical, and those of them that the incident includes; *revisions* of the incident, and *messages* that a receiver got by webhook, alerts among them;
- *behind*: by how many seconds, at most, the log was behind the clock, which all times contain: 2 to 4 s on a machine that does nothing else. Beyond 30 s a drill is not counted.

Of the 44 faults, workload-change is benign and needs no report. Management controllers and exporters are read every 5 s. What a machine that dies shows is that its data ends, and that is reported when the job's next step is overdue.

%s

| fault | domain | struck at | GPUs | device shows it | not healthy | reported | named | the answer | claims with a curve | alerts included | revisions | messages | behind | engine |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// write puts the rows into the file; the row of a fault that was not injected now
// stays.
func (d *drillTable) write(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	rows := map[string]string{}
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, row := range append(strings.Split(string(old), "\n"), d.rows...) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(row, "| "), " |"); ok && fault.Find(name) != nil {
			rows[name] = row
		}
	}
	var names []string
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	text := fmt.Sprintf(drillHead, drillWarm, drillSummary(names, rows))
	for _, name := range names {
		text += rows[name] + "\n"
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// drillSummary states which rows are not right at the end, and in which the state was
// healthy for longer than one interval after a sample showed the trouble.
func drillSummary(names []string, rows map[string]string) string {
	var wrong, late []string
	for _, name := range names {
		cells := strings.Split(rows[name], "|")
		answer := strings.TrimSpace(cells[9])
		if answer != "right" && name != "workload-change" {
			wrong = append(wrong, name+" ("+answer+")")
		}
		shows, err := strconv.ParseFloat(strings.TrimSpace(cells[5]), 64)
		healthy, errHealthy := strconv.ParseFloat(strings.TrimSpace(cells[6]), 64)
		if err == nil && errHealthy == nil && healthy > shows+5 {
			late = append(late, fmt.Sprintf("%s (%.1f s)", name, healthy-shows))
		}
	}
	list := func(of []string) string { return cmp.Or(strings.Join(of, ", "), "none") }
	return fmt.Sprintf("Of %d faults that need a report not right at the end: %s. Healthy for more than one interval after a sample that is kept shows the trouble: %s.", len(names)-1, list(wrong), list(late))
}

// TestDrillsAreSummarised: what docs/drills.md states of its rows is what they say.
func TestDrillsAreSummarised(t *testing.T) {
	const document = "../../docs/drills.md"
	written, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "drills.md")
	if err := os.WriteFile(again, written, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&drillTable{}).write(again); err != nil {
		t.Fatal(err)
	}
	wanted, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(document, wanted, 0o600); err != nil {
			t.Fatal(err)
		}
	} else if string(wanted) != string(written) {
		t.Error("docs/drills.md does not state what its rows say: run this test with UPDATE=1")
	}
}
