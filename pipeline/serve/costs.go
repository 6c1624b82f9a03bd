package serve

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// Windows of cost requests.
const (
	usualWindow   = 24 * time.Hour
	longestWindow = 30 * 24 * time.Hour
)

// costs returns the engine's answer for a window, and for a job if that may be
// asked.
func (s *server) costs(what string, known ...string) handler {
	return func(r *http.Request) (any, error) {
		q := parameters(r, known...)
		req := struct {
			Window float64 `json:"window_seconds"`
			Job    string  `json:"job"`
		}{q.length("window", usualWindow, longestWindow).Seconds(), q.job("job")}
		if q.err != nil {
			return nil, q.err
		}
		return s.questions.askAbout(r.Context(), what, req)
	}
}

// length reads a length of time such as 90m, 24h or 7d; usual where there is
// none.
func (q *query) length(name string, usual, longest time.Duration) time.Duration {
	s := q.text(name)
	if s == "" {
		return usual
	}
	d, err := time.ParseDuration(s)
	if days, isDays := strings.CutSuffix(s, "d"); isDays {
		var n int
		n, err = strconv.Atoi(days)
		d = min(time.Duration(n), 1<<16) * 24 * time.Hour
	}
	if err != nil || d <= 0 || d > longest {
		q.fail(name, "want a length of time such as 90m, 24h or 7d, at most "+strconv.Itoa(int(longest.Hours()/24))+"d")
		return usual
	}
	return d
}

// job reads the name of a job, with or without "job:"; "" where there is none.
func (q *query) job(name string) string {
	s := q.text(name)
	if s == "" {
		return ""
	}
	e := telemetry.Entity{Kind: telemetry.Job, Name: strings.TrimPrefix(s, string(telemetry.Job)+":")}
	if _, err := telemetry.ParseEntity(e.String()); err != nil {
		q.fail(name, err.Error())
	}
	return e.String()
}
