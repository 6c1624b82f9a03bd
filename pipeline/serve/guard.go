package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/pipeline/access"
)

// guard wraps every route: it sets what a browser may do with the answers, and
// refuses unauthorized requests.
type guard struct {
	*server
	// local means that the server listens on loopback: then only names of this
	// machine are answered, because a foreign page can give a name of its own to
	// 127.0.0.1 and would be taken for this server's page.
	local bool
	open  []string // paths that ask for no password
	next  http.Handler
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer g.recover(w, r)
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if g.local && !g.named(r.Host) {
		g.refuse(w, r, "host", &problem{status: http.StatusMisdirectedRequest, field: "Host",
			text: "this server answers for this machine only: ask for localhost or a loopback address, or put the name under web.hosts"})
		return
	}
	if slices.Contains(g.open, r.URL.Path) {
		g.next.ServeHTTP(w, r)
		return
	}
	who, err := g.access.Admit(r)
	if err != nil {
		g.unknown(w, r, err)
		return
	}
	g.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, who)))
}

// unknown answers a request that is not admitted.
func (g *guard) unknown(w http.ResponseWriter, r *http.Request, err error) {
	var wait *access.ThrottledError
	if errors.As(err, &wait) {
		g.refuse(w, r, "throttled", &problem{status: http.StatusTooManyRequests, text: err.Error(), again: wait.Wait})
		return
	}
	if g.server.access.LogsIn() && browses(r) {
		http.Redirect(w, r, loginPath+"?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusFound)
		return
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="quintet", charset="UTF-8"`)
	g.refuse(w, r, "login", &problem{status: http.StatusUnauthorized, text: err.Error()})
}

// principalKey is the context key of a request's user.
type principalKey struct{}

// principalOf returns the user of a request; the zero Principal if no login is
// required.
func principalOf(r *http.Request) access.Principal {
	p, _ := r.Context().Value(principalKey{}).(access.Principal)
	return p
}

// userOf returns the logged-in user, "" if no login is required.
func userOf(r *http.Request) string { return principalOf(r).Name }

// permitted reports whether the user of a request has a right, and answers the
// request if not.
func (s *server) permitted(w http.ResponseWriter, r *http.Request, x access.Right) bool {
	who := principalOf(r)
	if who.Role.May(x) {
		return true
	}
	s.count.refused("role").Inc()
	s.cfg.Logger.Warn("a request is refused: the user's role does not permit it", "user", who.Name, "role", who.Role, "path", r.URL.Path, "from", r.RemoteAddr)
	s.reply.problem(w, r, &problem{status: http.StatusForbidden, text: fmt.Sprintf("permission denied: %s has the role %s; this needs %s", who.Name, who.Role, access.Needed(x))})
	return false
}

// named reports whether a Host is a name of this machine.
func (g *guard) named(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	same := func(name string) bool { return strings.EqualFold(name, host) }
	return same("localhost") || slices.ContainsFunc(g.cfg.Hosts, same)
}

func (g *guard) refuse(w http.ResponseWriter, r *http.Request, why string, p *problem) {
	g.count.refused(why).Inc()
	g.reply.problem(w, r, p)
}

// recover answers for a handler that panicked: one request is lost, not the
// server.
func (g *guard) recover(w http.ResponseWriter, r *http.Request) {
	x := recover()
	if x == nil {
		return
	}
	if err, ok := x.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(x) // how a handler breaks off an answer
	}
	g.count.panics.Inc()
	g.cfg.Logger.Error("a request panicked", "path", r.URL.Path, "panic", x, "stack", string(debug.Stack()))
	g.reply.problem(w, r, errors.New("this request found a fault in the server; it is logged"))
}
