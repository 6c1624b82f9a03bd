package serve

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// post sends JSON and reads the answer.
func (r *running) post(path, body string, into any) int {
	r.t.Helper()
	resp, err := r.client.Post(r.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		r.t.Fatalf("%s: %v: %s", path, err, b)
	}
	return resp.StatusCode
}

func (r *running) read(path string, into any) {
	r.t.Helper()
	resp, err := r.client.Get(r.url + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %d, %v", path, resp.StatusCode, err)
	}
}

// TestASilencesLife is created, seen, changed and expired; a server that starts
// later knows it.
func TestASilencesLife(t *testing.T) {
	s := newSite()
	s.publish(incident("inc-1", 1, -30))
	r := run(t, s, Config{})
	r.until("silences", r.server.silences.Known)
	var made, changed, expired silenceView
	if code := r.post("/api/v1/silences", `{"matchers":[{"name":"job","value":"train"}],"end":"2026-11-21T14:00:00Z","created_by":"ann","comment":"new switch"}`, &made); code != http.StatusOK {
		t.Fatal(code)
	}
	if made.State != "active" || !slices.Equal(made.Mutes, []string{"inc-1"}) || made.Changes == nil || *made.Changes != clock(2*3600) || made.CreatedBy != "ann" || made.Start != clock(0) {
		t.Errorf("%+v", made)
	}
	silenced := func(on *running) []string {
		var list struct {
			Notes map[string]noteView `json:"notes"`
		}
		on.read("/api/v1/incidents", &list)
		return list.Notes["inc-1"].SilencedBy
	}
	if got := silenced(r); !slices.Equal(got, []string{made.ID}) {
		t.Errorf("the incident is silenced by %v", got)
	}
	other := run(t, s, Config{})
	other.until("silences", other.server.silences.Known)
	if got := silenced(other); !slices.Equal(got, []string{made.ID}) {
		t.Errorf("after a restart it is silenced by %v", got)
	}
	r.post("/api/v1/silences", `{"id":"`+made.ID+`","matchers":[{"name":"job","op":"!=","value":"train"}],"end":"2026-11-21T15:00:00Z","created_by":"ben","comment":"another job"}`, &changed)
	if changed.ID != made.ID || changed.Created != made.Created || len(changed.Mutes) != 0 {
		t.Errorf("%+v", changed)
	}
	r.server.now = func() time.Time { return noon.Add(time.Minute) }
	if code := r.post("/api/v1/silences/"+made.ID+"/expire", `{"by":"cleo"}`, &expired); code != http.StatusOK || expired.State != "expired" || expired.ExpiredBy != "cleo" || *expired.End != clock(60) || expired.Changes != nil {
		t.Errorf("%d %+v", code, expired)
	}
	other.until("the end of it", func() bool { return other.server.silences.List()[0].ExpiredBy == "cleo" })
	var list struct {
		Silences []silenceView `json:"silences"`
	}
	if r.read("/api/v1/silences?state=active", &list); len(list.Silences) != 0 {
		t.Errorf("%+v", list)
	}
}
