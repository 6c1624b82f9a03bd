package serve

import (
	"errors"
	"net/http"
	"strings"

	"github.com/quintet-dc/quintet/pipeline/access"
)

// loginPath sends a user to the identity provider.
const loginPath = "/-/login"

// login sends a user to the identity provider, and after that to the path to.
func (s *server) login(w http.ResponseWriter, r *http.Request) {
	if err := s.access.Login(w, r, r.URL.Query().Get("to")); err != nil {
		s.cfg.Logger.Warn("a user cannot be sent to the identity provider", "error", err)
		s.reply.problem(w, r, &problem{status: http.StatusBadGateway, text: err.Error()})
	}
}

// callback takes a user back from the identity provider.
func (s *server) callback(w http.ResponseWriter, r *http.Request) {
	who, err := s.access.Callback(w, r)
	var wait *access.ThrottledError
	switch {
	case err == nil:
		s.cfg.Logger.Info("a user logged in", "user", who.Name, "role", who.Role, "from", r.RemoteAddr)
	case errors.As(err, &wait):
		s.reply.problem(w, r, &problem{status: http.StatusTooManyRequests, text: err.Error(), again: wait.Wait})
	case errors.Is(err, access.ErrRefused):
		s.count.refused("login").Inc()
		s.cfg.Logger.Warn("a login is refused", "user", who.Name, "from", r.RemoteAddr, "error", err)
		s.reply.problem(w, r, &problem{status: http.StatusForbidden, text: err.Error()})
	default:
		s.cfg.Logger.Warn("a login failed", "error", err)
		s.reply.problem(w, r, &problem{status: http.StatusBadGateway, text: err.Error()})
	}
}

// browses reports whether a request is for a page, from which a user may be
// redirected.
func browses(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Authorization") == "" && strings.Contains(r.Header.Get("Accept"), "text/html")
}
