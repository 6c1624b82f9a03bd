package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/settings"
	"github.com/quintet-dc/quintet/telemetry"
)

// mostFiles bounds what the paths of an entry may match.
const mostFiles = 1024

// files reads files as a whole, each when it has changed.
type files struct {
	cfg  Config
	last map[string]fs.FileInfo
	// comeAndGo means that there may be no file: those of a job go with it.
	comeAndGo bool
	// take reads one file's text.
	take func(r *report, path string, text []byte) error
}

// matched are the files that there are, by name.
func matched(patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("jobs: %q: %w", p, err)
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (f *files) close() {}

// read reads what has changed. The source cannot be read where no file can.
func (f *files) read(ctx context.Context, r *report) error {
	paths, err := matched(f.cfg.Paths)
	if err != nil {
		return err
	}
	if n := len(paths) - mostFiles; n > 0 {
		r.drop(collectors.OverLimit, n)
		paths = paths[:mostFiles]
	}
	var failed error
	for _, p := range paths {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.one(r, p); err != nil {
			if errors.Is(err, errUnsound) {
				return err
			}
			failed = fmt.Errorf("%s: %w", p, err)
		}
	}
	for p := range f.last { // order-independent: forgets what is gone
		if !slices.Contains(paths, p) {
			delete(f.last, p)
		}
	}
	if len(paths) == 0 && !(f.comeAndGo && anyFolder(f.cfg.Paths)) {
		return fmt.Errorf("%v: %w", f.cfg.Paths, fs.ErrNotExist)
	}
	return failed
}

// anyFolder reports whether one of the folders is there that files are to be in.
func anyFolder(patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		found, err := filepath.Glob(filepath.Dir(p))
		return err == nil && len(found) > 0
	})
}

func (f *files) one(r *report, path string) error {
	now, err := os.Stat(path)
	if err != nil {
		r.drop(collectors.Vanished, 1)
		return err
	}
	if old := f.last[path]; old != nil && os.SameFile(old, now) && old.ModTime().Equal(now.ModTime()) && old.Size() == now.Size() {
		return nil
	}
	text, err := settings.ReadFile(path, int64(f.cfg.MaxBody))
	switch {
	case errors.Is(err, settings.ErrTooLong):
		r.drop(collectors.OverLimit, 1)
	case err != nil:
		r.drop(collectors.Unreadable, 1)
	default:
		if err = f.take(r, path, text); err == nil {
			f.last[path] = now
			return nil
		}
		r.drop(collectors.Malformed, 1)
	}
	delete(f.last, path)
	return err
}

// openLayouts reads topologies. What is no longer in a file has ended.
func openLayouts(c Config) source {
	stated := map[string]map[telemetry.EdgeIdentity]telemetry.Edge{}
	sizes := book.New(book.Config{Collector: sourceName, Target: plain(c.Name), Cadence: c.Every})
	own := collectors.Entity(sourceName, c.Name)
	f := &files{cfg: c, last: map[string]fs.FileInfo{}}
	f.take = func(r *report, path string, text []byte) error {
		edges, err := readLayout(text)
		if err != nil {
			return err
		}
		now := map[telemetry.EdgeIdentity]telemetry.Edge{}
		for _, e := range edges {
			now[e.Identity()] = e
			if _, ok := stated[path][e.Identity()]; !ok {
				r.edge(e)
			}
		}
		var gone []telemetry.Edge
		for k, e := range stated[path] { // order-independent: sorted below
			if _, ok := now[k]; !ok {
				e.End = r.now
				gone = append(gone, e)
			}
		}
		slices.SortFunc(gone, func(a, b telemetry.Edge) int { return a.Compare(&b) })
		for _, e := range gone {
			r.edge(e)
		}
		stated[path] = now
		if cell, ok := sizes.Cell(own, telemetry.Column{Metric: "topology_edges", Type: telemetry.Uint}); ok {
			sizes.Set(cell, uint64(len(now)))
		}
		return r.emit(sizes, r.now)
	}
	return f
}
