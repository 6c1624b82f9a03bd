package slurm

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/live"
)

func TestHostlists(t *testing.T) {
	for want, names := range map[string]string{
		"n[0000-0002]": "n0000 n0001 n0002", "n9,n10": "n9 n10", "a,n1,n3,b[07-08]": "a n1 n3 b07 b08", "login": "login", "": "",
	} {
		if got := compress(strings.Fields(names)); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
	if got := spans([]int{0, 1, 2, 5, 7, 8}); got != "0-2,5,7-8" {
		t.Error(got)
	}
	for n, want := range map[int64]string{7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestWhoMayAsk: a token of ours, of the user that it names, not over; of a
// version that there is; and the forms that differ between versions.
func TestWhoMayAsk(t *testing.T) {
	site, err := live.New(16, 3, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(site.Board(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.listen.Close() }()
	b, err := os.ReadFile(f.tokenFile())
	if err != nil {
		t.Fatal(err)
	}
	good := strings.TrimPrefix(strings.TrimSpace(string(b)), "SLURM_JWT=")
	over, err := f.signer.token(user, time.Now().Add(-2*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	other, err := newSigner()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.token(user, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path, token, name string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("X-SLURM-USER-TOKEN", token)
		r.Header.Set("X-SLURM-USER-NAME", name)
		w := httptest.NewRecorder()
		f.handler().ServeHTTP(w, r)
		return w
	}
	const jobs = "/slurm/v0.0.41/jobs"
	for _, x := range []struct {
		path, token, name string
		want              int
	}{
		{jobs, good, user, 200}, {jobs, good, "", 200}, {jobs, good, "root", 401}, {jobs, "", user, 401}, {jobs, over, user, 401}, {jobs, foreign, user, 401},
		{jobs, good + "x", user, 401}, {"/slurm/v0.0.38/jobs", good, user, 404}, {"/slurm/v0.0.45/jobs", good, user, 404}, {"/slurm/v0.0.44/nodes/", good, user, 200},
	} {
		if got := ask(x.path, x.token, x.name).Code; got != x.want {
			t.Errorf("%s as %q: %d, want %d", x.path, x.name, got, x.want)
		}
	}
	for version, state := range map[string]string{"39": `"RUNNING"`, "44": `["RUNNING"]`} {
		var doc struct {
			Jobs []struct {
				State json.RawMessage `json:"job_state"`
				Nodes string
				Gres  []string `json:"gres_detail"`
			}
		}
		if err := json.Unmarshal(ask("/slurm/v0.0."+version+"/jobs", good, user).Body.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if j := doc.Jobs; len(j) != 1 || string(j[0].State) != state || j[0].Nodes != "n[0000-0001]" || strings.Join(j[0].Gres, " ") != "gpu:h100:8(IDX:0-7) gpu:h100:8(IDX:0-7)" {
			t.Errorf("version %s: %+v", version, j)
		}
	}
}
