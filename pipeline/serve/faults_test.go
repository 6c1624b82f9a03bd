package serve

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// oneFault is a site with a place for one fault.
type oneFault struct{}

func (oneFault) Kinds() []FaultKind {
	return []FaultKind{{Name: "gpu-slow", Domain: "computing", Severity: "share of its clock"}}
}

func (oneFault) Inject(fault string) (Injection, error) {
	if fault != "gpu-slow" {
		return Injection{}, errors.New(`there is no fault "` + fault + `"`)
	}
	return Injection{Fault: fault, Until: time.Unix(60, 0).UTC()}, nil
}

// TestFaultsAreInjectedWhereTheSiteIsSimulated, and only there does the status report
// that they can be. What is wrong with a request is answered as everywhere.
func TestFaultsAreInjectedWhereTheSiteIsSimulated(t *testing.T) {
	const path = "/api/v1/demo/faults"
	plain := run(t, newSite(), Config{})
	if resp, _ := plain.get(path); resp.StatusCode != http.StatusNotFound {
		t.Errorf("on a real site: %s", resp.Status)
	}
	if _, body := plain.get("/api/v1/status"); strings.Contains(body, `"faults"`) {
		t.Errorf("on a real site the status is %s", body)
	}
	demo := run(t, newSite(), Config{Faults: oneFault{}})
	if _, body := demo.get("/api/v1/status"); !strings.Contains(body, `"faults":true`) {
		t.Errorf("the status is %s", body)
	}
	if resp, body := demo.get(path); resp.StatusCode != http.StatusOK || !strings.Contains(body, `{"faults":[{"name":"gpu-slow","domain":"computing"`) {
		t.Errorf("%s %s", resp.Status, body)
	}
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"fault":"gpu-slow"}`, http.StatusOK, `"until":"1970-01-01T00:01:00Z"`},
		{`{"fault":"gpu-slo"}`, http.StatusBadRequest, `"field":"fault"`},
		{`{"falt":"gpu-slow"}`, http.StatusBadRequest, `"field":"falt"`},
		{`{`, http.StatusBadRequest, `"title":"Bad Request"`},
		{`{"fault":"` + strings.Repeat("x", maxNoteBody) + `"}`, http.StatusRequestEntityTooLarge, "longer than"},
	} {
		if resp, body := demo.request(http.MethodPost, path, c.body); resp.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%.40s: %s %s", c.body, resp.Status, body)
		}
	}
	if resp, _ := demo.request(http.MethodPost, path, `{"fault":"gpu-slow"}`, "Origin: https://attacker.example"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another origin injects faults: %s", resp.Status)
	}
}
