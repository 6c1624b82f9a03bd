package serve

import (
	"net/http"

	"github.com/quintet-dc/quintet/pipeline/openapi"
)

// documentPath is where the API is described.
const documentPath = "/api/v1/openapi.json"

const historySummary = "Prometheus's query API over the history, in Prometheus's form."

// Parameters of several routes.
var (
	limitParam  = integer("limit", "at most so many")
	cursorParam = param("cursor", "go on behind an earlier answer: its next")
	windowParam = param("window", "the time that ends now: 90m, 24h, 7d; at most 30d")
)

func param(name, text string) openapi.Parameter { return openapi.Parameter{Name: name, Text: text} }

func required(name, text string) openapi.Parameter {
	return openapi.Parameter{Name: name, Text: text, Required: true}
}

func integer(name, text string) openapi.Parameter {
	return openapi.Parameter{Name: name, Text: text, Type: "integer"}
}

func stateParam(values ...string) openapi.Parameter {
	return openapi.Parameter{Name: "state", Text: "in this state", Enum: values}
}

// answers describes a method that answers with JSON.
func answers(summary string, answer any, query ...openapi.Parameter) openapi.Operation {
	return openapi.Operation{Summary: summary, Answer: answer, Query: query}
}

// takes describes a method that takes a body and answers with JSON.
func takes(summary string, body, answer any) openapi.Operation {
	return openapi.Operation{Summary: summary, Body: body, Answer: answer}
}

// serves describes a method whose answer is of another media type, or another
// program's JSON.
func serves(summary, media string, query ...openapi.Parameter) openapi.Operation {
	return openapi.Operation{Summary: summary, Media: media, Query: query}
}

// pushes describes a route for pushed data, which collectors/receive answers.
func pushes(path string) openapi.Operation {
	accepted := openapi.Operation{Status: http.StatusAccepted, Media: "application/json"}
	switch path {
	case "/api/v1/jobs/{job}/steps":
		accepted.Summary = "Report steps of a job."
	case "/api/v1/edges":
		accepted.Summary = "State how entities are connected."
	case "/api/v1/events":
		accepted.Summary = "Report events."
	case "/api/v1/write":
		return openapi.Operation{Summary: "Prometheus remote write, 1.0 and 2.0.", Status: http.StatusNoContent}
	case "/v1/metrics":
		return openapi.Operation{Summary: "OTLP metrics over HTTP.", Media: "application/x-protobuf"}
	default: // alerts of others, whose senders take no other status for success
		return openapi.Operation{Summary: "Alerts, as Alertmanager, Grafana and Prometheus send them.", Media: "application/json"}
	}
	return accepted
}

// operations lists the operations that the routes declare; the page and the
// not-found answers are no part of the API.
func operations(routes []route) (out []openapi.Operation) {
	for _, r := range routes {
		for method, o := range map[string]openapi.Operation{http.MethodGet: r.gets, http.MethodPost: r.posts} {
			if o.Summary != "" {
				o.Method, o.Path, o.Open = method, r.path, r.open
				out = append(out, o)
			}
		}
	}
	return out
}

// document answers GET /api/v1/openapi.json.
func (s *server) document(w http.ResponseWriter, r *http.Request) {
	s.reply.json(func(r *http.Request) (any, error) {
		if q := parameters(r); q.err != nil {
			return nil, q.err
		}
		b, err := s.describe()
		return raw(b), err
	})(w, r)
}

//go:generate go test . -run TestTheGeneratedClientIsCurrent -update-client

// describe returns the OpenAPI document of the routes.
func (s *server) describe() ([]byte, error) {
	return openapi.API{Title: "Quintet", Version: "v1", Problem: details{}, Operations: operations(s.routes())}.Document()
}
