//go:build unix

package gnmi

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"github.com/quintet-dc/quintet/telemetry"
)

// BenchmarkNotification is 25 updates of one port, from the message as it came to
// the published frame: 64 ports a frame, as a switch is sampled.
func BenchmarkNotification(b *testing.B) {
	p, err := LoadProfile("openconfig")
	if err != nil {
		b.Fatal(err)
	}
	messages := portMessages(b)
	r := newReader(p, Target{Name: "leaf1"}, &Config{Every: time.Second}, discard{})
	b.ReportAllocs()
	updates := 0
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, m := range messages {
			if _, err := r.message(m, noon); err != nil {
				b.Fatal(err)
			}
			updates += 25
		}
		r.flush()
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	// What else the machine does is not in the processor's time.
	b.ReportMetric(float64(after.Utime.Nano()-before.Utime.Nano())/float64(updates), "cpu-ns/update")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(updates), "ns/update")
}

type discard struct{}

func (discard) Emit(*telemetry.Record) {}

// portMessages are notifications of 64 ports' counters, 25 each, 15 of which a
// profile knows.
func portMessages(t testing.TB) [][]byte {
	names := []string{"in-octets", "out-octets", "in-pkts", "out-pkts", "in-unicast-pkts", "out-unicast-pkts", "in-multicast-pkts", "out-multicast-pkts",
		"in-broadcast-pkts", "out-broadcast-pkts", "in-discards", "out-discards", "in-errors", "in-fcs-errors", "carrier-transitions"}
	for i := len(names); i < 25; i++ {
		names = append(names, fmt.Sprintf("vendor-%d", i))
	}
	var messages [][]byte
	for port := range 64 {
		prefix, err := parsePath(fmt.Sprintf("/interfaces/interface[name=Ethernet%d]/state/counters", port))
		if err != nil {
			t.Fatal(err)
		}
		n := &gpb.Notification{Timestamp: int64(noon), Prefix: prefix}
		for i, l := range names {
			n.Update = append(n.Update, &gpb.Update{Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: l}}},
				Val: &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 1e12 + uint64(i*port)}}})
		}
		m, err := proto.Marshal(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	return messages
}
