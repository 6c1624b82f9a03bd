package promunit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/rules/promunit"
)

// own are the tests of our rules.
func own(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("../prometheus/*_test.yml")
	if err != nil || len(names) != 7 {
		t.Fatalf("%d files of tests, want 7: %v", len(names), err)
	}
	return names
}

// TestOurRules runs the tests of our rules.
func TestOurRules(t *testing.T) {
	for _, name := range own(t) {
		r, err := promunit.Run(t.Context(), name)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, w := range r.Wrong {
			t.Error(w)
		}
		if r.Tests == 0 {
			t.Errorf("%s: no tests", name)
		}
	}
}

// cases are files of tests and whether promtool passes them.
func cases() map[string]bool {
	const rules = `groups: [{name: g, rules: [{record: "job:x:sum", expr: "sum by (job) (x)"}, {alert: High, expr: "x > 2", for: 1m, labels: {severity: "a"}, annotations: {s: "{{ $labels.job }} {{ $value }}"}}]}]`
	file := func(body string) string { return "rule_files: [r.yml]\n" + body + "\n---rules\n" + rules }
	const in = `input_series: [{series: 'x{job="a"}', values: '1+1x10'}, {series: 'x{job="b"}', values: '1 _ 1 stale'}]`
	return map[string]bool{
		file(`tests: [{` + in + `, promql_expr_test: [{expr: "job:x:sum", eval_time: 3m, exp_samples: [{labels: 'job:x:sum{job="a"}', value: 4}]}]}]`):                                          true,
		file(`tests: [{` + in + `, promql_expr_test: [{expr: "job:x:sum", eval_time: 2m, exp_samples: [{labels: 'job:x:sum{job="a"}', value: 3}]}]}]`):                                          false, // b is there
		file(`tests: [{` + in + `, promql_expr_test: [{expr: "count(x)", eval_time: 1m, exp_samples: [{labels: '{}', value: 2}]}]}]`):                                                           true,  // omitted is not stale
		file(`tests: [{` + in + `, promql_expr_test: [{expr: "x", eval_time: 30m}]}]`):                                                                                                          true,
		file(`tests: [{` + in + `, alert_rule_test: [{alertname: High, eval_time: 2m}]}]`):                                                                                                      true, // pending
		file(`tests: [{` + in + `, alert_rule_test: [{alertname: High, eval_time: 3m, exp_alerts: [{exp_labels: {job: a, severity: a}, exp_annotations: {s: "a 4"}}]}]}]`):                      true,
		file(`tests: [{` + in + `, alert_rule_test: [{alertname: High, eval_time: 3m, exp_alerts: [{exp_labels: {job: a, severity: a}, exp_annotations: {s: "a 5"}}]}]}]`):                      false,
		file(`tests: [{` + in + `, alert_rule_test: [{alertname: High, eval_time: 3m}]}]`):                                                                                                      false,
		file(`tests: [{` + in + `, alert_rule_test: [{eval_time: 3m}]}]`):                                                                                                                       false,
		file(`tests: [{start_timestamp: 2026-01-02T03:04:05Z, ` + in + `, promql_expr_test: [{expr: "time()", eval_time: 1m, exp_samples: [{value: 1767323105}]}]}]`):                           true,
		file(`tests: [{external_labels: {dc: x}, ` + in + `, promql_expr_test: [{expr: "1 +", eval_time: 1m}]}]`):                                                                               false,
		file(`tests: [{` + in + `, promql_expr_test: [{expr: "sum(x) * 0.1", eval_time: 2m, exp_samples: [{labels: '{}', value: 0.4}]}]}]`):                                                     true,
		file("fuzzy_compare: true\n" + `tests: [{` + in + `, promql_expr_test: [{expr: "0.1 + 0.2 + 0 * sum(x)", eval_time: 2m, exp_samples: [{labels: '{}', value: 0.3}]}]}]`):                 true,
		file(`tests: [{` + in + `, promql_expr_test: [{expr: "0.1 + 0.2 + 0 * sum(x)", eval_time: 2m, exp_samples: [{labels: '{}', value: 0.3}]}]}]`):                                           false,
		file(`tests: [{interval: 10s, ` + in + `, promql_expr_test: [{expr: "x{job=\"a\"}", eval_time: 35s, exp_samples: [{labels: 'x{job="a"}', value: 4}]}]}]`):                               false, // evaluated each minute: only what was fed at 0
		file("evaluation_interval: 5s\n" + `tests: [{interval: 10s, ` + in + `, promql_expr_test: [{expr: "x{job=\"a\"}", eval_time: 35s, exp_samples: [{labels: 'x{job="a"}', value: 4}]}]}]`): true,
		file(`tests: [{` + in + `, promql_expr_test: [{expr: "x[5m]", eval_time: 2m}]}]`):                                                                                                       false,
		file("surprise: 1\ntests: []"): false,
	}
}

// TestAsPromtoolDoes runs files of tests through promtool and through us: they
// pass and fail alike.
func TestAsPromtoolDoes(t *testing.T) {
	tool, err := filepath.Abs("../../bin/peers/promtool")
	if _, missing := os.Stat(tool); err != nil || missing != nil {
		tool = ""
	}
	for text, want := range cases() {
		body, rules, _ := strings.Cut(text, "\n---rules\n")
		dir := t.TempDir()
		path := filepath.Join(dir, "t.yml")
		for name, text := range map[string]string{path: body, filepath.Join(dir, "r.yml"): rules} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := promunit.Run(t.Context(), path)
		if got := err == nil && len(r.Wrong) == 0; got != want {
			t.Errorf("%s\ncame out %v, want %v: %v %v", body, got, want, err, r.Wrong)
		}
		if tool == "" {
			continue
		}
		out, err := exec.CommandContext(t.Context(), tool, "test", "rules", path).CombinedOutput()
		if got := err == nil; got != want {
			t.Errorf("%s\npromtool says %v, want %v: %s", body, got, want, out)
		}
	}
	if tool == "" {
		t.Skip("bin/peers/promtool is not there: make peers")
	}
}
