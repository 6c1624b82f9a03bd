package answer_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/replay/answer"
	"github.com/quintet-dc/quintet/telemetry"
)

const s = telemetry.Time(1e9)

var (
	nic = telemetry.Entity{Kind: telemetry.NIC, Name: "h13/nic0"}
	job = telemetry.Entity{Kind: telemetry.Job, Name: "train"}
)

func ptr[T any](v T) *T { return &v }

func incident() explain.Incident {
	return explain.Incident{
		ID: "inc-1", State: explain.StateResolved, Kind: explain.KindIncident, Severity: explain.SeverityWarning, Title: "train is 31 % slower.",
		Opened: 100 * s, Updated: 200 * s, Resolved: ptr(200 * s), Resolution: ptr("recovered"), Revision: 3,
		Onset: telemetry.Interval{Earliest: 96 * s, Latest: 98 * s},
		Root: explain.Root{Entity: nic, Domain: telemetry.Network, Signature: "slow-receiver", Confidence: 0.934,
			Onset: telemetry.Interval{Earliest: 95 * s, Latest: 96 * s}},
		Alternatives: []explain.Alternative{{Entity: nic, Signature: "pfc-storm", Confidence: 0.04}},
		Contributors: []explain.Contributor{{Entity: telemetry.Entity{Kind: telemetry.Job, Name: "ckpt"}, Share: 0.8}},
		Impact: explain.Impact{Jobs: []explain.JobImpact{{Job: job, State: "slow", Measure: "job_step_seconds", Before: ptr(0.656), Now: ptr(2.51),
			Expected: ptr(0.66), Slowdown: ptr(3.83), MFUBefore: ptr(0.41), MFUNow: ptr(0.11), GPUSecondsLost: 81234, Share: 0.97}}},
		Chain: []explain.Link{{Entity: nic, Domain: telemetry.Network, Metric: "port_tx_bytes_total", Shape: "burst",
			Onset: telemetry.Interval{Earliest: 97 * s, Latest: 98 * s}, Relation: telemetry.Connects, From: job, Before: 1.5e9, Now: 2, Unit: "bytes/s", Why: "because"}},
		RuledOut:   []explain.RuledOut{{Domain: telemetry.Cooling, Why: "no gpu is hot"}, {Domain: telemetry.Power, Why: "no cap"}},
		BlindSpots: []explain.BlindSpot{{Entity: nic, Metric: "pcie_link_width", Reason: "never came", WouldTell: "slow-receiver from pcie-downgrade"}},
		Actions:    []explain.Action{{Kind: "drain", Target: nic, Text: "Move the job."}},
	}
}

const wantText = `train is 31 % slower.
            inc-1 · incident · warning · resolved · opened 00:01:40 · resolved 00:03:20 · recovered · revision 3
  root      slow-receiver at nic:h13/nic0 (network), confidence 93.4 %, since 00:01:35 ± 0.5 s
  with      job:ckpt, 80 % of it
  chain        -0.5 ± 0.5 s nic:h13/nic0 port_tx_bytes_total burst: 1.50 G → 2 bytes/s, from job:train (connects)
                       because
  degrades  job:train slow: job_step_seconds 2.51, before 0.656 (×3.83), MFU 11 %, before 41 %, 81234 GPU-seconds lost, 97 % of the job's loss
  or        pfc-storm at nic:h13/nic0, 4 %
  not       cooling: no gpu is hot
            power: no cap
  unseen    nic:h13/nic0 pcie_link_width: never came; would distinguish slow-receiver from pcie-downgrade
  do        drain nic:h13/nic0: Move the job.
  evidence     -1.0 ± 1.0 s nic:h13/nic0 port_tx_bytes_total burst: 0 → 5, score 9, until +52.0 s

`

