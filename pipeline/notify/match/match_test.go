package match_test

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

func entity(t testing.TB, s string) telemetry.Entity {
	t.Helper()
	e, err := telemetry.ParseEntity(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// slow is a NIC of h13 that holds up two jobs.
func slow(t testing.TB) match.Facts {
	t.Helper()
	in := explain.Incident{Kind: "incident", Severity: "critical", Site: "lab",
		Root: explain.Root{Entity: entity(t, "nic:h13/nic0"), Domain: telemetry.Network, Signature: "slow-receiver"},
		Impact: explain.Impact{Jobs: []explain.JobImpact{{Job: entity(t, "job:train")}, {Job: entity(t, "job:eval.7")}},
			Entities: []telemetry.Entity{entity(t, "port:leaf3/eth12")}}}
	return match.Owned(match.Of(&in), []match.Owner{{Name: "net", Match: matchers(t, "domain=network")}, {Name: "dc", Match: matchers(t, "domain=power")}})
}

func matchers(t testing.TB, texts ...string) (out match.Matchers) {
	t.Helper()
	for _, s := range texts {
		m, err := match.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

func TestMatches(t *testing.T) {
	f := slow(t)
	for text, want := range map[string]bool{
		"severity=critical": true, "severity!=critical": false, `severity =~ "critical|warning"`: true, "severity!~crit": true, // the whole value
		"kind=incident": true, "kind=risk": false, "domain=network": true, "signature=slow-*": true, "site=lab": true, "site=": false,
		"job=train": true, "job=job:train": true, "job=eval.*": true, "job=evalx7": false, "job!=train": false, "job!=other": true, "job=~e.*": true, "job!~e.*": false,
		"root=nic:h13/nic0": true, "root=port:leaf3/eth12": false, "entity=port:leaf3/*": true, "entity=nic:h13/*": true, "entity=job:train": true, "entity!=nic:*": false,
		"within=node:h13": true, "within=nic:h13/nic0": true, "within=node:h1": false, "within=switch:leaf3": false,
		"team=net": true, "team=dc": false, "team!=dc": true, "team=": false,
	} {
		if got := matchers(t, text).Match(f); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if !matchers(t).Match(f) || !matchers(t, "job=train", "team=net").Match(f) || matchers(t, "job=train", "team=dc").Match(f) {
		t.Error("all must hold, and none hold for everything")
	}
	nobody := match.Of(&explain.Incident{})
	if !matchers(t, "job=").Match(nobody) || !matchers(t, "team=").Match(nobody) || matchers(t, "job!=").Match(nobody) {
		t.Error("a name without a value has the empty one")
	}
}

// TestWithinFollowsGraph adds containers that only edges show.
func TestWithinFollowsGraph(t *testing.T) {
	f := slow(t)
	wider := f.With(match.Within, "rack:r3", "rack:r3")
	if matchers(t, "within=rack:r3").Match(f) || !matchers(t, "within=rack:r3").Match(wider) || len(wider.All(match.Within)) != 3 {
		t.Errorf("%v, then %v", f.All(match.Within), wider.All(match.Within))
	}
}

func TestContainers(t *testing.T) {
	for name, want := range map[string]string{
		"gpu:n1/3": "gpu:n1/3 node:n1", "queue:leaf3/eth12/3": "queue:leaf3/eth12/3 port:leaf3/eth12 switch:leaf3", "nvlink:n1/3/7": "nvlink:n1/3/7 gpu:n1/3 node:n1",
		"rank:j/17": "rank:j/17 job:j", "rack:r1": "rack:r1", "psu:p/1": "psu:p/1", "port:leaf3/Ethernet1%2F1": "port:leaf3/Ethernet1%2F1 switch:leaf3",
	} {
		var got []string
		for _, e := range match.Containers(entity(t, name)) {
			got = append(got, e.String())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", name, s, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, text := range []string{"", "severity", "Severity=x", "colour=red", "severity==x=~", `job="x`, `job="`, "entity=~(", "=x", "job=" + strings.Repeat("x", 1001)} {
		if m, err := match.Parse(text); err == nil && text != "severity==x=~" {
			t.Errorf("%q became %v", text, m)
		}
	}
	for _, text := range []string{`{"name":"job","op":"~","value":"x"}`, `{"name":"jobs","value":"x"}`, `{"name":"job","op":"=~","value":"("}`, `"job=x"`} {
		var m match.Matcher
		if err := json.Unmarshal([]byte(text), &m); err == nil {
			t.Errorf("%s became %v", text, m)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, text := range []string{"job=x", `entity!~"a|\b"`, "root!=nic:*", "team="} {
		m := matchers(t, text)[0]
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back match.Matcher
		if err := json.Unmarshal(b, &back); err != nil || back.String() != m.String() {
			t.Errorf("%s became %v, %v", b, back, err)
		}
	}
}

// FuzzMatcher holds every operator to a naive oracle, and its opposite to the
// contrary.
func FuzzMatcher(f *testing.F) {
	f.Add("=", "a*", "abc")
	f.Add("=~", "a|b", "ab")
	f.Add("!=", "**", "")
	f.Add("=", "[*", "[x")
	f.Fuzz(func(t *testing.T, op, pattern, value string) {
		m, err := match.New(match.Root, op, pattern)
		if err != nil {
			return
		}
		facts := match.Facts{}.With(match.Root, value)
		var want bool
		switch op {
		case match.Equal, match.NotEqual:
			if strings.ContainsAny(pattern, `*?[\`) && strings.ContainsAny(pattern+value, "/?[\\\n") {
				return // path.Match knows more than we do
			}
			want, err = path.Match(pattern, value)
			if err != nil || !strings.Contains(pattern, "*") {
				want = pattern == value
			}
		default:
			at := regexp.MustCompile("(?s:" + pattern + ")")
			at.Longest()
			want = slices.ContainsFunc(at.FindAllStringIndex(value, -1), func(p []int) bool { return p[0] == 0 && p[1] == len(value) })
			if strings.ContainsAny(pattern, `^$\*+?|{`) {
				return // anchors, and matches that begin elsewhere
			}
		}
		if strings.HasPrefix(op, "!") {
			want = !want
		}
		if got := m.Matches(facts); got != want {
			t.Fatalf("%s over %q: %v", m, value, got)
		}
	})
}

func ExampleParse() {
	m, err := match.Parse(`entity=~"switch:spine.*"`)
	fmt.Println(m, err)
	// Output: entity=~"switch:spine.*" <nil>
}
