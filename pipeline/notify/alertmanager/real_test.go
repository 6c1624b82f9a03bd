package alertmanager_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/alertmanager"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
)

// peer finds a program that `make peers` builds.
func peer(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "peers", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skipf("%s is not built: run make peers", name)
	}
	return path
}

// real is a running Alertmanager and the notifications that it sends to its own
// receiver.
type real struct {
	url  string
	told chan string // status and alertname
}

func startReal(t *testing.T) *real {
	t.Helper()
	program := peer(t, "alertmanager")
	r := &real{told: make(chan string, 100)}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		var m struct {
			Status       string
			CommonLabels map[string]string
		}
		if json.NewDecoder(q.Body).Decode(&m) == nil {
			r.told <- m.Status + " " + m.CommonLabels["alertname"]
		}
	}))
	t.Cleanup(hook.Close)
	dir := t.TempDir()
	config := filepath.Join(dir, "alertmanager.yml")
	text := "route: {receiver: hook, group_by: [incident], group_wait: 0s, group_interval: 1s}\nreceivers: [{name: hook, webhook_configs: [{url: '" + hook.URL + "', send_resolved: true}]}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address := wiretest.FreeAddress(t)
	cmd := exec.Command(program, "--config.file="+config, "--storage.path="+dir, "--web.listen-address="+address, "--cluster.listen-address=")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if b, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s", b)
		}
	})
	r.url = "http://" + address
	r.until(t, "it is ready", func() bool { code, _ := r.get(t, "/-/ready"); return code == http.StatusOK })
	return r
}

func (r *real) get(t *testing.T, path string) (int, string) {
	t.Helper()
	resp, err := http.Get(r.url + path)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(b)
}

func (r *real) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("it does not come about that %s", what)
		case <-look.C:
		}
	}
}

// active lists the alerts that are active there, by name and severity.
func (r *real) active(t *testing.T) string {
	t.Helper()
	_, body := r.get(t, "/api/v2/alerts?active=true")
	var list []struct {
		Labels map[string]string
		Status struct{ State string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		return err.Error()
	}
	var out []string
	for _, a := range list {
		out = append(out, a.Labels["alertname"]+" "+a.Labels["severity"]+" "+a.Status.State)
	}
	return strings.Join(out, ", ")
}

// TestARealAlertmanager sends an incident, another severity of it, a reminder and
// its end to a real Alertmanager, which notifies its own receiver of them.
func TestARealAlertmanager(t *testing.T) {
	r := startReal(t)
	a, err := alertmanager.New(alertmanager.Config{URLs: []string{r.url}})
	if err != nil {
		t.Fatal(err)
	}
	recent := func(in *explain.Incident) {
		shift := time.Since(time.Unix(0, int64(in.Opened))) - time.Minute
		in.Opened, in.Updated = in.Opened.Add(shift), in.Updated.Add(shift)
		if in.Resolved != nil {
			*in.Resolved = in.Opened.Add(50 * time.Second)
		}
	}
	worse := func(in *explain.Incident) { recent(in); in.Severity = explain.SeverityWarning }
	told := func(want string) {
		t.Helper()
		for {
			select {
			case got := <-r.told:
				if got == want {
					return
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("its receiver is not told %q", want)
			}
		}
	}
	first := notifytest.Incident(t, explain.StateOpen, recent)
	if x := a.Notify(t.Context(), first); x.Verdict != notify.Taken {
		t.Fatalf("%+v", x)
	}
	r.until(t, "the alert is active", func() bool { return r.active(t) == "QuintetSlowReceiver critical active" })
	told("firing QuintetSlowReceiver")
	out, err := exec.Command(peer(t, "amtool"), "--alertmanager.url="+r.url, "alert", "query", "-o", "extended", "incident=inc-5f1c02d9a1b7e340").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "QuintetSlowReceiver") || !strings.Contains(string(out), `job="llama-70b"`) {
		t.Errorf("amtool: %v: %s", err, out)
	}
	if x := a.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, worse)); x.Verdict != notify.Taken {
		t.Fatalf("%+v", x)
	}
	r.until(t, "the one of before has ended", func() bool { return r.active(t) == "QuintetSlowReceiver warning active" })
	if x := a.Remind(t.Context(), []*notify.Message{notifytest.Incident(t, explain.StateOpen, worse)}); x.Verdict != notify.Taken {
		t.Fatalf("%+v", x)
	}
	if got := r.active(t); got != "QuintetSlowReceiver warning active" {
		t.Error(got)
	}
	if x := a.Notify(t.Context(), notifytest.Incident(t, explain.StateResolved, worse)); x.Verdict != notify.Taken {
		t.Fatalf("%+v", x)
	}
	r.until(t, "none is active", func() bool { return r.active(t) == "" })
	told("resolved QuintetSlowReceiver")
	fmt.Fprintln(t.Output(), "an Alertmanager took it, told of it and saw its end")
}
