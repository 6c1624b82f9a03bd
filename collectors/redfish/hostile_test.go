package redfish

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	wire "github.com/quintet-dc/quintet/lab/wire/redfish"
)

// hostileMemory is how much more one hostile controller may make the heap hold.
const hostileMemory = 64 << 20

// attack is what every page of a hostile controller is, and the reasons of which one is
// counted.
type attack struct {
	page func(w http.ResponseWriter, r *http.Request, n int64)
	want []collectors.Reason
}

// attacks are the pages of hostile controllers, by name.
func attacks() map[string]attack {
	links := func(n int, of string) string {
		return strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"@odata.id":"/redfish/v1/%s/%%d"},`, of), n), ",")
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(bytes.Repeat([]byte(" "), 256<<20))
	_ = z.Close()
	return map[string]attack{
		"a byte every 50 ms": {func(w http.ResponseWriter, r *http.Request, _ int64) {
			w.WriteHeader(http.StatusOK)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		}, []collectors.Reason{collectors.Unreadable}},
		"a body without end": {func(w http.ResponseWriter, r *http.Request, _ int64) {
			for block := make([]byte, 1<<20); r.Context().Err() == nil; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, []collectors.Reason{collectors.OverLimit, collectors.Unreadable}},
		"a gzip bomb": {func(w http.ResponseWriter, _ *http.Request, _ int64) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		}, []collectors.Reason{collectors.OverLimit}},
		"a collection without end": {func(w http.ResponseWriter, r *http.Request, n int64) {
			fmt.Fprintf(w, `{"@odata.id":%q,"Members":[%s],"Members@odata.nextLink":"/redfish/v1/Chassis?page=%d"}`, r.URL.Path, numbered(links(4000, "Chassis"), n*4000), n)
		}, []collectors.Reason{collectors.OverLimit}},
		"a redirect loop": {func(w http.ResponseWriter, r *http.Request, n int64) {
			http.Redirect(w, r, fmt.Sprintf("/redfish/v1/Chassis?again=%d", n), http.StatusTemporaryRedirect)
		}, []collectors.Reason{collectors.Refused, collectors.Unreadable}},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request, _ int64) {
			for i := range 4000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		}, []collectors.Reason{collectors.Unreadable}},
	}
}

// TestAHostileController: a controller whose every page attacks costs a bounded
// amount of memory and of requests, is named with the reason, and does not prevent
// others from being read.
func TestAHostileController(t *testing.T) {
	for name, attack := range attacks() {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			mux := http.NewServeMux()
			mux.HandleFunc("/redfish/v1/", func(w http.ResponseWriter, r *http.Request) {
				n := asked.Add(1)
				if strings.Trim(r.URL.Path, "/") == "redfish/v1" { // who attacks at once is not read at all
					_, _ = io.WriteString(w, `{"@odata.id":"/redfish/v1","Chassis":{"@odata.id":"/redfish/v1/Chassis"},"Systems":{"@odata.id":"/redfish/v1/Systems"},"Links":{"Sessions":{"@odata.id":"/redfish/v1/SessionService/Sessions"}}}`)
					return
				}
				attack.page(w, r, n)
			})
			s := httptest.NewServer(mux)
			defer s.Close()
			defer s.CloseClientConnections()
			sane := newController(t, wire.Config{})
			ear, _ := listen(t, sane.Collector)
			ear.more(1)
			before := inUse()
			c, err := New(Config{Address: s.URL, Entity: sane.node, Auth: None}, dial.Guard{})
			if err != nil {
				t.Fatal(err)
			}
			c.cfg.Every, c.cfg.Slow, c.cfg.Walk, c.cfg.Timeout = 20*time.Millisecond, 60*time.Millisecond, 200*time.Millisecond, time.Second
			victim, stop := listen(t, c)
			victim.until(fmt.Sprint("one of ", attack.want), func() bool {
				n := 0
				for _, why := range attack.want {
					n += victim.count(why)
				}
				return n > 0
			})
			ear.more(5) // the other is still read
			if now := inUse(); now > before+hostileMemory {
				t.Errorf("%d MB more in use", (now-before)>>20)
			}
			stop()
			ear.more(5)
		})
	}
}

// numbered replaces each %d by a number of its own.
func numbered(form string, from int64) string {
	var b strings.Builder
	for i, part := range strings.Split(form, "%d") {
		if i > 0 {
			fmt.Fprint(&b, from+int64(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
