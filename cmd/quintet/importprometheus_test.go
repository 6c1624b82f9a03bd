package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/cmd/cli"
)

// heldBy is a server that has one known metric of one GPU and one unknown metric,
// and requires a token.
func heldBy(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/label/__name__/values", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status":"success","data":["DCGM_FI_DEV_POWER_USAGE","app_requests_total"]}`)
	})
	mux.HandleFunc("/api/v1/query", func(w http.ResponseWriter, r *http.Request) {
		if q := r.FormValue("query"); !strings.HasPrefix(q, `{__name__="DCGM_FI_DEV_POWER_USAGE"}[`) {
			t.Errorf("asked for %s", q)
		}
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE",
			"Hostname":"n1","gpu":"0"},"values":[[1700000000.25,"700"],[1700000010.25,"701.5"]]}]}}`)
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, `{"status":"error","errorType":"auth","error":"who asks?"}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// What a server holds becomes a trace; what is left out is reported.
func TestImportPrometheus(t *testing.T) {
	url := heldBy(t)
	dir := t.TempDir()
	token, out := filepath.Join(dir, "token"), filepath.Join(dir, "run.qtrace")
	cabling := filepath.Join(dir, "cabling.json")
	for path, text := range map[string]string{token: "secret\n", cabling: "{\"edges\": [\n{\"from\": \"job:a\", \"to\": \"gpu:n1/0\", \"rel\": \"walks\"}]}"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	between := []string{"--from", "2023-11-14T22:13:20Z", "--to", "2023-11-14T22:14:20Z"}
	for _, c := range []struct {
		about          string
		more           []string
		code           int
		stdout, stderr string
	}{
		{"without a token", nil, cli.Wrong, "", "ask for the names of metrics"},
		{"a topology that is wrong", []string{"--token", token, "--topology", cabling}, cli.Wrong, "", cabling + `:2: edges[0].rel: relation "walks"`},
		{"as it should", []string{"--token", token}, cli.Sound, "run.qtrace: 2 samples, 0 events, 1 edges; no history before this time", "metrics left out because no mapping names them: 1 (app_requests_total)"},
		{"without a job", []string{"--token", token, "--force"}, cli.Sound, "", "no placement reported"},
		{"once more", []string{"--token", token}, cli.Wrong, "", "is there already: give --force to replace it"},
		{"where nothing is", []string{"--token", token, "--force", "--to", "2023-11-14T22:13:20.1Z"}, cli.Wrong, "", "nothing between 2023-11-14T22:13:20Z and"},
	} {
		t.Run(c.about, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append(append([]string{"import", "prometheus", url, "-o", out}, between...), c.more...)
			if code := app().Run(&cli.Shell{Ctx: t.Context(), Out: &stdout, Err: &stderr}, args); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			if !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("said %q and %q, want %q and %q", &stdout, &stderr, c.stdout, c.stderr)
			}
		})
	}
	var stdout, stderr bytes.Buffer
	if code := app().Run(&cli.Shell{Ctx: t.Context(), Out: &stdout, Err: &stderr}, []string{"check", "trace", out}); code != cli.Sound {
		t.Errorf("the trace is not sound: %s%s", &stdout, &stderr)
	}
}
