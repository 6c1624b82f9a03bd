package main

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
)

// TestTheStory tests the purpose of the page: one command starts a site, and with a
// browser alone a user finds the job that is slow, its cause, its cost and its
// evidence, and silences it. The site answers over real protocols; nothing is
// scripted. QUINTET_PAGE_PICTURES names a folder for screenshots of the steps.
func TestTheStory(t *testing.T) {
	const page = "../../dashboards/web"
	browsertest.Installed(t, page)
	t.Parallel() // it waits most of its time
	listen, program := wiretest.FreeAddress(t), programIn(t, t.TempDir())
	told := lines(t, exec.CommandContext(t.Context(), program, "demo", "--listen", listen, "--fault", "gpu-slow", "--after", "45s"))
	wait(t, told, "the page is at", time.Minute)
	browsertest.Run(t, browsertest.Job{Page: page, Within: 5 * time.Minute, Dir: os.Getenv("QUINTET_PAGE_PICTURES"),
		Scenarios: []browsertest.Scenario{{Name: "story", URL: "http://" + listen}}})
}
