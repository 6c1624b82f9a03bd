package query

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/quintet-dc/quintet/telemetry"
)

// described is the metadata of a metric.
type described struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
	Help string `json:"help"`
}

// own describes the built-in series that are not in the catalogue.
func own() map[string]described {
	return map[string]described{
		"quintet_job_info":                  {"gauge", "", "What a job runs on or through: its nodes, GPUs and network adapters."},
		"quintet_member_info":               {"gauge", "", "What an entity belongs to: rack, row, hall, plane, rail, tenant, group, or what feeds or cools it."},
		"quintet_incident_open":             {"gauge", "", "1 while an incident is open."},
		"quintet_incident_gpu_seconds_lost": {"gauge", "seconds", "GPU-seconds that an open incident has cost a job."},
	}
}

// metadata answers GET /metadata from the catalogue.
func (a *API) metadata(w http.ResponseWriter, r *http.Request) {
	limit := -1
	if text := r.FormValue("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			answer(w, http.StatusBadRequest, "bad_data", "limit must be a number")
			return
		}
		limit = n
	}
	data := map[string][]described{}
	add := func(name string, d described) {
		if want := r.FormValue("metric"); (want == "" || want == name) && (limit < 0 || len(data) < limit) {
			data[name] = []described{d}
		}
	}
	for i := range a.cfg.Catalogue.Metrics() {
		m := &a.cfg.Catalogue.Metrics()[i]
		kind := "gauge"
		if m.Type == telemetry.Counter {
			kind = "counter"
		}
		add(string(m.Name), described{kind, m.Unit, m.Help})
	}
	for name, d := range own() {
		add(name, d)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data}) // whoever asked may be gone
}
