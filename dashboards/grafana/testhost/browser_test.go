package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The editors, the live table and the settings work in a real browser, with the
// built front end, the built back end and a real Quintet.
func TestTheFrontEndInABrowser(t *testing.T) {
	for _, name := range []string{"node", "chromium"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	for _, path := range []string{"out/page.js", "../dist/module.js", "../node_modules/playwright-core"} {
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the page is not built (make build): %v", err)
		}
	}
	p, err := start(built(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	url := quintet(t)
	named(t, url)
	web := httptest.NewServer(newHost(p, url).handler(http.Dir("out"), http.Dir("../dist")))
	t.Cleanup(web.Close)
	cmd := exec.CommandContext(t.Context(), "node", "build/browser.mjs", web.URL)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "QUINTET_URL="+url)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// named waits until Quintet reports an incident and its cause.
func named(t *testing.T, url string) {
	t.Helper()
	incidents, late := listen(t, url), time.After(2*time.Minute)
	for {
		select {
		case in := <-incidents:
			if in.named {
				return
			}
		case <-late:
			t.Fatal("no cause of an incident is named")
		}
	}
}
