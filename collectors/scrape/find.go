package scrape

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	findTimeout = 3 * time.Second
	findAtOnce  = 64
)

// page is a page that was found, and the mapping that knows it.
type page struct {
	url, mapping, lacks string
	labels              map[string]string
	series              int
}

// find asks every place for pages that a mapping knows: a URL itself, of a host the
// ports on which the senders of the mappings usually listen.
func find(ctx context.Context, where kind.Search) []kind.Found {
	candidates := map[string][]string{} // mappings that may know a page, by URL; none: any
	names := mapping.Names()
	for _, place := range where.Places {
		u, err := url.Parse(place)
		if err == nil && u.Host != "" {
			if u.Path != "" {
				candidates[place] = names
			}
			continue
		}
		if _, _, err := net.SplitHostPort(place); err == nil {
			candidates["http://"+place+"/metrics"] = names
			continue
		}
		for _, name := range names {
			if m, err := mapping.Shipped(name); err == nil && m.Port > 0 {
				at := "http://" + net.JoinHostPort(place, strconv.Itoa(m.Port)) + "/metrics"
				candidates[at] = append(candidates[at], name)
			}
		}
	}
	urls := slices.Sorted(maps.Keys(candidates))
	pages := make([]*page, len(urls))
	var all sync.WaitGroup
	free := make(chan struct{}, findAtOnce)
	for i, at := range urls {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			pages[i] = look(ctx, at, candidates[at], where)
		})
	}
	all.Wait()
	return entries(pages)
}

// entries has one entry for all pages of a mapping that lack the same.
func entries(pages []*page) (out []kind.Found) {
	slices.SortStableFunc(pages, func(a, b *page) int {
		if a == nil || b == nil {
			return 0
		}
		return cmp.Or(cmp.Compare(a.mapping, b.mapping), cmp.Compare(a.lacks, b.lacks))
	})
	var last *page
	var targets []any
	end := func() {
		if last != nil {
			first := targets[0].(map[string]any)["url"]
			what := fmt.Sprintf("%s: %s", last.mapping, first)
			if n := len(targets); n > 1 {
				what = fmt.Sprintf("%s and %d more", what, n-1)
			}
			out = append(out, kind.Found{What: what, Entry: map[string]any{"mappings": []string{last.mapping}, "targets": targets}, Lacks: last.lacks})
		}
		targets = nil
	}
	for _, p := range pages {
		if p == nil {
			continue
		}
		if last == nil || last.mapping != p.mapping || last.lacks != p.lacks {
			end()
			last = p
		}
		target := map[string]any{"url": p.url}
		if len(p.labels) > 0 {
			target["labels"] = p.labels
		}
		targets = append(targets, target)
	}
	end()
	return out
}

// look reads a page, and returns it with the mapping that knows most of its series;
// nil where none knows any. What the page does not state of itself is the host's name,
// or what only people know.
func look(ctx context.Context, at string, names []string, where kind.Search) *page {
	c, err := New(Config{Targets: []Target{{URL: at}}, Timeout: findTimeout}, where.Guard)
	if err != nil {
		return nil
	}
	client, done, err := c.client()
	if err != nil {
		return nil
	}
	defer done()
	f, _ := c.reader(c.targets[0], client)
	body, form, err := f.fetch(ctx, map[collectors.Reason]int{})
	if err != nil {
		return nil
	}
	var best *page
	for _, more := range []struct {
		label, value, lacks string
	}{{}, {label: "node", value: nodeOf(at)}, {label: "job", value: "NAME", lacks: "the name of the job that it serves, in labels"}, {label: "storage", value: "NAME", lacks: "the name of the file system, in labels"}} {
		if best != nil || more.label != "" && more.value == "" {
			continue
		}
		labels := map[string]string{}
		if more.label != "" {
			labels[more.label] = more.value
		}
		for _, name := range names {
			n := known(slices.Clone(body), form, at, name, labels)
			if n > 0 && (best == nil || n > best.series) {
				best = &page{url: at, mapping: name, lacks: more.lacks, labels: labels, series: n}
			}
		}
	}
	return best
}

// known returns how many series of a page a mapping knows.
func known(body []byte, form, at, name string, labels map[string]string) int {
	c, err := New(Config{Targets: []Target{{URL: at, Labels: labels}}, Mappings: []string{name}}, dial.Guard{})
	if err != nil {
		return 0
	}
	_, r := c.reader(c.targets[0], nil)
	if err := r.read(body, form, map[collectors.Reason]int{}); err != nil {
		return 0
	}
	count := &counter{own: collectors.Entity(sourceName, c.targets[0].name)}
	now := telemetry.Time(time.Now().UnixNano())
	if _, err := r.intake.Emit(count, telemetry.Instant{Source: now, Received: now}, true); err != nil {
		return 0
	}
	return count.series
}

// counter counts the series that are not the collector's own.
type counter struct {
	own    telemetry.Entity
	series int
}

// Emit counts the columns of a schema.
func (c *counter) Emit(r *telemetry.Record) {
	if r.Kind != telemetry.SchemaRecord {
		return
	}
	for _, e := range r.Schema.Entities {
		if e != c.own {
			c.series += len(r.Schema.Columns)
		}
	}
}

// nodeOf returns the name of the host of a page: its own name for loopback, none for
// any other address without a name.
func nodeOf(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return ""
	}
	host := u.Hostname()
	if a, err := netip.ParseAddr(host); err == nil && !a.IsLoopback() {
		return ""
	}
	if a, err := netip.ParseAddr(host); err == nil && a.IsLoopback() || host == "localhost" {
		if host, err = os.Hostname(); err != nil {
			return ""
		}
	}
	host, _, _ = strings.Cut(host, ".")
	return host
}
