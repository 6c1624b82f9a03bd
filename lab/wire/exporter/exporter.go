package exporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config states where the pages are.
type Config struct {
	// Listen is an address of loopback; "" means 127.0.0.1 and any port.
	Listen string
	// Every is the cadence that the entries name; zero means a second.
	Every time.Duration
	// RDMA adds node_exporter's pages to the entries: they repeat, and more
	// coarsely, what a host's own tree contains.
	RDMA bool
}

// Fleet is the exporters of a site, all on one address.
type Fleet struct {
	board  *board.Board
	cfg    Config
	listen net.Listener

	mu      sync.Mutex
	xids    map[telemetry.Entity]string // latest code of each GPU
	next    int                         // of events
	mounts  map[telemetry.Entity]*mount
	engines map[telemetry.Entity]*engine
}

// New listens, and answers once Run runs.
func New(b *board.Board, c Config) (*Fleet, error) {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Every == 0 {
		c.Every = time.Second
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("exporter: %w", err)
	}
	return &Fleet{board: b, cfg: c, listen: l, xids: map[telemetry.Entity]string{}, mounts: map[telemetry.Entity]*mount{}, engines: map[telemetry.Entity]*engine{}}, nil
}

// Run answers until ctx is done.
func (f *Fleet) Run(ctx context.Context) error {
	server := &http.Server{Handler: f.handler(), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(f.listen) }()
	f.advance()
	for f.board.Wait(ctx) == nil {
		f.advance()
	}
	_ = server.Close() // nobody is promised an answer
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("exporter: %w", err)
	}
	return nil
}

// advance lets what exporters count go on by a second.
func (f *Fleet) advance() {
	f.mu.Lock()
	defer f.mu.Unlock()
	events, next := f.board.Events(f.next)
	f.next = next
	for _, e := range events {
		if e.Name == telemetry.EventXID {
			code, _, _ := strings.Cut(e.Text, " ")
			f.xids[e.Entity] = strings.TrimRight(code, ",:")
		}
	}
	for _, x := range f.board.Entities(telemetry.Storage) {
		if f.mounts[x] == nil {
			f.mounts[x] = &mount{}
		}
		f.mounts[x].advance(f.board, x)
	}
	for _, x := range f.board.Entities(telemetry.Job) {
		if _, serves := f.board.Read(x, "job_ttft_seconds_p50"); !serves {
			continue
		}
		if f.engines[x] == nil {
			f.engines[x] = newEngine()
		}
		f.engines[x].advance(f.board, x)
	}
}

func (f *Fleet) handler() http.Handler {
	mux := http.NewServeMux()
	page := func(kind telemetry.Kind, write func(*page, telemetry.Entity)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := telemetry.Entity{Kind: kind, Name: r.PathValue("name")}
			if kind == telemetry.Node && f.board.Off(x) {
				<-r.Context().Done() // no host, no answer
				return
			}
			p := &page{board: f.board}
			f.mu.Lock()
			write(p, x)
			f.mu.Unlock()
			if p.lines == 0 {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_, _ = w.Write(p.text) // who asked may be gone
		}
	}
	mux.HandleFunc("GET /dcgm/{name}/metrics", page(telemetry.Node, f.dcgm))
	mux.HandleFunc("GET /node/{name}/metrics", page(telemetry.Node, f.node))
	mux.HandleFunc("GET /nmx-t/{name}/metrics", page(telemetry.Site, f.links))
	mux.HandleFunc("GET /storage/{name}/metrics", page(telemetry.Storage, f.storage))
	mux.HandleFunc("GET /serving/{name}/metrics", page(telemetry.Job, f.serving))
	return mux
}

// Addresses lists the pages for people: what it is of, and where.
func (f *Fleet) Addresses() []string {
	var out []string
	for _, p := range f.pages() {
		for _, x := range p.of {
			out = append(out, fmt.Sprintf("%s of %s %s", p.what, x, f.url(p.path, x)))
		}
	}
	return out
}

// Entries are what "collectors: scrape:" needs to read the pages.
func (f *Fleet) Entries() []map[string]any {
	var out []map[string]any
	for _, p := range f.pages() {
		if len(p.of) == 0 || p.path == "node" && !f.cfg.RDMA {
			continue
		}
		var targets []any
		for _, x := range p.of {
			t := map[string]any{"url": f.url(p.path, x), "name": p.path + "/" + x.Name}
			if p.label != "" {
				t["labels"] = map[string]any{p.label: x.Name}
			}
			targets = append(targets, t)
		}
		every := f.cfg.Every
		if p.path == "nmx-t" {
			every *= linksEvery
		}
		out = append(out, map[string]any{"interval": every.String(), "mappings": []any{p.mapping}, "targets": targets})
	}
	return out
}

// linksEvery is how much more seldom NMX-T's page changes than the others. Its
// samples carry their own times: asked more often, it would seem to become stale
// between them.
const linksEvery = 10

func (f *Fleet) url(path string, x telemetry.Entity) string {
	return "http://" + f.listen.Addr().String() + "/" + path + "/" + x.Name + "/metrics"
}

// kindOfPage is what one exporter's pages are of.
type kindOfPage struct {
	what, path, mapping, label string
	of                         []telemetry.Entity
}

func (f *Fleet) pages() []kindOfPage {
	var serving []telemetry.Entity
	for _, x := range f.board.Entities(telemetry.Job) {
		if _, ok := f.board.Read(x, "job_ttft_seconds_p50"); ok {
			serving = append(serving, x)
		}
	}
	nodes := f.board.Entities(telemetry.Node)
	return []kindOfPage{
		{"dcgm-exporter", "dcgm", "dcgm", "node", f.with(nodes, telemetry.GPU)},
		{"node_exporter", "node", "node_exporter", "node", f.with(nodes, telemetry.NIC)},
		{"NMX-T", "nmx-t", "nmx-t", "", f.board.Entities(telemetry.Site)},
		{"NFS client", "storage", "storage", "storage", f.board.Entities(telemetry.Storage)},
		{"vLLM", "serving", "vllm", "job", serving},
	}
}

// with lists those that contain something of a kind.
func (f *Fleet) with(list []telemetry.Entity, k telemetry.Kind) []telemetry.Entity {
	var out []telemetry.Entity
	for _, x := range list {
		if len(f.inside(x, k)) > 0 {
			out = append(out, x)
		}
	}
	return out
}

// inside lists what of a kind an entity contains.
func (f *Fleet) inside(x telemetry.Entity, k telemetry.Kind) []telemetry.Entity {
	var out []telemetry.Entity
	for _, y := range f.board.Inside(x) {
		if y.Kind == k {
			out = append(out, y)
		}
	}
	return out
}

// last is the last part of a name.
func last(x telemetry.Entity) string { return x.Name[strings.LastIndexByte(x.Name, '/')+1:] }

// number is the last part of a name as a number; 0 where it is none.
func number(x telemetry.Entity) int {
	n, _ := strconv.Atoi(last(x)) // 0 is an answer
	return n
}
