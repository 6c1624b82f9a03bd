package receive

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// fileSource is who states an edge that a file states.
	fileSource = "file"
	// lookEvery is how often files are looked at for changes.
	lookEvery = 10 * time.Second
	// maxFile and maxFileEdges bound a file of edges: the reference site's
	// cabling and placement take about a tenth of both.
	maxFile      = 256 << 20
	maxFileEdges = 4 << 20
)

// Files is a collector that reads edges from files in the form of a request of
// edges, which a bundle's topology.json is. It reads a file again when it has
// changed; an edge that is gone from it has ended.
type Files struct {
	paths []string
	now   func() time.Time
}

// NewFiles returns the collector of edges of the files at paths. Now is the
// clock by which they are stamped; nil is time.Now.
func NewFiles(paths []string, now func() time.Time) *Files {
	if now == nil {
		now = time.Now
	}
	return &Files{paths: paths, now: now}
}

// fileState is what was last read of a file.
type fileState struct {
	modified time.Time
	size     int64
	edges    edgeList // by Compare
}

// Run states the edges of the files and their changes until ctx is done. A file
// that cannot be read keeps its last edges, and the error is reported.
func (f *Files) Run(ctx context.Context, sink collectors.Sink) error {
	known := make([]fileState, len(f.paths))
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		sink.Swept(f.sweep(known, sink))
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// sweep reads what has changed since the last one.
func (f *Files) sweep(known []fileState, sink collectors.Sink) collectors.Sweep {
	began := f.now()
	var s collectors.Sweep
	for i, path := range f.paths {
		next, err := f.changed(path, known[i])
		if err != nil {
			s.Err = err
			continue
		}
		s.Read += state(sink, known[i].edges, next.edges, telemetry.Time(f.now().UnixNano()))
		known[i] = next
	}
	s.Took = f.now().Sub(began)
	return s
}

// changed returns the current content of a file.
func (f *Files) changed(path string, was fileState) (fileState, error) {
	info, err := os.Stat(path)
	if err != nil {
		return was, fmt.Errorf("topology: %w", err)
	}
	if info.ModTime().Equal(was.modified) && info.Size() == was.size {
		return was, nil
	}
	edges, err := ReadFile(path, telemetry.Time(f.now().UnixNano()))
	if err != nil {
		return was, err
	}
	return fileState{info.ModTime(), info.Size(), edges}, nil
}

// ReadFile reads the edges of a file, in their order. An error names the place
// of what is wrong.
func ReadFile(path string, now telemetry.Time) ([]*telemetry.Edge, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() > maxFile {
		return nil, fmt.Errorf("topology: %s: more than %d bytes", path, maxFile)
	}
	d := newDocument(file, maxFileEdges)
	edges, err := d.edges(now)
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return nil, fmt.Errorf("topology: %s: %w", path, err)
	}
	for _, e := range edges {
		if e.Source == edgeSource {
			e.Source = fileSource
		}
	}
	slices.SortFunc(edges, (*telemetry.Edge).Compare)
	return slices.CompactFunc(edges, func(a, b *telemetry.Edge) bool { return a.Compare(b) == 0 }), nil
}

// state emits the edges that are new and the ends of those that are gone, and
// returns how many. Both lists are in order.
func state(sink collectors.Sink, old, now edgeList, at telemetry.Time) int {
	n := 0
	emit := func(e *telemetry.Edge) {
		sink.Emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: e})
		n++
	}
	for _, e := range now {
		if _, current := slices.BinarySearchFunc(old, e, (*telemetry.Edge).Compare); !current {
			stated := *e // the record belongs to the sink
			emit(&stated)
		}
	}
	current := make(map[telemetry.EdgeIdentity]bool, len(now))
	for _, e := range now {
		current[e.Identity()] = true
	}
	for _, e := range old {
		if !current[e.Identity()] && e.End == 0 {
			gone := *e
			gone.End, gone.Received = at, at
			emit(&gone)
		}
	}
	return n
}
