package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// guard stands before every route: it says what a browser may do with the
// answers, and refuses who may not ask.
type guard struct {
	*server
	// local says that the server listens on loopback: then only names of this
	// machine are answered, because a page from elsewhere can give a name of its
	// own to 127.0.0.1 and would be taken for ours.
	local bool
	open  []string // paths that ask for no password
	next  http.Handler
}

// loginPatience is how long a login may wait for its turn.
const loginPatience = 5 * time.Second

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
	if g.users.required() && !slices.Contains(g.open, r.URL.Path) {
		name, ok := g.login(r)
		if !ok {
			h.Set("WWW-Authenticate", `Basic realm="quintet", charset="UTF-8"`)
			g.refuse(w, r, "login", &problem{status: http.StatusUnauthorized, text: "log in with a name and a password"})
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), userKey{}, name))
	}
	g.next.ServeHTTP(w, r)
}

func (g *guard) login(r *http.Request) (string, bool) {
	name, password, ok := r.BasicAuth()
	if !ok {
		return "", false
	}
	ctx, cancel := context.WithTimeout(r.Context(), loginPatience)
	defer cancel()
	return name, g.users.admits(ctx, name, password)
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
