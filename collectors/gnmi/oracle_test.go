package gnmi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"github.com/quintet-dc/quintet/telemetry"
)

// TestAgainstTheGeneratedCode: messages of any cut, order and encoding come out
// as a reader makes of them that uses the generated code and a map of paths.
func TestAgainstTheGeneratedCode(t *testing.T) {
	leaves := map[string]telemetry.MetricName{"in-octets": "port_rx_bytes_total", "out-octets": "port_tx_bytes_total", "in-errors": "port_rx_errors_total",
		"out-pkts": "port_tx_packets_total"}
	order := slices.Sorted(maps.Keys(leaves))
	for seed := range uint64(30) {
		draw := rand.New(rand.NewPCG(seed, 7))
		d := newDesk(t, "openconfig")
		want := map[string]string{}
		for second := range 20 {
			d.now = noon.Add(time.Duration(second) * time.Second)
			for range 1 + draw.IntN(3) {
				r := someMessage(draw, order, d.now)
				b, err := proto.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := d.message(b, d.now); err != nil {
					t.Fatal(err)
				}
				var again gpb.SubscribeResponse
				if err := proto.Unmarshal(b, &again); err != nil {
					t.Fatal(err)
				}
				naive(again.GetUpdate(), leaves, want)
			}
			d.flush()
			var lines []string
			for s, v := range want {
				lines = append(lines, s+" "+v)
			}
			slices.Sort(lines)
			got := slices.DeleteFunc(strings.Split(d.tape.text(), "\n"), func(l string) bool { return l == "" || strings.Contains(l, " contains ") })
			if strings.Join(got, "\n") != strings.Join(lines, "\n") {
				t.Fatalf("seed %d second %d:\n%s\nwant\n%s", seed, second, strings.Join(got, "\n"), strings.Join(lines, "\n"))
			}
			clear(want)
		}
	}
}

// someMessage is a notification of some ports' counters, cut somewhere into prefix
// and path, in any encoding.
func someMessage(draw *rand.Rand, leaves []string, at telemetry.Time) *gpb.SubscribeResponse {
	n := &gpb.Notification{Timestamp: int64(at)}
	port := fmt.Sprintf("Ethernet%d", draw.IntN(6))
	full := func(l string) []*gpb.PathElem {
		return []*gpb.PathElem{{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": port}}, {Name: "state"}, {Name: "counters"}, {Name: l}}
	}
	cut := draw.IntN(5)
	n.Prefix = &gpb.Path{Elem: full("")[:cut]}
	for range draw.IntN(6) {
		l := leaves[draw.IntN(len(leaves))]
		v := draw.Uint64() >> draw.IntN(64)
		u := &gpb.Update{Path: &gpb.Path{Elem: full(l)[cut:]}}
		switch draw.IntN(4) {
		case 0:
			u.Val = &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: v}}
		case 1:
			u.Val = &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: fmt.Appendf(nil, "%q", fmt.Sprint(v))}}
		case 2:
			u.Val = &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: fmt.Appendf(nil, " %d", v)}}
		case 3:
			u.Path.Elem = u.Path.Elem[:len(u.Path.Elem)-1]
			u.Val = &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: fmt.Appendf(nil, `{ %q : "%d" }`, l, v)}}
		}
		n.Update = append(n.Update, u)
	}
	return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}}
}

// naive reads a notification as plainly as can be.
func naive(n *gpb.Notification, leaves map[string]telemetry.MetricName, into map[string]string) {
	for _, u := range n.GetUpdate() {
		elems := append(slices.Clone(n.GetPrefix().GetElem()), u.GetPath().GetElem()...)
		name := "port:leaf1/" + elems[1].GetKey()["name"] + " "
		raw := u.GetVal().GetJsonIetfVal()
		if raw == nil {
			raw = u.GetVal().GetJsonVal()
		}
		if len(elems) == 4 {
			var m map[string]string
			if json.Unmarshal(raw, &m) == nil {
				for l, v := range m {
					into[name+string(leaves[l])] = v
				}
			}
			continue
		}
		v := fmt.Sprint(u.GetVal().GetUintVal())
		if raw != nil {
			v = strings.Trim(string(bytes.TrimSpace(raw)), `"`)
		}
		into[name+string(leaves[elems[4].GetName()])] = v
	}
}

// TestSteadyStateAllocatesNothing: a message whose paths are known is read
// without an allocation, as leaves and as one JSON value.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for name, lines := range map[string][]string{
		"leaves": {"prefix: /interfaces/interface[name=Ethernet1]/state/counters", "/in-octets = 1234567890123", "/out-octets = 99", "/in-errors = 0"},
		"json":   {`/COUNTERS/Ethernet* = json {"Ethernet0":{"SAI_PORT_STAT_IF_IN_OCTETS":"123456","SAI_PORT_STAT_PFC_3_RX_PKTS":"77"},"Ethernet4":{"SAI_PORT_STAT_IF_IN_OCTETS":"8"}}`},
	} {
		profile := "openconfig"
		if name == "json" {
			profile = "sonic"
		}
		d := newDesk(t, profile)
		d.tell(0, lines...)
		n := &gpb.Notification{Timestamp: int64(noon)}
		for _, l := range lines {
			if p, ok := strings.CutPrefix(l, "prefix: "); ok {
				n.Prefix = d.path(p)
				continue
			}
			path, v, _ := strings.Cut(l, " = ")
			n.Update = append(n.Update, &gpb.Update{Path: d.path(path), Val: typed(v)})
		}
		b, err := proto.Marshal(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}})
		if err != nil {
			t.Fatal(err)
		}
		if got := testing.AllocsPerRun(100, func() {
			if _, err := d.message(b, d.now); err != nil {
				t.Fatal(err)
			}
		}); got > 0 {
			t.Errorf("%s: %g allocations a message", name, got)
		}
	}
}
