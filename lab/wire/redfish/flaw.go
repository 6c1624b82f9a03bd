package redfish

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is what is wrong with an answer.
type Fault string

// The faults that controllers are known for.
const (
	Busy       Fault = "busy"       // 503 with Retry-After, of Wait
	Slow       Fault = "slow"       // the answer takes Wait longer
	Hang       Fault = "hang"       // no answer ever
	Cut        Fault = "cut"        // the JSON ends half way
	Nameless   Fault = "nameless"   // no @odata.id and no @odata.type
	Nulls      Fault = "nulls"      // every reading is null
	Sentinels  Fault = "sentinels"  // every reading is 65535
	Words      Fault = "words"      // every reading is "N/A"
	Texts      Fault = "texts"      // every reading is a number in quotes
	Fahrenheit Fault = "fahrenheit" // sensors of temperature read in degrees Fahrenheit
	Elsewhere  Fault = "elsewhere"  // a redirect to To
	Closed     Fault = "closed"     // the connection is closed
	Vast       Fault = "vast"       // an answer that does not end
	Failing    Fault = "failing"    // 500
	Literal    Fault = "literal"    // 501 for every query
	Swollen    Fault = "swollen"    // lists have thousands of members
)

// Flaw is a fault of the resources whose paths begin with Path, below
// /redfish/v1/; "" is all of them.
type Flaw struct {
	Fault Fault
	Path  string
	Wait  time.Duration
	To    string // address
}

// flawOf is the flaw that a path has now. The caller holds the lock.
func (s *service) flawOf(path string) *Flaw {
	for i := range s.flaws {
		if strings.HasPrefix(strings.TrimPrefix(path, root+"/"), s.flaws[i].Path) {
			f := s.flaws[i]
			return &f
		}
	}
	return nil
}

// before answers in place of the service, or waits; true if it has answered.
func (f *Flaw) before(w http.ResponseWriter, req *http.Request) bool {
	switch f.Fault {
	case Busy:
		w.Header().Set("Retry-After", strconv.Itoa(int(f.Wait/time.Second)))
		w.WriteHeader(http.StatusServiceUnavailable)
	case Failing:
		w.WriteHeader(http.StatusInternalServerError)
	case Literal:
		if req.URL.RawQuery == "" {
			return false
		}
		w.WriteHeader(http.StatusNotImplemented)
	case Slow:
		select {
		case <-time.After(f.Wait):
		case <-req.Context().Done():
		}
		return false
	case Hang:
		<-req.Context().Done()
	case Elsewhere:
		http.Redirect(w, req, f.To+req.URL.Path, http.StatusTemporaryRedirect)
	case Closed:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	case Vast:
		w.Header().Set("Content-Type", "application/json")
		filling := bytes.Repeat([]byte(`{"a": [0, 0, 0, 0, 0, 0, 0, 0], "b": `), 1<<10)
		for req.Context().Err() == nil {
			if _, err := w.Write(filling); err != nil {
				break
			}
		}
	default:
		return false
	}
	return true
}

// change spoils a document.
func (f *Flaw) change(doc object) object {
	switch f.Fault {
	case Nameless:
		out := maps.Clone(doc)
		delete(out, "@odata.id")
		delete(out, "@odata.type")
		return out
	case Nulls:
		return replace(doc, func(any) any { return nil })
	case Sentinels:
		return replace(doc, func(any) any { return 65535 })
	case Words:
		return replace(doc, func(any) any { return "N/A" })
	case Texts:
		return replace(doc, func(x any) any {
			if v, ok := x.(number); ok {
				return string(v)
			}
			return x
		})
	case Swollen:
		members, ok := doc["Members"].([]any)
		id, named := doc["@odata.id"].(string)
		if !ok || !named {
			return doc
		}
		out := maps.Clone(doc)
		for i := range 5000 {
			members = append(members, object{"@odata.id": id + "/more" + strconv.Itoa(i)})
		}
		out["Members"] = members
		return out
	case Fahrenheit:
		if doc["ReadingUnits"] == "Cel" {
			out := maps.Clone(doc)
			if v, ok := out["Reading"].(number); ok {
				x, _ := strconv.ParseFloat(string(v), 64)
				out["Reading"], out["ReadingUnits"] = decimal(x*9/5+32), "[degF]"
			}
			return out
		}
	}
	return doc
}

// replace does something to every reading of a document.
func replace(doc object, with func(any) any) object {
	out := object{}
	for name, x := range doc {
		switch v := x.(type) {
		case number:
			x = with(v)
		case object:
			x = replace(v, with)
		}
		out[name] = x
	}
	return out
}

// damage spoils an answer's bytes.
func (f *Flaw) damage(body []byte) []byte {
	if f.Fault == Cut {
		return body[:len(body)/2]
	}
	return body
}
