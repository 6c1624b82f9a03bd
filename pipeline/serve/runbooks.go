package serve

import (
	"io/fs"
	"net/http"
	"slices"
	"strings"
)

// runbookName is the file of a signature's folder that describes what to do.
const runbookName = "runbook.md"

// runbook answers GET /api/v1/runbooks/{signature} with Markdown: that of the last
// folder of signatures which has one. It is sent as plain text, so that a browser
// shows it.
func (s *server) runbook(w http.ResponseWriter, r *http.Request) {
	if q := parameters(r); q.err != nil {
		s.reply.problem(w, r, q.err)
		return
	}
	name := r.PathValue("signature")
	if strings.ContainsAny(name, `/\`) || !fs.ValidPath(name) {
		name = "."
	}
	for _, root := range slices.Backward(s.cfg.Runbooks) {
		if text, err := fs.ReadFile(root, name+"/"+runbookName); err == nil {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			s.reply.write(w, r, http.StatusOK, text)
			return
		}
	}
	s.reply.problem(w, r, &problem{status: http.StatusNotFound, field: "signature",
		text: "no runbook: a signature's is " + runbookName + " in its folder"})
}
