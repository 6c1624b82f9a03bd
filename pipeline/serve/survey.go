package serve

import (
	"net/http"

	"github.com/quintet-dc/quintet/pipeline/replica"
)

// survey answers GET /api/v1/coverage/report: what the site shows and hides.
func (s *server) survey(r *http.Request) (any, error) {
	if q := parameters(r); q.err != nil {
		return nil, q.err
	}
	asked := replica.SurveyQuestion{Receivers: -1}
	if s.cfg.Receivers != nil {
		asked.Receivers = s.cfg.Receivers()
	}
	return s.questions.askAbout(r.Context(), replica.AskSurvey, asked)
}
