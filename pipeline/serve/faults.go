package serve

import (
	"net/http"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// Faults are those that can be injected into a simulated site.
type Faults interface {
	// Kinds lists the faults that the site has a place for.
	Kinds() []FaultKind
	// Inject injects a fault now: NAME, or NAME@ENTITY.
	Inject(fault string) (Injection, error)
}

// FaultKind is a fault that a simulated site has a place for.
type FaultKind struct {
	Name     string `json:"name"`
	Domain   string `json:"domain"`
	Severity string `json:"severity"` // what it means, empty where it means nothing
}

// Injection is a fault that was injected.
type Injection struct {
	Fault  string           `json:"fault"`
	Entity telemetry.Entity `json:"entity"`
	At     time.Time        `json:"at"`
	Until  time.Time        `json:"until"`
}

// faultList is the answer to GET /api/v1/demo/faults.
type faultList struct {
	Faults []FaultKind `json:"faults"`
}

// injectionBody is the body of POST /api/v1/demo/faults.
type injectionBody struct {
	Fault string `json:"fault"` // NAME[@ENTITY]
}

// listFaults answers GET /api/v1/demo/faults.
func (s *server) listFaults(*http.Request) (any, error) {
	return faultList{s.cfg.Faults.Kinds()}, nil
}

// injectFault answers POST /api/v1/demo/faults.
func (s *server) injectFault(r *http.Request) (any, error) {
	var wanted injectionBody
	if _, err := readStrict(r.Body, maxNoteBody, &wanted); err != nil {
		return nil, err
	}
	out, err := s.cfg.Faults.Inject(wanted.Fault)
	if err != nil {
		return nil, bad("fault", err.Error())
	}
	return out, nil
}
