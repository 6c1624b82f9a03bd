package scrape

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// ear records the output of a collector as text for comparison.
type ear struct{ *collectorstest.Ear }

func listen(t testing.TB) ear { return ear{collectorstest.Listen(t)} }

// golden writes the series that were received, a line for each: entity, metric,
// latest value.
func (e ear) golden() string {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	var b strings.Builder
	for _, x := range slices.SortedFunc(maps.Keys(e.Series), telemetry.Series.Compare) {
		h, _ := e.Last(x)
		v := fmt.Sprint(h.Float())
		if h.Column.Type == telemetry.Uint {
			v = fmt.Sprint(h.Word)
		}
		if h.State == telemetry.Gap {
			v = "gap"
		}
		fmt.Fprintf(&b, "%s %s\n", x, v)
	}
	for _, why := range slices.Sorted(maps.Keys(e.Dropped)) {
		fmt.Fprintf(&b, "dropped %s %d\n", why, e.Dropped[why])
	}
	return b.String()
}

// reads runs a collector of a configuration into an ear until the test ends.
func reads(t testing.TB, c Config) ear {
	t.Helper()
	col, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	return ear{collectorstest.Record(t, col)}
}

// pages serves one text after another, and the last again.
type pages struct {
	mu    sync.Mutex
	texts []string
	form  string
	asked int
}

func (p *pages) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	text := p.texts[min(p.asked, len(p.texts)-1)]
	p.asked++
	p.mu.Unlock()
	if p.form != "" {
		w.Header().Set("Content-Type", p.form)
	}
	_, _ = w.Write([]byte(text))
}

// serve puts pages on loopback and returns a target of them.
func serve(t testing.TB, labels map[string]string, texts ...string) (*pages, Target) {
	p := &pages{texts: texts}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return p, Target{URL: s.URL + "/metrics", Name: "page", Labels: labels}
}

// once reads texts, a page after another, and returns the output.
func once(t testing.TB, c Config, labels map[string]string, texts ...string) ear {
	t.Helper()
	return onceAs(t, c, labels, "", texts...)
}

func onceAs(t testing.TB, c Config, labels map[string]string, form string, texts ...string) ear {
	t.Helper()
	p, target := serve(t, labels, texts...)
	p.form = form
	c.Targets, c.Every = []Target{target}, time.Second
	e := listen(t)
	col, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	f, r := col.reader(col.targets[0], http.DefaultClient)
	for range texts {
		sweep, err := col.once(t.Context(), f, r, e)
		sweep.Err = err
		e.Swept(sweep)
	}
	return e
}

// tryNode is node for text that may be no YAML.
func tryNode(text string) *yaml.Node {
	var n yaml.Node
	if yaml.Unmarshal([]byte(text), &n) != nil || len(n.Content) == 0 {
		return nil
	}
	return &n
}
