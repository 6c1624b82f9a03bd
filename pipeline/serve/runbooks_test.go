package serve

import (
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

func TestRunbookIsThatOfTheLastFolder(t *testing.T) {
	ours := fstest.MapFS{"gpu-slow/runbook.md": {Data: []byte("ours")}, "leak/runbook.md": {Data: []byte("leak")}, "secret": {Data: []byte("x")}}
	theirs := fstest.MapFS{"gpu-slow/runbook.md": {Data: []byte("theirs")}}
	r := run(t, newSite(), Config{Runbooks: []fs.FS{ours, theirs}})
	for path, want := range map[string]string{"gpu-slow": "theirs", "leak": "leak", "nothing": "no runbook", "..%2Fsecret": "no runbook", "..": "", "gpu-slow?bogus=1": "bogus"} {
		answer, err := http.Get(r.url + "/api/v1/runbooks/" + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %q, want %q", path, answer.Status, body, want)
		}
		if known := want == "theirs" || want == "leak"; known != (answer.StatusCode == http.StatusOK) && path != ".." {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}
