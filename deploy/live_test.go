package deploy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/rules/prometheus"
)

// TestFromScratch builds the static binary (or takes the one that QUINTET_STATIC
// names), runs it as the container would: in a root with nothing but empty
// folders, as user 65532; then a real Prometheus, with the configuration here,
// loads our rules and scrapes it.
func TestFromScratch(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("another root wants the rights of a superuser")
	}
	if testing.Short() {
		t.Skip("builds the program")
	}
	root := scratch(t)
	page := serve(t, root)
	if got := get(t, page+"/-/healthy"); got != "healthy\n" && got != "healthy" {
		t.Errorf("/-/healthy says %q", got)
	}
	if got := get(t, page+"/"); !strings.Contains(got, "<html") {
		t.Errorf("the page is %.80q", got)
	}
	t.Run("Prometheus", func(t *testing.T) { scraped(t, strings.TrimPrefix(page, "http://")) })
}

// scratch makes the container's file system.
func scratch(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"usr/bin", "etc/quintet", "var/lib/quintet", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"var/lib/quintet", "tmp"} {
		if err := os.Chown(filepath.Join(root, dir), 65532, 65532); err != nil {
			t.Fatal(err)
		}
	}
	for up := root; up != "/" && strings.HasPrefix(up, os.TempDir()+"/"); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil { // its user may pass
			t.Fatal(err)
		}
	}
	if ready := os.Getenv("QUINTET_STATIC"); ready != "" { // a release that is at hand
		program, err := os.ReadFile(ready)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "usr/bin/quintet"), program, 0o755); err != nil {
			t.Fatal(err)
		}
		return root
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(root, "usr/bin/quintet"), "../cmd/quintet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return root
}

// serve runs the service in a root of its own, and returns where its page is.
func serve(t *testing.T, root string) string {
	t.Helper()
	c := exec.Command("/usr/bin/quintet", "serve", "--listen", "127.0.0.1:0", "--data", "/var/lib/quintet")
	c.Dir, c.Env = "/var/lib/quintet", []string{}
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}, Pdeathsig: syscall.SIGKILL}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := &strings.Builder{}
	c.Stderr = said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("the service ended with %v: %s", err, said)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "the page is at "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return strings.TrimSuffix(url, "/")
		}
	}
	t.Fatalf("it does not say where its page is: %s", said)
	return ""
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// scraped runs a real Prometheus with our configuration, but for its ports, and
// waits until it has seen the service.
func scraped(t *testing.T, target string) {
	program := peer(t, "prometheus")
	text, err := os.ReadFile("prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := strings.ReplaceAll(string(here(t, text, "prometheus")), "127.0.0.1:8420", target)
	file = strings.ReplaceAll(strings.ReplaceAll(file, "scrape_interval: 15s", "scrape_interval: 1s"), "evaluation_interval: 15s", "evaluation_interval: 1s")
	if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := wiretest.FreeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, program, "--config.file="+filepath.Join(dir, "p.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+listen)
	said := &strings.Builder{}
	c.Stderr, c.Stdout = said, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); _ = c.Wait() }()
	api := "http://" + listen + "/api/v1/"
	eventually(t, func() error {
		var up struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		if err := decode(api+"query?query=up{job=\"quintet\"}+*+on()+group_left()+(sum(quintet_replica_caught_up)+>=+bool+0)", &up); err != nil {
			return err
		}
		if len(up.Data.Result) != 1 || up.Data.Result[0].Value[1] != "1" {
			return fmt.Errorf("up is %v", up.Data.Result)
		}
		return nil
	})
	groups := 0
	eventually(t, func() error {
		var rules struct {
			Data struct {
				Groups []struct {
					File  string
					Rules []struct{ Name, Health, LastError string }
				}
			}
		}
		if err := decode(api+"rules", &rules); err != nil {
			return err
		}
		files := map[string]bool{}
		for _, g := range rules.Data.Groups {
			files[filepath.Base(g.File)] = true
			for _, r := range g.Rules {
				if r.Health != "ok" {
					return fmt.Errorf("%s: %s: %s", r.Name, r.Health, r.LastError)
				}
			}
		}
		if groups = len(rules.Data.Groups); len(files) != len(prometheus.Names()) {
			return fmt.Errorf("rules of %v", files)
		}
		return nil
	})
	if t.Failed() {
		t.Log(said)
	}
	t.Logf("%d groups of rules, each healthy", groups)
}

func decode(url string, into any) error {
	r, err := http.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return json.NewDecoder(r.Body).Decode(into)
}

// eventually asks again until nothing is wrong, for a minute and a half.
func eventually(t *testing.T, ask func() error) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	late := time.After(90 * time.Second)
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Error(err)
			return
		}
	}
}
