package score

import (
	"bufio"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// recordedSteps reads the job_step_seconds samples of a bundle, and nothing
// else, without the bundle reader: the labels are checked against the file.
func recordedSteps(t *testing.T, file string) []Step {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []Step
	for lines := bufio.NewScanner(z); lines.Scan(); {
		col := strings.Split(lines.Text(), ",")
		if len(col) < 4 || col[2] != "job_step_seconds" {
			continue
		}
		at, err := strconv.ParseInt(col[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		length, err := strconv.ParseFloat(col[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Step{Job: entity(col[1]), End: telemetry.Time(at), Seconds: length})
	}
	return out
}

// Our reading of "before", "overlaps the fault" and "slowdown" is the
// labeller's: on every shared run the steps give the label's own numbers.
func TestDefinitionsAgreeWithTheLabels(t *testing.T) {
	if testing.Short() {
		t.Skip("reads every shared run")
	}
	files, err := filepath.Glob("../../../shared/traces/roce/*/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no shared traces beside the module")
	}
	faults := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		truth, err := ParseTruth(b)
		if err != nil {
			t.Fatal(err)
		}
		if len(truth.Faults) == 0 {
			continue
		}
		c := Case{Dir: filepath.Dir(name), Truth: truth, Steps: recordedSteps(t, filepath.Join(filepath.Dir(name), "samples.csv.gz"))}
		for i := range truth.Faults {
			faults++
			checkLabel(t, &c, &c.Truth.Faults[i])
		}
	}
	if faults < 20 {
		t.Errorf("only %d faults checked", faults)
	}
}

func checkLabel(t *testing.T, c *Case, f *Fault) {
	t.Helper()
	s := c.stepsOf(f)
	if got := len(s.during()); got != f.StepsInFault {
		t.Errorf("%s: %d steps overlap the fault, the label says %d", c.Dir, got, f.StepsInFault)
	}
	labelled, ok := s.loss(f)
	unlabelled := *f
	unlabelled.Slowdown = 0
	measured, ok2 := s.loss(&unlabelled)
	// Labels carry four decimals.
	if !ok || !ok2 || math.Abs(labelled-measured) > 1e-4*s.before {
		t.Errorf("%s: loss %v s per step by the label, %v by the steps", c.Dir, labelled, measured)
	}
	if h := s.degradedSince(f); h < f.Onset || h > f.End {
		t.Errorf("%s: hurt from %v, outside the fault", c.Dir, h)
	}
}
