package silence

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

// Silence mutes what its matchers mean: from Start to End, or in its
// windows between the two.
type Silence struct {
	ID       string         `json:"id"`
	Matchers match.Matchers `json:"matchers"`
	Start    telemetry.Time `json:"start"`
	// End is nil if windows recur until the silence is expired.
	End       *telemetry.Time `json:"end"`
	Windows   []Window        `json:"windows"`
	CreatedBy string          `json:"created_by"`
	Comment   string          `json:"comment"`
	Created   telemetry.Time  `json:"created"`
	Updated   telemetry.Time  `json:"updated"`
	ExpiredBy string          `json:"expired_by,omitempty"`
}

// The states of a silence at an instant.
const (
	Pending = "pending" // not yet, or between two windows
	Active  = "active"
	Expired = "expired"
)

// Bounds of a silence.
const (
	maxText    = 2000
	maxBy      = 200
	maxWindows = 32
)

// Problem is an error in a silence, and its field.
type Problem struct{ Field, Text string }

// Error implements error.
func (p *Problem) Error() string { return p.Field + ": " + p.Text }

func problem(field, format string, args ...any) *Problem {
	return &Problem{field, fmt.Sprintf(format, args...)}
}

// idForm matches ids that are valid in a key.
var idForm = regexp.MustCompile(`^sil-[0-9a-f]{16}$`)

// Validate returns an error if s is invalid; it is a *Problem.
func (s *Silence) Validate() error {
	switch {
	case s.ID != "" && !idForm.MatchString(s.ID):
		return problem("id", "%.40q: want what the answer of a creation named", s.ID)
	case len(s.Matchers) == 0:
		return problem("matchers", "want at least one: none would hold back everything")
	case len(s.Matchers) > match.MaxMatchers:
		return problem("matchers", "%d of them: at most %d", len(s.Matchers), match.MaxMatchers)
	case len(s.Windows) > maxWindows:
		return problem("windows", "%d of them: at most %d", len(s.Windows), maxWindows)
	case s.End == nil && len(s.Windows) == 0:
		return problem("end", "missing: only a silence with windows may go on until it is expired")
	case s.End != nil && *s.End <= s.Start:
		return problem("end", "not after the start")
	case strings.TrimSpace(s.CreatedBy) == "":
		return problem("created_by", "missing: who asks for it?")
	case len(s.CreatedBy) > maxBy:
		return problem("created_by", "longer than %d bytes", maxBy)
	case strings.TrimSpace(s.Comment) == "":
		return problem("comment", "required")
	case len(s.Comment) > maxText:
		return problem("comment", "longer than %d bytes", maxText)
	}
	for i, m := range s.Matchers {
		if m.Name == "" {
			return problem(fmt.Sprintf("matchers[%d]", i), "want an object of name, op and value")
		}
	}
	for i := range s.Windows {
		if err := s.Windows[i].validate(); err != nil {
			return problem(fmt.Sprintf("windows[%d].%s", i, err.Field), "%s", err.Text)
		}
	}
	return nil
}

// State returns the silence's state at an instant.
func (s *Silence) State(at telemetry.Time) string {
	switch {
	case s.End != nil && at >= *s.End:
		return Expired
	case at < s.Start:
		return Pending
	}
	if len(s.Windows) == 0 {
		return Active
	}
	for i := range s.Windows {
		if _, _, in := s.Windows[i].around(clock(at)); in {
			return Active
		}
	}
	return Pending
}

// Change returns when the state changes next after an instant, and false where
// it never does. Windows that overlap count as one.
func (s *Silence) Change(at telemetry.Time) (telemetry.Time, bool) {
	now := s.State(at)
	if now == Expired {
		return 0, false
	}
	for range maxWindows + 1 { // each step leaves one window, or enters one
		next, ok := s.edge(at)
		if !ok {
			return 0, false
		}
		if s.State(next) != now {
			return next, true
		}
		at = next
	}
	return 0, false
}

// edge returns the first instant after at where something begins or ends.
func (s *Silence) edge(at telemetry.Time) (next telemetry.Time, ok bool) {
	consider := func(t telemetry.Time) {
		if t > at && (!ok || t < next) {
			next, ok = t, true
		}
	}
	if s.End != nil {
		consider(*s.End)
	}
	consider(s.Start)
	for i := range s.Windows {
		begin, end, in := s.Windows[i].around(clock(max(at, s.Start)))
		if in {
			consider(telemetry.Time(end.UnixNano()))
		}
		consider(telemetry.Time(begin.UnixNano()))
	}
	return next, ok
}

// Mutes reports whether facts are muted at an instant.
func (s *Silence) Mutes(f match.Facts, at telemetry.Time) bool {
	return s.State(at) == Active && s.Matchers.Match(f)
}

func clock(t telemetry.Time) time.Time { return time.Unix(0, int64(t)) }
