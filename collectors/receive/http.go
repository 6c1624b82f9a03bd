package receive

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// Bounds of pushing over HTTP to a listener of its own.
const (
	httpHeaderTimeout = 5 * time.Second
	httpBodyTimeout   = 30 * time.Second
	httpAnswerTimeout = time.Minute
	httpIdleTimeout   = 2 * time.Minute
	httpDrainTimeout  = 5 * time.Second
	httpHeader        = 16 << 10
)

// Routes returns what takes the requests that are pushed over HTTP, by path; each
// takes POST. The path of steps has the path value "job".
func (r *Receiver) Routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/api/v1/jobs/{job}/steps":    r.Steps,
		"/api/v1/edges":               r.Edges,
		"/api/v1/events":              r.Events,
		"/api/v1/alerts/alertmanager": r.AlertmanagerAlerts,
		"/api/v1/alerts/grafana":      r.GrafanaAlerts,
		"/api/v2/alerts":              r.PushedAlerts,
		"/api/v1/write":               r.Write,
		"/v1/metrics":                 r.Metrics,
	}
}

// HTTP is the part of a Receiver that listens for what is pushed over HTTP, for a
// process that serves no API. What it takes, the receiver emits.
type HTTP struct {
	receiver *Receiver
	cfg      Listener
	own      http.Handler
	bound    chan net.Addr
}

// HTTP returns the part that listens for HTTP; nil where none is configured. Own,
// if any, answers GET /metrics.
func (r *Receiver) HTTP(own http.Handler) *HTTP {
	if r.cfg.HTTP.Listen == "" {
		return nil
	}
	return &HTTP{receiver: r, cfg: r.cfg.HTTP, own: own, bound: make(chan net.Addr, 1)}
}

// Target is where it listens.
func (h *HTTP) Target() string { return h.cfg.Listen }

// Run listens until ctx is done. It implements collectors.Collector.
func (h *HTTP) Run(ctx context.Context, sink collectors.Sink) error {
	if err := h.cfg.Validate(); err != nil {
		return fmt.Errorf("receive: http: %w", err)
	}
	l, err := dial.Listen(ctx, h.cfg.Listen, func() { h.receiver.refused(collectors.OverLimit) })
	if err != nil {
		return fmt.Errorf("receive: http: %w", err)
	}
	if h.cfg.TLS.Cert != "" {
		c, err := h.cfg.TLS.Server()
		if err != nil {
			return errors.Join(fmt.Errorf("receive: http: %w", err), l.Close())
		}
		c.NextProtos = append(c.NextProtos, "h2", "http/1.1")
		l = tls.NewListener(l, c)
	}
	server := &http.Server{Handler: h.handler(), ReadHeaderTimeout: httpHeaderTimeout, ReadTimeout: httpBodyTimeout, WriteTimeout: httpAnswerTimeout,
		IdleTimeout: httpIdleTimeout, MaxHeaderBytes: httpHeader}
	select {
	case h.bound <- l.Addr():
	default: // nobody asked where it listened before
	}
	sink.Swept(collectors.Sweep{})
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), httpDrainTimeout)
		defer cancel()
		if server.Shutdown(drain) != nil {
			_ = server.Close() // requests that take longer are broken off
		}
	})
	err = server.Serve(l)
	if !stop() {
		<-stopped
		return nil
	}
	return errors.Join(err, server.Close())
}

// handler answers everything that this listener has.
func (h *HTTP) handler() http.Handler {
	mux := http.NewServeMux()
	for path, take := range h.receiver.Routes() { // order-independent: paths differ
		mux.HandleFunc("POST "+path, h.authorised(take))
	}
	if h.own != nil {
		mux.HandleFunc("GET /metrics", h.authorised(h.own.ServeHTTP))
	}
	healthy := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("healthy\n")) }
	mux.HandleFunc("GET /-/healthy", healthy)
	mux.HandleFunc("GET /-/ready", healthy)
	return mux
}

// authorised lets requests with the token through, where one is configured.
func (h *HTTP) authorised(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch err := h.cfg.admits(r.Header.Values("Authorization")); {
		case errors.Is(err, errToken):
			w.Header().Set("WWW-Authenticate", "Bearer")
			answerFault(w, &fault{status: http.StatusUnauthorized, err: err})
			h.receiver.refused(collectors.Denied)
		case err != nil:
			answerFault(w, &fault{status: http.StatusServiceUnavailable, err: err})
		default:
			next(w, r)
		}
	}
}
