package gnmi

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/telemetry"
)

// hostileMemory is how much more the heap may hold for one hostile switch, its series
// included: 81 MB were seen.
const hostileMemory = maxKept

func updated(t *testing.T, path string, v *gpb.TypedValue) *gpb.Update {
	p, err := parsePath(path)
	if err != nil {
		t.Error(err)
	}
	return &gpb.Update{Path: p, Val: v}
}

// numbered is a message of n updates, numbered from a number on.
func numbered(t *testing.T, form string, from, n int) *gpb.SubscribeResponse {
	out := &gpb.Notification{Timestamp: time.Now().UnixNano()}
	for i := range n {
		out.Update = append(out.Update, updated(t, fmt.Sprintf(form, from+i), &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 1}}))
	}
	return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: out}}
}

// floods are the messages of switches that name ever more, the n-th of each.
func floods(t *testing.T) map[string]func(n int) *gpb.SubscribeResponse {
	const ports = 2000
	return map[string]func(n int) *gpb.SubscribeResponse{
		"millions of ports": func(n int) *gpb.SubscribeResponse {
			return numbered(t, "/interfaces/interface[name=Ethernet%d]/state/counters/in-octets", n*ports, ports)
		},
		"paths without end": func(n int) *gpb.SubscribeResponse {
			return numbered(t, "/interfaces/interface[name=Ethernet1]/state/counters/x%d", n*ports, ports)
		},
		"names of a kilobyte": func(n int) *gpb.SubscribeResponse {
			return numbered(t, "/interfaces/interface[name="+strings.Repeat("x", 1000)+"%d]/state/counters/in-octets", n*ports, ports)
		},
	}
}

// heavy are the messages of switches each of which is large, or hard to read.
func heavy(t *testing.T) map[string]func(n int) *gpb.SubscribeResponse {
	json := func(text string) *gpb.SubscribeResponse {
		v := &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}
		return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: &gpb.Notification{
			Timestamp: time.Now().UnixNano(), Update: []*gpb.Update{updated(t, "/interfaces", v)}}}}
	}
	return map[string]func(n int) *gpb.SubscribeResponse{
		"a path of a thousand elements": func(n int) *gpb.SubscribeResponse {
			return numbered(t, "/interfaces"+strings.Repeat("/interface[name=x]", 1000)+"/x%d", n, 50)
		},
		"JSON of three megabytes, nested": func(int) *gpb.SubscribeResponse { return json(strings.Repeat(`{"interface":[`, 3<<20/14)) },
		"JSON of three megabytes of lists": func(int) *gpb.SubscribeResponse {
			return json(`{"interface":[` + strings.Repeat(`{},`, 1<<20) + `{}]}`)
		},
		"a message of 64 MB": func(n int) *gpb.SubscribeResponse { return json(strings.Repeat(" ", 64<<20)) },
	}
}

// TestAHostileSwitch: whatever a switch sends, what is beyond the bounds is counted,
// and the other switches are read meanwhile.
func TestAHostileSwitch(t *testing.T) {
	all := heavy(t)
	maps.Copy(all, floods(t))
	for name, send := range all {
		t.Run(name, func(t *testing.T) {
			hostile := newTarget(t, func(st gpb.GNMI_SubscribeServer, r *gpb.SubscribeRequest) error {
				for n := 0; ; n++ {
					if err := st.Send(send(n)); err != nil {
						return err
					}
				}
			})
			sane := newTarget(t, counting(4, 5*time.Millisecond))
			c := reads(t, "openconfig", hostile, sane)
			p := newTape()
			p.quiet = true
			playInto(t, c, p)
			p.await(t, "what is dropped, or word of the end", func() bool {
				return p.dropped[collectors.OverLimit]+p.dropped[collectors.Malformed]+p.dropped[collectors.Unreadable]+p.dropped[collectors.Unknown]+p.dropped[collectors.Stale] > 20 || p.last.Targets["leaf1"] != nil
			})
			sampled := func() int { p.mu.Lock(); defer p.mu.Unlock(); return p.seen["leaf2"] }
			had := sampled()
			p.await(t, "samples of the other switch", func() bool { return p.seen["leaf2"] > had+20 })
		})
	}
}

// TestWhatIsKeptOfASwitchIsBounded reads a hostile switch until nothing more is kept of
// it, and goes on.
func TestWhatIsKeptOfASwitchIsBounded(t *testing.T) {
	p, err := LoadProfile("openconfig")
	if err != nil {
		t.Fatal(err)
	}
	for name, send := range floods(t) {
		t.Run(name, func(t *testing.T) {
			r := newReader(p, Target{Name: "leaf1"}, &Config{Every: time.Second, Queues: true}, collectorstest.Strict{T: t})
			before, most := inUse(), uint64(0)
			for n, beyond := 0, 0; n < 300 && beyond < 10; n++ {
				b, err := proto.Marshal(send(n))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = r.message(b, noon+telemetry.Time(n)*1e6) // what is damaged is an error
				if r.dropped[collectors.OverLimit] > 0 {
					beyond++
				}
				if n%50 == 0 || beyond == 10 {
					most = max(most, inUse())
				}
			}
			t.Logf("%d MB kept, %d MB more in use", r.kept>>20, (most-min(most, before))>>20)
			if most > before+hostileMemory {
				t.Errorf("%d MB more in use, want at most %d", (most-before)>>20, hostileMemory>>20)
			}
		})
	}
}
