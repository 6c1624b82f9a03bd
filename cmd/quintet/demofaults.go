//go:build !service

package main

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/telemetry"
)

// faultDesk injects the faults that people choose on the page of the demo:
// GET lists what can be injected, POST injects one.
type faultDesk struct {
	site  *live.Site
	lasts time.Duration
	tell  func(struckFault)
}

// injectable is a kind of fault that the site has a place for.
type injectable struct {
	Name     string `json:"name"`
	Domain   string `json:"domain"`
	Severity string `json:"severity"` // what it means, empty where it means nothing
}

// demoInjection is a fault that was injected.
type demoInjection struct {
	Fault  string           `json:"fault"`
	Entity telemetry.Entity `json:"entity"`
	At     time.Time        `json:"at"`
	Until  time.Time        `json:"until"`
}

func (d *faultDesk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		answerJSON(w, http.StatusOK, d.list())
		return
	}
	var wanted struct {
		Fault string `json:"fault"` // NAME[@ENTITY]
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&wanted); err != nil {
		answerJSON(w, http.StatusBadRequest, map[string]string{"error": "body: " + err.Error(), "field": ""})
		return
	}
	f, err := d.inject(wanted.Fault)
	if err != nil {
		answerJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error(), "field": "fault"})
		return
	}
	answerJSON(w, http.StatusOK, f)
}

// list returns what can be injected, by domain and name as they are declared.
func (d *faultDesk) list() any {
	var out struct {
		Faults []injectable `json:"faults"`
	}
	for _, k := range fault.Kinds() {
		if len(d.site.Places(k.Name)) > 0 {
			out.Faults = append(out.Faults, injectable{k.Name, k.Domain, k.Severity})
		}
	}
	return &out
}

// inject injects a fault now.
func (d *faultDesk) inject(wanted string) (demoInjection, error) {
	due, err := parseFault(wanted)
	if err != nil {
		return demoInjection{}, err
	}
	due.lasts = d.lasts
	now := time.Now()
	f, err := d.site.Strike(due.name, due.where, due.lasts)
	if err != nil {
		return demoInjection{}, err
	}
	d.tell(struckFault{due, now, f, nil})
	return demoInjection{f.Name, f.Entity, now, now.Add(due.lasts)}, nil
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has gone
}
