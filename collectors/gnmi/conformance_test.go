package gnmi

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

func TestItConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{RealTime: true, New: func(t *testing.T) collectorstest.Subject {
		var spoilt, swollen atomic.Bool
		plain := counting(4, 10*time.Millisecond)
		x := newTarget(t, func(st gpb.GNMI_SubscribeServer, r *gpb.SubscribeRequest) error {
			if !counters(r) {
				return status.Error(codes.NotFound, "no such path")
			}
			if swollen.Load() {
				return swell(st)
			}
			return plain(spoiler{st, &spoilt}, r)
		})
		return collectorstest.Subject{
			Collector: settled{reads(t, "openconfig", x), x},
			Sever:     x.stop, Restore: x.start,
			Spoil: func() { spoilt.Store(true) }, SpoiltAs: collectors.Malformed,
			Swell: func() { swollen.Store(true) },
		}
	}})
}

// spoiler spoils the first value of a notification.
type spoiler struct {
	gpb.GNMI_SubscribeServer
	on *atomic.Bool
}

func (s spoiler) Send(r *gpb.SubscribeResponse) error {
	if u := r.GetUpdate().GetUpdate(); s.on.Load() && len(u) > 0 {
		u[0].Val = &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`"12`)}}
	}
	return s.GNMI_SubscribeServer.Send(r)
}

// swell reports more ports than any switch has.
func swell(st gpb.GNMI_SubscribeServer) error {
	for i := 0; ; i++ {
		n := &gpb.Notification{Timestamp: time.Now().UnixNano()}
		for k := range 500 {
			p, err := parsePath(fmt.Sprintf("/interfaces/interface[name=Ethernet%d]/state/counters/in-octets", i*500+k))
			if err != nil {
				return err
			}
			n.Update = append(n.Update, &gpb.Update{Path: p, Val: &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 1}}})
		}
		if err := st.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}}); err != nil {
			return err
		}
	}
}
