package pipeline

import (
	"net/http"

	"github.com/quintet-dc/quintet/pipeline/assist"
)

// assist makes of the API what answers assistants.
func (s *service) assist(api http.Handler) http.Handler {
	return assist.Handler(assist.Config{API: assist.Inside(api), Version: s.c.Version, Signatures: s.c.Engine.Correlate.Signatures,
		Replay: s.c.Rerun, Logger: s.part("assist")})
}
