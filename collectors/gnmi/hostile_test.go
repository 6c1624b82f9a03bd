package gnmi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/quintet-dc/quintet/collectors"
)

// hostileMemory is how much more one hostile switch may make the heap hold, the
// messages of the switch included, which runs in the same process: 240 MB were seen.
const hostileMemory = 384 << 20

// TestAHostileSwitch: whatever a switch sends, what is kept of it is bounded, what is
// beyond is counted, and the other switches are read meanwhile.
func TestAHostileSwitch(t *testing.T) {
	update := func(path string, v *gpb.TypedValue) *gpb.Update {
		p, err := parsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		return &gpb.Update{Path: p, Val: v}
	}
	one := &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 1}}
	many := func(form string, from, n int) *gpb.SubscribeResponse {
		out := &gpb.Notification{Timestamp: time.Now().UnixNano()}
		for i := range n {
			out.Update = append(out.Update, update(fmt.Sprintf(form, from+i), one))
		}
		return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: out}}
	}
	json := func(text string) *gpb.SubscribeResponse {
		v := &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}
		return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: &gpb.Notification{
			Timestamp: time.Now().UnixNano(), Update: []*gpb.Update{update("/interfaces", v)}}}}
	}
	const ports = 2000
	for name, send := range map[string]func(n int) *gpb.SubscribeResponse{
		"millions of ports": func(n int) *gpb.SubscribeResponse {
			return many("/interfaces/interface[name=Ethernet%d]/state/counters/in-octets", n*ports, ports)
		},
		"paths without end": func(n int) *gpb.SubscribeResponse {
			return many("/interfaces/interface[name=Ethernet1]/state/counters/x%d", n*ports, ports)
		},
		"names of a kilobyte": func(n int) *gpb.SubscribeResponse {
			return many("/interfaces/interface[name="+strings.Repeat("x", 1000)+"%d]/state/counters/in-octets", n*ports, ports)
		},
		"a path of a thousand elements": func(n int) *gpb.SubscribeResponse {
			return many("/interfaces"+strings.Repeat("/interface[name=x]", 1000)+"/x%d", n, 50)
		},
		"JSON of three megabytes, nested": func(int) *gpb.SubscribeResponse { return json(strings.Repeat(`{"interface":[`, 3<<20/14)) },
		"JSON of three megabytes of lists": func(int) *gpb.SubscribeResponse {
			return json(`{"interface":[` + strings.Repeat(`{},`, 1<<20) + `{}]}`)
		},
		"a message of 64 MB": func(n int) *gpb.SubscribeResponse { return json(strings.Repeat(" ", 64<<20)) },
	} {
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
			before := inUse()
			playInto(t, c, p)
			p.await(t, "what is dropped, or word of the end", func() bool {
				return p.dropped[collectors.OverLimit]+p.dropped[collectors.Malformed]+p.dropped[collectors.Unreadable]+p.dropped[collectors.Unknown]+p.dropped[collectors.Stale] > 20 || p.last.Targets["leaf1"] != nil
			})
			sampled := func() int { p.mu.Lock(); defer p.mu.Unlock(); return p.seen["leaf2"] }
			had := sampled()
			p.await(t, "samples of the other switch", func() bool { return p.seen["leaf2"] > had+20 })
			if now := inUse(); now > before+hostileMemory {
				t.Errorf("%d MB more in use", (now-before)>>20)
			}
		})
	}
}
