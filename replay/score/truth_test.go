package score

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

const sampleTruth = `{"class":"slownic","judged_jobs":["job:train"],
 "faults":[{"signature":"slow-receiver","accept_signatures":["pfc-storm"],"entity":"nic:h13/nic0",
 "accept":["node:h13"],"victims":["port:leaf1/p3"],"domain":"network","onset_ns":1,"end_ns":2,"hurt_ns":null,
 "jobs":["job:train"],"slowdown":3.83,"steps_in_fault":10,"seed":4}],"note":"x"}`

func TestParseTruth(t *testing.T) {
	got, err := ParseTruth([]byte(sampleTruth))
	if err != nil {
		t.Fatal(err)
	}
	want := Truth{
		Class: "slownic", JudgedJobs: entities("job:train"), Unknown: []string{"faults[0].seed", "note"},
		Faults: []Fault{{Signature: "slow-receiver", AcceptSignatures: []string{"pfc-storm"}, Entity: entity("nic:h13/nic0"),
			Accept: entities("node:h13"), Victims: entities("port:leaf1/p3"), Domain: telemetry.Network, Expect: ExpectIncident,
			Onset: 1, End: 2, Jobs: entities("job:train"), Slowdown: 3.83, StepsInFault: 10}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTruthSurvivesItsOwnJSON(t *testing.T) {
	first, err := ParseTruth([]byte(sampleTruth))
	if err != nil {
		t.Fatal(err)
	}
	first.Unknown = nil
	b, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseTruth(b)
	if err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if !reflect.DeepEqual(first, again) {
		t.Errorf("got  %+v\nwant %+v", again, first)
	}
}

func TestParseTruthSaysWhatIsWrong(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(sampleTruth, old, new, 1) }
	tests := []struct{ name, text, want string }{
		{"not JSON", "{\n\"class\": nope}", "line 2"},
		{"cut off", sampleTruth[:60], "unexpected EOF"},
		{"two objects", sampleTruth + "\n{}", "line 5: text after the end"},
		{"a word for a number", with(`"onset_ns":1`, `"onset_ns":"soon"`), "onset_ns"},
		{"unknown kind", with("nic:h13/nic0", "nick:h13/nic0"), `unknown kind "nick"`},
		{"no onset", with(`"onset_ns":1,`, ""), "onset_ns: missing"},
		{"end before onset", with(`"end_ns":2`, `"end_ns":1`), "faults[0]: end_ns 1: not after onset_ns 1"},
		{"no signature", with(`"slow-receiver"`, `""`), "faults[0]: signature: empty"},
		{"unknown expectation", with(`"slowdown"`, `"expect":"perhaps","slowdown"`), `expect "perhaps"`},
		{"a node for a job", with(`"jobs":["job:train"]`, `"jobs":["node:h1"]`), `jobs: "node:h1" is not a job`},
		{"a node judged", with(`"judged_jobs":["job:train"]`, `"judged_jobs":["node:h1"]`), `judged_jobs: "node:h1"`},
		{"unknown domain", with(`"network"`, `"plumbing"`), `domain "plumbing"`},
		{"negative slowdown", with("3.83", "-3"), "slowdown -3"},
		{"no job at all", `{"faults":[{"signature":"leak","entity":"loop:a","onset_ns":1}]}`, "jobs: empty"},
	}
	for _, tc := range tests {
		if _, err := ParseTruth([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want it to say %q", tc.name, err, tc.want)
		}
	}
}

func TestTruthOfTheSharedRuns(t *testing.T) {
	files, err := filepath.Glob("../../../shared/traces/*/*/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no shared traces beside the module")
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		truth, err := ParseTruth(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(truth.Unknown) > 0 {
			t.Errorf("%s: keys nobody reads: %v", name, truth.Unknown)
		}
	}
}

func FuzzParseTruth(f *testing.F) {
	f.Add([]byte(sampleTruth))
	f.Add([]byte(`{"faults":[{"onset_ns":0}]}`))
	f.Add([]byte(`{"faults":[null]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		truth, err := ParseTruth(b)
		if err != nil {
			return
		}
		if err := truth.Validate(); err != nil {
			t.Errorf("accepted, yet %v", err)
		}
		// Whatever is accepted can be judged and written.
		r := Judge([]Case{{Dir: "x", Truth: truth, End: 100}}, Settings{})
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("cannot be written: %v", err)
		}
	})
}

func entity(s string) telemetry.Entity {
	e, err := telemetry.ParseEntity(s)
	if err != nil {
		panic(err) // a mistake in the test itself
	}
	return e
}

func entities(names ...string) []telemetry.Entity {
	var out []telemetry.Entity
	for _, n := range names {
		out = append(out, entity(n))
	}
	return out
}