// The text says everything that the incident does; evidence is what lies on its
// entities and overlaps it.
func TestText(t *testing.T) {
	in := incident()
	found := func(m telemetry.MetricName, onset, ended telemetry.Time) detect.Finding {
		return detect.Finding{Series: telemetry.Series{Entity: nic, Metric: m}, Shape: telemetry.ShapeBurst,
			Onset: telemetry.Interval{Earliest: onset, Latest: onset + 2*s}, Ended: ended, Now: 5, Score: 9}
	}
	behind := answer.Evidence{
		nic: {found("port_tx_bytes_total", 96*s, 150*s), found("before", 10*s, 20*s), found("after", 300*s, 0)},
		telemetry.Entity{Kind: telemetry.Node, Name: "elsewhere"}: {found("other", 96*s, 0)},
	}
	var b strings.Builder
	if err := answer.Write(&b, &in, behind); err != nil || b.String() != wantText {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := answer.Write(&b, &in, nil); err != nil || strings.Contains(b.String(), "evidence") || strings.Contains(b.String(), "because") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// An incident of which next to nothing is known is printed all the same.
func TestTextOfLittle(t *testing.T) {
	var b strings.Builder
	in := explain.Incident{ID: "inc-2", Title: "t", Impact: explain.Impact{Jobs: []explain.JobImpact{{Job: job, State: "stalled", Share: 1}}}}
	if err := answer.Write(&b, &in, nil); err != nil || !strings.Contains(b.String(), "job:train stalled, 0 GPU-seconds lost\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// Every difference is named by its field; equal answers have none.
func TestDiff(t *testing.T) {
	var file bytes.Buffer
	before := incident()
	gone := incident()
	gone.ID, gone.Title = "inc-0", "gone"
	if err := answer.WriteFile(&file, []explain.Incident{before, gone}); err != nil {
		t.Fatal(err)
	}
	if d, err := answer.Diff(file.Bytes(), []explain.Incident{gone, before}); err != nil || len(d) != 0 {
		t.Errorf("%v %v", d, err)
	}
	now := incident()
	now.Root.Confidence, now.Resolved = 0.5, nil
	now.RuledOut = now.RuledOut[:1]
	now.Actions = append(now.Actions, explain.Action{Kind: "wait", Target: nic, Text: "<b>"})
	fresh := incident()
	fresh.ID, fresh.Title = "inc-9", "fresh"
	d, err := answer.Diff(file.Bytes(), []explain.Incident{now, fresh})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`inc-0: no more: gone`,
		`inc-1: actions[1]: now {"kind":"wait","target":"nic:h13/nic0","text":"<b>"}`,
		`inc-1: resolved: null, was "1970-01-01T00:03:20Z"`,
		`inc-1: root.confidence: 0.5, was 0.934`,
		`inc-1: ruled_out[1]: no more {"domain":"power","why":"no cap"}`,
		`inc-9: only now: fresh`,
	}
	var got []string
	for _, x := range d {
		got = append(got, x.String())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Fields of another version are compared, too, and types may differ.
func TestDiffOfOtherVersions(t *testing.T) {
	in := incident()
	b, err := json.Marshal(answer.File{Incidents: []explain.Incident{in}})
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(b), `"revision":3`, `"revision":[3],"mood":"sad"`, 1)
	d, err := answer.Diff([]byte(other), []explain.Incident{in})
	if err != nil || len(d) != 2 || d[0].String() != `inc-1: mood: no more "sad"` || d[1].String() != `inc-1: revision: 3, was [3]` {
		t.Errorf("%v %v", d, err)
	}
}

func TestNoAnswer(t *testing.T) {
	for _, text := range []string{"", "[]", "{}", `{"incidents":[{}]}`, `{"incidents":[{"id":"a"},{"id":"a"}]}`, `{"incidents":3}`} {
		if d, err := answer.Diff([]byte(text), nil); err == nil {
			t.Errorf("%q: %v", text, d)
		}
	}
	var b strings.Builder
	if err := answer.WriteFile(&b, nil); err != nil || b.String() != "{\n \"incidents\": []\n}\n" {
		t.Errorf("%v %q", err, b.String())
	}
}
