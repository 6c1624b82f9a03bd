package receive

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// collector is the collector's name in the sources of what is pushed.
const collector = "receive"

// Config is one entry of "collectors: receive:". The zero value of a field means its
// default.
type Config struct {
	// Now is the clock by which receipt is stamped; default time.Now.
	Now func() time.Time
	// MaxBody is the longest request, in bytes.
	MaxBody int64 `yaml:"max_body" default:"8388608" min:"1024" max:"67108864"`
	// MaxItems is how many steps, edges or events one request may hold; default
	// 65,536, and 4,096 steps at most.
	MaxItems int
	// MaxJobs and MaxRanks are how many jobs, and ranks of all jobs together, may
	// report; default 4,096 and 65,536. One more takes the place of one that has
	// not reported for an hour, or is refused.
	MaxJobs  int
	MaxRanks int
	// Mapper defines what pushed series mean; nil means the mappings that come with
	// the program.
	Mapper *mapping.Mapper
	// Mappings name mapping files that come with the program; the default is all.
	Mappings []string `yaml:"mappings"`
	// Files are mapping files of the site's, which come first.
	Files []string `yaml:"files"`
	// Grafana, if any, returns the secret that Grafana signs with, and the name of
	// the header of its timestamp, "" where it sends none.
	Grafana func() (secret, timestamp string, err error)
	// MaxSeries is how many series each of remote write and OTLP may become.
	MaxSeries int `yaml:"max_series" default:"65536" max:"1048576"`
	// MaxForeign is how many of those may be unknown to every mapping.
	MaxForeign int `yaml:"max_foreign" default:"2048" max:"8192"`
	// OTLP is where OTLP over gRPC is received; the default is nowhere.
	OTLP Listener `yaml:"otlp_grpc"`
	// HTTP is where a process without the web role receives what is pushed over
	// HTTP; the default is nowhere.
	HTTP Listener `yaml:"http"`
}

// maxSteps is how many reports a request may hold at most.
const maxSteps = 4096

func (c Config) withDefaults() Config {
	if c.Mapper == nil {
		// The files are part of the program, and tested: it reads them or has none.
		c.Mapper, _ = mapping.Read(nil, nil)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxBody <= 0 {
		c.MaxBody = 8 << 20
	}
	if c.MaxItems <= 0 {
		c.MaxItems = 65536
	}
	if c.MaxJobs <= 0 {
		c.MaxJobs = 4096
	}
	if c.MaxRanks <= 0 {
		c.MaxRanks = 65536
	}
	return c
}

// Receiver is a collector that is pushed to: Steps, Edges, Events, Write and
// Metrics are its HTTP handlers, and they accept while Run runs.
type Receiver struct {
	mapping.Formers
	cfg           Config
	book          book
	write, otlp   *push
	room          chan struct{} // of requests with series that are unpacked at once
	bodies        admission
	unpackTimeout time.Duration // of a request that was read whole, until it may be unpacked

	running sync.RWMutex // held for reading by a request that emits
	sink    collectors.Sink
}

// Target returns the transport by which data is pushed.
func (r *Receiver) Target() string { return "http" }

// New returns a receiver that knows no job.
func New(c Config) *Receiver {
	c = c.withDefaults()
	return &Receiver{Formers: c.Mapper.Formers, cfg: c, book: newBook(c), write: newPush(c, "write"), otlp: newPush(c, "otlp"), room: make(chan struct{}, atOnce), unpackTimeout: unpackTimeout}
}

// Run lets the handlers emit into sink until ctx is done and the last of them
// has emitted what it accepted. It implements collectors.Collector.
func (r *Receiver) Run(ctx context.Context, sink collectors.Sink) error {
	r.running.Lock()
	if r.sink != nil {
		r.running.Unlock()
		return errors.New("receive: runs already")
	}
	r.sink = sink
	r.book.renew() // a former sink received it, this one did not
	r.write.forget()
	r.otlp.forget()
	r.running.Unlock()
	sink.Swept(collectors.Sweep{})
	<-ctx.Done()
	r.running.Lock()
	r.sink = nil
	r.running.Unlock()
	return nil
}

// Steps takes POST /api/v1/jobs/{job}/steps; the job is the path value "job".
func (r *Receiver) Steps(w http.ResponseWriter, req *http.Request) {
	r.take(w, req, func(d *document) (accepted, error) {
		job, err := jobName(req.PathValue("job"))
		if err != nil {
			return nil, err
		}
		report, err := d.report(r.now())
		if err != nil {
			return nil, err
		}
		report.job = job
		return report, nil
	})
}

// Edges takes POST /api/v1/edges.
func (r *Receiver) Edges(w http.ResponseWriter, req *http.Request) {
	r.take(w, req, func(d *document) (accepted, error) { return d.edges(r.now()) })
}

// Events takes POST /api/v1/events.
func (r *Receiver) Events(w http.ResponseWriter, req *http.Request) {
	r.take(w, req, func(d *document) (accepted, error) { return d.events(r.now()) })
}

func (r *Receiver) now() telemetry.Time { return telemetry.Time(r.cfg.Now().UnixNano()) }

// accepted is a request that was read whole and found right.
type accepted interface {
	// emit states it and returns what came of it; an error means that nothing
	// was emitted.
	emit(r *Receiver, sink collectors.Sink) (receipt, error)
}

// take reads a request with read, emits it and answers.
func (r *Receiver) take(w http.ResponseWriter, req *http.Request, read func(*document) (accepted, error)) {
	if !r.runs() {
		answerFault(w, closed())
		return
	}
	began := r.cfg.Now()
	a, err := r.accept(w, req, read)
	got, err := r.emit(began, a, err)
	if err != nil {
		answerFault(w, faultOf(err))
		return
	}
	answer(w, http.StatusAccepted, got)
}

func (r *Receiver) runs() bool {
	r.running.RLock()
	defer r.running.RUnlock()
	return r.sink != nil
}

func closed() *fault {
	return &fault{status: http.StatusServiceUnavailable, err: errors.New("nothing is received at the moment: try again")}
}

func (r *Receiver) accept(w http.ResponseWriter, req *http.Request, read func(*document) (accepted, error)) (accepted, error) {
	if e := req.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, &fault{status: http.StatusUnsupportedMediaType, err: errors.New("Content-Encoding " + e + ": send it as it is")}
	}
	in := r.body(w, req)
	defer in.release()
	d := newDocument(in, r.cfg.MaxItems)
	a, err := read(d)
	if err == nil {
		err = d.end()
	}
	return a, err
}

// emit states what was accepted, or counts why it was not. Only this holds up
// the end of Run: a client may send its request, and read the answer, slowly.
func (r *Receiver) emit(began time.Time, a accepted, err error) (got receipt, _ error) {
	r.running.RLock()
	defer r.running.RUnlock()
	if r.sink == nil {
		return receipt{}, closed()
	}
	if err == nil {
		got, err = a.emit(r, r.sink)
	}
	sweep := collectors.Sweep{Took: r.cfg.Now().Sub(began), Read: got.read()}
	if err != nil {
		sweep.Dropped = map[collectors.Reason]int{faultOf(err).reason(): 1}
	}
	r.sink.Swept(sweep)
	return got, err
}
