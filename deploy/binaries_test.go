package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// binaries says how large each program of a release may be on this machine's
// architecture, in bytes, and what it must not link.
var binaries = []struct {
	name      string
	source    string // below cmd
	tags      string
	bytes     int64
	forbidden []string
}{
	{"quintet", "quintet", "grpcnotrace,service", 56e6, []string{"github.com/quintet-dc/quintet/(collectors/collectorstest|lab|replay/export|rules/fitting)", "github.com/parquet-go/",
		"github.com/pb33f/", "github.com/prometheus/prometheus/(web/|storage/remote$)"}},
	{"quintet-lab", "quintet", "grpcnotrace", 64e6, []string{"github.com/quintet-dc/quintet/collectors/collectorstest", "github.com/pb33f/", "github.com/prometheus/prometheus/(web/|storage/remote$)"}},
	{"quintet-collect", "quintet-collect", "grpcnotrace", 25e6, []string{"testing", "github.com/nats-io/nats-server", "github.com/prometheus/prometheus/tsdb$", "github.com/prometheus/prometheus/promql$", "k8s.io/",
		"github.com/aws/", "github.com/Azure/", "github.com/parquet-go/", "github.com/modelcontextprotocol/", "github.com/quintet-dc/quintet/(lab|engine|replay|correlate$|pipeline$|pipeline/(broker|store|serve|assist))"}},
}

func TestBinariesLinkOnlyWhatTheirRoleNeeds(t *testing.T) {
	for _, b := range binaries {
		out, err := exec.Command("go", "list", "-tags", b.tags, "-deps", "../cmd/"+b.source).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range b.forbidden {
			for _, found := range regexp.MustCompile("(?m)^"+strings.TrimSuffix(pattern, "$")+map[bool]string{true: "$", false: ".*$"}[strings.HasSuffix(pattern, "$")]).FindAllString(string(out), -1) {
				t.Errorf("%s links %s", b.name, found)
			}
		}
	}
}

// TestBinariesAreSmallAndWorkTogether links every program of a release, once.
func TestBinariesAreSmallAndWorkTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("links every program of a release")
	}
	dir := t.TempDir()
	for _, b := range binaries {
		path := filepath.Join(dir, b.name)
		build := exec.Command("go", "build", "-trimpath", "-tags", b.tags, "-ldflags", "-s -w", "-o", path, "../cmd/"+b.source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", b.name, err, out)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f MB", b.name, float64(info.Size())/1e6)
		if info.Size() > b.bytes {
			t.Errorf("%s: %d bytes, want at most %d", b.name, info.Size(), b.bytes)
		}
	}
	t.Run("quintet runs quintet-lab", func(t *testing.T) { runsTheWorkbench(t, dir) })
}

// runsTheWorkbench checks that the service's program has the help of the whole one,
// and runs quintet-lab for the commands that it does not have itself.
func runsTheWorkbench(t *testing.T, dir string) {
	ask := func(program string, args ...string) (string, int) {
		c := exec.Command(filepath.Join(dir, program), args...)
		c.Env = []string{"PATH=/nowhere", "HOME=" + dir}
		out, err := c.CombinedOutput()
		if err != nil && c.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), c.ProcessState.ExitCode()
	}
	for _, args := range [][]string{{"--help"}, {"lab", "--help"}, {"demo", "--fault", "help"}, {"score"}} {
		got, code := ask("quintet", args...)
		if want, wanted := ask("quintet-lab", args...); got != want || code != wanted {
			t.Errorf("quintet %v: %d %s\nquintet-lab: %d %s", args, code, got, wanted, want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "quintet-lab")); err != nil {
		t.Fatal(err)
	}
	if got, code := ask("quintet", "demo"); code != 1 || !strings.Contains(got, "quintet: demo: quintet-lab not found beside ") {
		t.Errorf("without quintet-lab: %d %s", code, got)
	}
	if got, code := ask("quintet", "version"); code != 0 {
		t.Errorf("version: %d %s", code, got)
	}
	if err := os.Symlink(filepath.Join(dir, "quintet"), filepath.Join(dir, "quintet-lab")); err != nil {
		t.Fatal(err)
	}
	if got, code := ask("quintet", "demo"); code != 1 || !strings.Contains(got, "without the workbench") {
		t.Errorf("quintet-lab is quintet: %d %s", code, got)
	}
}
