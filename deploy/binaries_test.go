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
	bytes     int64
	forbidden []string
}{
	{"quintet", 82e6, []string{"github.com/quintet-dc/quintet/collectors/collectorstest"}},
	{"quintet-collect", 25e6, []string{"testing", "github.com/nats-io/nats-server", "github.com/prometheus/prometheus/tsdb$", "github.com/prometheus/prometheus/promql$", "k8s.io/",
		"github.com/aws/", "github.com/Azure/", "github.com/parquet-go/", "github.com/modelcontextprotocol/", "github.com/quintet-dc/quintet/(lab|engine|replay|correlate$|pipeline$|pipeline/(broker|store|serve|assist))"}},
}

// releaseTags are the build tags of a release.
func releaseTags(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("release/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`flags=\(.* -tags (\S+) `).FindSubmatch(b)
	if found == nil {
		t.Fatal("release/build.sh: no -tags in flags")
	}
	return string(found[1])
}

func TestBinariesLinkOnlyWhatTheirRoleNeeds(t *testing.T) {
	for _, b := range binaries {
		out, err := exec.Command("go", "list", "-tags", releaseTags(t), "-deps", "../cmd/"+b.name).Output()
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

func TestBinariesAreSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("links every program of a release")
	}
	dir := t.TempDir()
	for _, b := range binaries {
		path := filepath.Join(dir, b.name)
		build := exec.Command("go", "build", "-tags", releaseTags(t), "-ldflags", "-s -w", "-o", path, "../cmd/"+b.name)
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
}
