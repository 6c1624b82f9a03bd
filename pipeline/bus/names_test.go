package bus

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

func TestNames(t *testing.T) {
	n, err := NamesOf("hall.2")
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		n.Log(): "quintet-hall_2e2-log", n.Incidents(): "quintet-hall_2e2-incidents", n.Bucket(Replicas): "quintet-hall_2e2-replicas",
		n.Of("h1"): "quintet.v1.hall_2e2.h1.>", n.Ticks(): "quintet.v1.hall_2e2.ticks", n.Config(): "quintet.v1.hall_2e2.config",
		n.revision(incidentsTok, "inc-1", 3, 0): "quintet.v1.hall_2e2.incidents.inc-1.3", n.revision(incidentsTok, "inc-1", 3, 2): "quintet.v1.hall_2e2.incidents.inc-1.3-2", n.revision(alertsTok, "a", 1, 0): "quintet.v1.hall_2e2.alerts.a.1", n.question("jobs"): "quintet.v1.hall_2e2.ask.jobs",
		n.Of("ask"): "quintet.v1.hall_2e2._61sk.>", n.Of("alerts"): "quintet.v1.hall_2e2._61lerts.>", n.Of("a.b"): "quintet.v1.hall_2e2.a_2eb.>",
		n.filter("", telemetry.EdgeRecord): "quintet.v1.hall_2e2.*.edges",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, site := range []string{"", strings.Repeat("x", 65)} {
		if _, err := NamesOf(site); err == nil {
			t.Errorf("site %q: no error", site)
		}
	}
	for _, c := range []string{"", strings.Repeat("x", 201)} {
		if _, err := n.Record(c, telemetry.EventRecord); err == nil {
			t.Errorf("collector %q: no error", c)
		}
	}
	if _, err := n.Record("h1", 77); err == nil {
		t.Error("a kind that is none")
	}
	// The same subject twice would be two questions for one name.
	seen := map[string]string{}
	for _, name := range []string{"a.b", "a_2eb", "a_b", "a b", "_", "", "ask", "_61sk", "ticks", "é"} {
		s := collectorToken(name)
		if other, twice := seen[s]; twice {
			t.Errorf("%q and %q are both %s", name, other, s)
		}
		seen[s] = name
	}
}

func FuzzToken(f *testing.F) {
	for _, s := range []string{"h1", "n1.rack/2", "ask", "_2e", "\xff\x00 *>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, token := range []string{Token(name), collectorToken(name)} {
			if strings.ContainsAny(token, ".*> \t\r\n/\\") || token == "" {
				t.Fatalf("%q gives the token %q", name, token)
			}
			if back, err := untoken(token); err != nil || back != name {
				t.Fatalf("%q gives %q, which is %q, %v", name, token, back, err)
			}
		}
		if back, err := untoken(name); name != "" && err == nil && Token(back) != name && collectorToken(back) != name {
			t.Fatalf("%q is read as %q", name, back)
		}
	})
}
