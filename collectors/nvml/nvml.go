package nvml

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/telemetry"
)

const sourceName = "nvml"

// ErrNotBuilt means that this program was built without the library's binding.
var ErrNotBuilt = errors.New("built without the tag nvml: scrape a dcgm-exporter instead, or build with -tags nvml")

// library is NVML as far as it is used; driver is the real one.
type library interface {
	// open loads the library and returns the host's GPUs.
	open() ([]card, error)
	// close gives back what open took.
	close()
	// wait returns an XID that a GPU raises within d; ok is false if none does.
	wait(d time.Duration) (x xid, ok bool)
}

// card is one GPU.
type card interface {
	index() int
	attrs() []telemetry.Attr // ordered by key
	// read fills in what is known. It fails where the GPU answers nothing at all.
	read(*sheet) error
}

// xid is an error that the driver reports of a GPU.
type xid struct {
	gpu  int // index; -1 if it is not known which
	code uint64
}

// Collector reads the GPUs of the host it runs on.
type Collector struct {
	cfg Config
	lib library
}

// New returns the collector, or an error if its configuration is invalid.
func New(c Config) (*Collector, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("nvml: %w", err)
	}
	return &Collector{cfg: c, lib: driver()}, nil
}

// Target names the node whose GPUs are read.
func (c *Collector) Target() string { return c.cfg.Node }

// Run reads until ctx is done. It fails where there is no library or no GPU; the
// supervisor tries again.
func (c *Collector) Run(ctx context.Context, sink collectors.Sink) error {
	cards, err := c.lib.open()
	if err != nil {
		return err
	}
	defer c.lib.close()
	r := &reader{cfg: c.cfg, lib: c.lib, cards: cards, node: telemetry.Entity{Kind: telemetry.Node, Name: collectors.Part(c.cfg.Node)},
		book: book.New(book.Config{Collector: sourceName, Target: c.cfg.Node, Part: "gpus", Cadence: telemetry.Duration(c.cfg.Every)})}
	r.state(sink)
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
			sink.Swept(r.sweep(sink))
			next.Reset(c.cfg.Every)
		}
	}
}

// reader is one run.
type reader struct {
	cfg   Config
	lib   library
	cards []card
	node  telemetry.Entity
	book  *book.Book
	cells map[int]*[quantities]book.Cell
	sheet sheet
}

func (r *reader) gpu(index int) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.GPU, Name: r.node.Name + "/" + strconv.Itoa(index)}
}

// state emits the GPUs of the host.
func (r *reader) state(sink collectors.Sink) {
	r.cells = map[int]*[quantities]book.Cell{}
	for _, c := range r.cards {
		sink.Emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: r.node, To: r.gpu(c.index()), Relation: telemetry.Contains,
			Received: now(), Source: sourceName, Attrs: c.attrs()}})
		r.cells[c.index()] = new([quantities]book.Cell)
	}
}

func now() telemetry.Time { return telemetry.Time(time.Now().UnixNano()) }

// sweep reads every GPU once, and the XIDs that came since the last time.
func (r *reader) sweep(sink collectors.Sink) collectors.Sweep {
	began := time.Now()
	s := collectors.Sweep{Dropped: map[collectors.Reason]int{}}
	s.Read += r.events(sink, &s)
	missing := 0
	for _, c := range r.cards {
		r.sheet = sheet{}
		if err := c.read(&r.sheet); err != nil {
			missing++
			s.Dropped[collectors.Unreadable]++
			sink.Logger().Debug("gpu not read", "gpu", r.gpu(c.index()), "err", err)
			r.gaps(c.index())
			continue
		}
		r.note(c.index(), &s)
	}
	if missing == len(r.cards) {
		s.Err = fmt.Errorf("none of %d GPUs answers", missing)
	}
	at := now()
	n, err := r.book.Emit(sink, telemetry.Instant{Source: at, Received: at})
	s.Read += n
	if err != nil {
		s.Err = err
	}
	s.Took = time.Since(began)
	return s
}

// note stores the values read of a GPU.
func (r *reader) note(index int, s *collectors.Sweep) {
	cells := r.cells[index]
	for q := range quantities {
		if !r.sheet.known[q] {
			continue
		}
		if !cells[q].Known() {
			cell, ok := r.book.Cell(r.gpu(index), columns[q])
			if !ok {
				s.Dropped[collectors.OverLimit]++
				continue
			}
			cells[q] = cell
		}
		r.book.Set(cells[q], r.sheet.words[q])
	}
}

// gaps sets a gap in every series that a GPU has reported: the read failed.
func (r *reader) gaps(index int) {
	for _, c := range r.cells[index] {
		if c.Known() {
			r.book.Gap(c)
		}
	}
}

// maxXIDs is how many are taken at once: a GPU that falls off its bus raises a
// handful.
const maxXIDs = 64

func (r *reader) events(sink collectors.Sink, s *collectors.Sweep) int {
	n := 0
	for range maxXIDs {
		x, ok := r.lib.wait(0)
		if !ok {
			return n
		}
		if x.gpu < 0 {
			s.Dropped[collectors.Unknown]++
			continue
		}
		at := now()
		sink.Emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: r.gpu(x.gpu), At: at, Received: at,
			Name: telemetry.EventXID, Text: strconv.FormatUint(x.code, 10),
			Source: telemetry.Source{Collector: sourceName, Target: r.cfg.Node, Part: "events"}}})
		n++
	}
	s.Dropped[collectors.OverLimit]++
	return n
}
