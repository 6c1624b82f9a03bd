package promlint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/pipeline/store/label"
	"github.com/quintet-dc/quintet/rules/prometheus"
	"github.com/quintet-dc/quintet/rules/promlint"
	"github.com/quintet-dc/quintet/telemetry"
)

const root = "../.."

// TestOurRules lints the rules that are part of the program.
func TestOurRules(t *testing.T) {
	for _, p := range promlint.Rules(promlint.Standard(), rulesOf(t)...) {
		t.Error(p)
	}
}

func rulesOf(t *testing.T) (out []promlint.File) {
	t.Helper()
	for _, name := range prometheus.Names() {
		text, err := fs.ReadFile(prometheus.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, promlint.File{Name: name, Text: text})
	}
	if len(out) != 7 {
		t.Fatalf("%d files of rules, want one a domain, coverage and quintet", len(out))
	}
	return out
}

// TestOurDashboards lints the dashboards that are part of the project.
func TestOurDashboards(t *testing.T) {
	for _, f := range dashboards(t) {
		if !promlint.IsDashboard(f.Text) {
			t.Errorf("%s: no dashboard", f.Name)
		}
		for _, p := range promlint.Dashboard(promlint.Standard(), f) {
			t.Error(p)
		}
	}
}

func dashboards(t *testing.T) (out []promlint.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "dashboards/grafana/dashboards/*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, promlint.File{Name: name, Text: text})
	}
	return out
}

// TestEveryRuleIsTestedAndDocumented wants of each alert that a test sees it
// fire, that a test with its input sees it silent, and a section in the
// documentation; of each recorded series that a test wants a value of it.
func TestEveryRuleIsTestedAndDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/rules-prometheus.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rulesOf(t) {
		var doc rulefmt.RuleGroups
		if err := yaml.Unmarshal(f.Text, &doc); err != nil {
			t.Fatal(err)
		}
		tests, err := fs.ReadFile(prometheus.Files(), strings.TrimSuffix(f.Name, ".yml")+"_test.yml")
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range doc.Groups {
			for _, r := range g.Rules {
				switch {
				case r.Record != "":
					wanted(t, f.Name, string(tests), r.Record)
				default:
					fires(t, f.Name, string(tests), r.Alert)
					documented(t, string(page), r)
				}
			}
		}
	}
}

// wanted is a test of a recorded series that has samples to compare.
func wanted(t *testing.T, file, tests, name string) {
	t.Helper()
	re := regexp.MustCompile(`expr: '[^'\n]*` + regexp.QuoteMeta(name) + `[^a-z0-9_:][^\n]*\n\s+eval_time: [^\n]*\n\s+exp_samples:\n`)
	if !re.MatchString(tests) {
		t.Errorf("%s: no test wants a value of %s", file, name)
	}
}

// fires is a test in which an alert is among those that fire, in a group that
// wants it silent at another time.
func fires(t *testing.T, file, tests, name string) {
	t.Helper()
	for _, group := range strings.Split(tests, "\n  - name: ")[1:] {
		fires := strings.Contains(group, `{alertname="`+name+`"`) ||
			regexp.MustCompile(`ALERTS\{alertname="`+name+`"[^\n]*\n\s+eval_time: [^\n]*\n\s+exp_samples:\n`).MatchString(group)
		silent := regexp.MustCompile(`ALERTS\{[^\n]*exp_samples: \[\]`).MatchString(group) || lists(group, name)
		if fires && (silent || name == "QuintetWatchdog") {
			return
		}
	}
	t.Errorf("%s: no test sees %s both fire and be silent", file, name)
}

// lists reports whether a group lists, at some time, which alerts fire, and this
// one is not among them.
func lists(group, name string) bool {
	for _, x := range strings.Split(group, "- expr: ")[1:] {
		if strings.Contains(x, `(ALERTS{alertstate="firing"})`) && !strings.Contains(x, `alertname="`+name+`"`) {
			return true
		}
	}
	return false
}

func documented(t *testing.T, page string, r rulefmt.Rule) {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n### "+r.Alert+"\n")
	if !found {
		t.Errorf("docs/rules-prometheus.md has no section ### %s", r.Alert)
		return
	}
	section, _, _ := strings.Cut(rest, "\n##")
	got := strings.Join(strings.Fields(links.ReplaceAllString(section, "$1")), " ")
	if want := sectionOf(r); got != want {
		t.Errorf("docs/rules-prometheus.md, ### %s:\n%s\nthe rule:\n%s", r.Alert, got, want)
	}
}

// links are those of Markdown.
var links = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)

// sectionOf is what the documentation has about an alert, on one line: severity,
// expression, for how long, and the runbook.
func sectionOf(r rulefmt.Rule) string {
	severity := r.Labels["severity"]
	text := strings.ToUpper(severity[:1]) + severity[1:] + ". `" + strings.TrimSpace(r.Expr) + "`"
	if r.For > 0 {
		text += ", for " + r.For.String()
	}
	return strings.Join(strings.Fields(text+". "+r.Annotations["runbook"]), " ")
}

// TestOwnMetricsExist wants every metric of ours that the vocabulary lists in
// our source.
func TestOwnMetricsExist(t *testing.T) {
	var source strings.Builder
	for _, dir := range []string{"pipeline", "collectors"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			source.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range promlint.Standard().Metrics() {
		if !strings.HasPrefix(name, "quintet_") {
			continue
		}
		stem := strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
		stem = regexp.MustCompile(`^quintet_outbox_removed_[a-z]+_total$`).ReplaceAllString(stem, "quintet_outbox_removed_%s_total")
		if !strings.Contains(source.String(), stem) {
			t.Errorf("nothing of ours states %s", name)
		}
	}
}

// TestLabelsAsTheHistoryHas holds the labels by kind against those that the
// history gives.
func TestLabelsAsTheHistoryHas(t *testing.T) {
	for _, k := range telemetry.Kinds() {
		for _, name := range []string{"a", "a/b", "a/b/c"} {
			label.Entity(telemetry.Entity{Kind: k, Name: name}, func(n, _ string) {
				if !slices.Contains(append(promlint.PartLabels(k), "kind", "name"), n) && strings.Count(name, "/") >= depth(k) {
					t.Errorf("%s:%s has label %s in the history, which the lint does not know", k, name, n)
				}
			})
		}
	}
}

// depth is how many parts a name of this kind has at least, less one.
func depth(k telemetry.Kind) int {
	switch k {
	case telemetry.GPU, telemetry.NIC, telemetry.NVSwitch, telemetry.Port, telemetry.Rank:
		return 1
	case telemetry.NVLink, telemetry.Queue:
		return 2
	}
	return 0
}
