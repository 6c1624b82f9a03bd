package gnmi

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// noon is when the tests of the reader play.
const noon = telemetry.Time(1_800_000_000e9)

// desk is a reader and its output.
type desk struct {
	*reader
	t    *testing.T
	tape *tape
	now  telemetry.Time
}

func newDesk(t *testing.T, profile string) *desk {
	t.Helper()
	p, err := LoadProfile(profile)
	if err != nil {
		t.Fatal(err)
	}
	tp := newTape()
	return &desk{reader: newReader(p, Target{Name: "leaf1"}, &Config{Every: time.Second}, tp), t: t, tape: tp, now: noon}
}

// tell has the device report lines such as "prefix: /a/b", "/path = 7", "/path =
// json {…}", "delete /path", "atomic", "sync", at a time.
func (d *desk) tell(at time.Duration, lines ...string) {
	d.t.Helper()
	n := &gpb.Notification{Timestamp: int64(noon.Add(at))}
	d.now = noon.Add(at).Add(10 * time.Millisecond)
	synced := false
	for _, l := range lines {
		switch {
		case l == "":
		case l == "sync":
			synced = true
		case l == "atomic":
			n.Atomic = true
		case strings.HasPrefix(l, "prefix: "):
			n.Prefix = d.path(l[len("prefix: "):])
		case strings.HasPrefix(l, "delete "):
			n.Delete = append(n.Delete, d.path(l[len("delete "):]))
		default:
			path, value, _ := strings.Cut(l, " = ")
			n.Update = append(n.Update, &gpb.Update{Path: d.path(path), Val: typed(value)})
		}
	}
	d.say(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}})
	if synced {
		d.say(syncNow())
	}
}

func (d *desk) path(s string) *gpb.Path {
	d.t.Helper()
	p, err := parsePath(s)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

func typed(s string) *gpb.TypedValue {
	if j, ok := strings.CutPrefix(s, "json "); ok {
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(j)}}
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: u}}
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return &gpb.TypedValue{Value: &gpb.TypedValue_DoubleVal{DoubleVal: f}}
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: s}}
}

func (d *desk) say(r *gpb.SubscribeResponse) {
	d.t.Helper()
	b, err := proto.Marshal(r)
	if err != nil {
		d.t.Fatal(err)
	}
	synced, err := d.message(b, d.now)
	if err != nil {
		d.t.Fatal(err)
	}
	if d.stale { // as a session that begins anew
		d.reader.lost(d.now)
	}
	if d.group != nil {
		d.group.synced = d.group.synced || synced
	}
}

// told compares what was reported since the last call with lines in any order; the
// containment of ports is left out.
func (d *desk) told(what string, want ...string) {
	d.t.Helper()
	d.flush()
	var got []string
	for _, l := range strings.Split(d.tape.text(), "\n") {
		if l != "" && !strings.Contains(l, " contains ") {
			got = append(got, l)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		d.t.Errorf("%s: told\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// lost compares what was dropped since the last time.
func (d *desk) lost(what string, want map[collectors.Reason]int) {
	d.t.Helper()
	if _, got := d.drain(); fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("%s: dropped %v, want %v", what, got, want)
	}
}

const counter = "/interfaces/interface[name=Ethernet1/1]/state/counters/"

// TestForms: a number arrives as it was sent, whatever form it was sent in, and
// what is no number of the leaf's is a gap and counted.
func TestForms(t *testing.T) {
	d := newDesk(t, "openconfig")
	const in, ber = "port:leaf1/Ethernet1%2F1 port_rx_bytes_total ", "port:leaf1/Ethernet1%2F1 port_pre_fec_ber "
	path := func(p string) *gpb.Path { return d.path(p) }
	at := time.Duration(0)
	for _, c := range []struct {
		leaf string
		v    *gpb.TypedValue
		want string
		why  collectors.Reason
	}{
		{"in-octets", typed("18446744073709551615"), "18446744073709551615", ""},
		{"in-octets", typed(`json "18446744073709551615"`), "18446744073709551615", ""},
		{"in-octets", typed(`json 42`), "42", ""},
		{"in-octets", typed(`json [42]`), "42", ""},
		{"in-octets", typed(`json 4.2e1`), "42", ""},
		{"in-octets", &gpb.TypedValue{Value: &gpb.TypedValue_IntVal{IntVal: 7}}, "7", ""},
		{"in-octets", &gpb.TypedValue{Value: &gpb.TypedValue_IntVal{IntVal: -7}}, "gap", collectors.OutOfRange},
		{"in-octets", &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "12345"}}, "12345", ""},
		{"in-octets", &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: "9"}}, "9", ""},
		{"in-octets", &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "N/A"}}, "gap", collectors.Unsupported},
		{"in-octets", &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "many"}}, "gap", collectors.Malformed},
		{"in-octets", &gpb.TypedValue{Value: &gpb.TypedValue_DoubleVal{DoubleVal: 1e30}}, "gap", collectors.OutOfRange},
		{"in-octets", &gpb.TypedValue{Value: &gpb.TypedValue_BytesVal{BytesVal: []byte("1234")}}, "gap", collectors.Malformed},
		{"in-octets", typed(`json null`), "gap", collectors.Unsupported},
		{"in-octets", &gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: &gpb.ScalarArray{Element: []*gpb.TypedValue{typed("5")}}}}, "5", ""},
		{"in-octets", &gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: &gpb.ScalarArray{Element: []*gpb.TypedValue{typed("5"), typed("6")}}}}, "", collectors.Malformed},
		{"in-octets", typed(`json {"value":1}`), "", collectors.Unknown},
		{"in-octets", typed(`json 1x`), "1", collectors.Malformed},
		{"ber", typed("2.5e-8"), "2.5e-08", ""},
		{"ber", typed(`json "0.000000025"`), "2.5e-08", ""},
		{"ber", &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "3E-10"}}, "3e-10", ""},
		//lint:ignore SA1019 devices still send it
		{"ber", &gpb.TypedValue{Value: &gpb.TypedValue_FloatVal{FloatVal: 0.5}}, "0.5", ""},
		//lint:ignore SA1019 devices still send it
		{"ber", &gpb.TypedValue{Value: &gpb.TypedValue_DecimalVal{DecimalVal: &gpb.Decimal64{Digits: 25, Precision: 9}}}, "2.5e-08", ""},
		{"ber", &gpb.TypedValue{Value: &gpb.TypedValue_BytesVal{BytesVal: []byte{0x40, 0x46, 0, 0}}}, "3.09375", ""},
		{"ber", typed(`json "QEYAAA=="`), "3.09375", ""},
		{"ber", typed(`json "nan"`), "gap", collectors.Unsupported},
	} {
		at += time.Second
		d.now = noon.Add(at)
		p, name := path(counter+"in-octets"), in
		if c.leaf == "ber" {
			p, name = path("/interfaces/interface[name=Ethernet1/1]/ethernet/state/pre-fec-ber/instant"), ber
		}
		d.say(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: &gpb.Notification{Timestamp: int64(d.now), Update: []*gpb.Update{{Path: p, Val: c.v}}}}})
		what := fmt.Sprint(c.v)
		if c.want == "" {
			d.told(what)
		} else {
			d.told(what, name+c.want)
		}
		want := map[collectors.Reason]int{}
		if c.why != "" {
			want[c.why] = 1
		}
		d.lost(what, want)
	}
}

// TestPathsMean the same however they are cut into prefix and path, with a
// module's name or without, as leaves or as JSON of any size.
func TestPathsMean(t *testing.T) {
	const want = "port:leaf1/Ethernet1%2F1 port_rx_bytes_total 7"
	for _, lines := range [][]string{
		{counter + "in-octets = 7"},
		{"prefix: /interfaces", "/interface[name=Ethernet1/1]/state/counters/in-octets = 7"},
		{"prefix: " + strings.TrimSuffix(counter, "/"), "/in-octets = 7"},
		{"/openconfig-interfaces:interfaces/interface[name=Ethernet1/1]/state/counters/in-octets = 7"},
		{counter + ` = json {"in-octets":"7"}`},
		{counter + ` = json {"openconfig-interfaces:in-octets":7}`},
		{`/interfaces/interface[name=Ethernet1/1] = json {"state":{"counters":{"in-octets":"7"}}}`},
		{`/interfaces/interface[name=Ethernet1/1] = json {"openconfig-interfaces:interface":[{"state":{"counters":{"in-octets":"7"}},"name":"Ethernet1/1"}]}`},
		{`/interfaces = json {"openconfig-interfaces:interface":[{"state":{"counters":{"in-octets":"7"}},"name":"Ethernet1/1"}]}`},
		{`/interfaces = json {"openconfig-interfaces:interfaces":{"interface":[{"name":"Ethernet1/1","state":{"counters":{"in-octets":"7"}}}]}}`},
	} {
		d := newDesk(t, "openconfig")
		d.tell(0, strings.Replace(lines[0], "/ =", " =", 1), strings.Join(lines[1:], ""))
		d.told(strings.Join(lines, " "), want)
		d.lost(lines[0], map[collectors.Reason]int{})
	}
}

const prio = "/qos/interfaces/interface[interface-id=Ethernet1]/switch-priority[priority=%d]/state/counters/in-pause-pkts = %d"

// TestSums: a port's count is the sum of its priorities, and is reported only after
// all that the device has were received; one that joins later adds its increase
// only, and a reset is reported as a reset.
func TestSums(t *testing.T) {
	d := newDesk(t, "openconfig")
	d.group = &subscription{group: &group{}}
	const total = "port:leaf1/Ethernet1 port_pfc_rx_pause_frames_total "
	d.tell(0, fmt.Sprintf(prio, 3, 100))
	d.told("before everything was told")
	d.tell(time.Second, fmt.Sprintf(prio, 4, 11), "sync")
	d.tell(time.Second, fmt.Sprintf(prio, 3, 101))
	d.told("after it was", total+"112")
	d.tell(2*time.Second, fmt.Sprintf(prio, 5, 5000))
	d.told("one more priority", total+"112")
	d.tell(3*time.Second, fmt.Sprintf(prio, 5, 5003))
	d.told("and its increase", total+"115")
	d.tell(4*time.Second, fmt.Sprintf(prio, 5, 1), fmt.Sprintf(prio, 3, 2), fmt.Sprintf(prio, 4, 0))
	d.told("a reset", total+"3")
	d.tell(5*time.Second, "delete /qos/interfaces/interface[interface-id=Ethernet1]/switch-priority[priority=5]")
	d.told("a priority that goes takes nothing with it", total+"3")
	const queue = "/qos/interfaces/interface[interface-id=Ethernet1]/output/queues/queue[name=%d]/state/%s = %d"
	d.tell(6*time.Second, fmt.Sprintf(queue, 1, "max-queue-len", 70), fmt.Sprintf(queue, 3, "max-queue-len", 90), fmt.Sprintf(queue, 1, "instant-queue-len", 5), fmt.Sprintf(queue, 3, "instant-queue-len", 6), "sync")
	d.told("the fullest queue, and all together", "port:leaf1/Ethernet1 port_queue_bytes 11", "port:leaf1/Ethernet1 port_queue_max_bytes 90")
	d.tell(7*time.Second, "delete /qos/interfaces/interface[interface-id=Ethernet1]/output/queues/queue[name=3]")
	d.told("a queue that is gone holds nothing", "port:leaf1/Ethernet1 port_queue_bytes 5", "port:leaf1/Ethernet1 port_queue_max_bytes 70")
}

// TestASumIsSentWithTheSync: a sum is reported with the sync that it waited for,
// though nothing else is reported.
func TestASumIsSentWithTheSync(t *testing.T) {
	d := newDesk(t, "openconfig")
	d.group = &subscription{group: &group{}}
	d.tell(0, fmt.Sprintf(prio, 3, 100))
	d.told("before")
	d.say(syncNow())
	d.told("after", "port:leaf1/Ethernet1 port_pfc_rx_pause_frames_total 100")
}

// TestDeletes: what a device deletes is a gap, a branch with all that is below
// it; what an atomic notification does not name is gone too.
func TestDeletes(t *testing.T) {
	d := newDesk(t, "openconfig")
	const in, out = "port:leaf1/Ethernet1%2F1 port_rx_bytes_total ", "port:leaf1/Ethernet1%2F1 port_tx_bytes_total "
	state := "prefix: /interfaces/interface[name=Ethernet1/1]/state"
	d.tell(0, state, "/counters/in-octets = 1", "/counters/out-octets = 2")
	d.told("at first", in+"1", out+"2")
	d.tell(time.Second, state, "delete /counters/in-octets")
	d.told("a leaf", in+"gap")
	d.tell(2*time.Second, "delete /interfaces/interface[name=Ethernet1/1]")
	d.told("a branch", out+"gap")
	d.tell(3*time.Second, state, "/counters/in-octets = 3", "/counters/out-octets = 4")
	d.told("again", in+"3", out+"4")
	d.tell(4*time.Second, "atomic", state, "/counters/out-octets = 5")
	d.told("atomic", in+"gap", out+"5")
	d.tell(5*time.Second, "delete /interfaces/interface")
	d.told("every interface", out+"gap")
	d.tell(6*time.Second, state, "/counters/in-octets = 6")
	d.lost("all of that", map[collectors.Reason]int{})
	d.reader.lost(noon.Add(7 * time.Second))
	d.told("the session is lost", in+"6", in+"gap")
}

// TestTimes: a device's time is accepted within a minute of ours, in whatever unit
// it is; a value older than the one before is not taken, unless the clock was set;
// values of different times are frames of their own.
func TestTimes(t *testing.T) {
	received := noon
	for stated, want := range map[int64]telemetry.Time{
		int64(noon) - 3e9:      noon - 3e9,
		int64(noon)/1e6 - 3000: noon - 3e9,
		int64(noon)/1e9 + 1:    noon + 1e9,
		int64(noon) - 61e9:     noon,
		int64(noon) + 3600e9:   noon,
		0:                      noon,
		-5:                     noon,
		1<<63 - 1:              noon,
	} {
		if got := sane(stated, received); got != want {
			t.Errorf("%d is %v, want %v", stated, got, want)
		}
	}
	d := newDesk(t, "openconfig")
	d.tell(0, counter+"in-octets = 10")
	d.tell(-time.Second, counter+"in-octets = 9")
	d.told("an older value", "port:leaf1/Ethernet1%2F1 port_rx_bytes_total 10")
	d.lost("an older value", map[collectors.Reason]int{collectors.Stale: 1})
	d.tell(-30*time.Second, counter+"in-octets = 11")
	d.told("the clock was set", "port:leaf1/Ethernet1%2F1 port_rx_bytes_total 11")
	d.tell(time.Second, counter+"in-octets = 12")
	d.tell(2*time.Second, counter+"in-octets = 13", counter+"in-octets = 14")
	d.told("two times, and of one the later value", "port:leaf1/Ethernet1%2F1 port_rx_bytes_total 12", "port:leaf1/Ethernet1%2F1 port_rx_bytes_total 14")
}

// TestNames: a port has the name that the site uses, if that name is reported and
// is one unique word.
func TestNames(t *testing.T) {
	d := newDesk(t, "openconfig")
	d.names = "description"
	in := func(port string) string {
		return "/interfaces/interface[name=" + port + "]/state/counters/in-octets = 1"
	}
	called := func(port, name string) string {
		return "/interfaces/interface[name=" + port + "]/state/description = " + name
	}
	d.tell(0, called("Ethernet1", "eth1"), called("Ethernet2", "eth1"), called("Ethernet3", "to the spine"), called("Ethernet4", ""))
	d.tell(0, in("Ethernet1"), in("Ethernet2"), in("Ethernet3"), in("Ethernet4"), in("Loopback0"))
	d.told("names", "port:leaf1/Ethernet2 port_rx_bytes_total 1", "port:leaf1/Ethernet3 port_rx_bytes_total 1",
		"port:leaf1/Ethernet4 port_rx_bytes_total 1", "port:leaf1/eth1 port_rx_bytes_total 1")
	d.tell(time.Second, called("Ethernet1", "uplink1"))
	d.told("a new name", "port:leaf1/Ethernet2 port_rx_bytes_total gap", "port:leaf1/Ethernet3 port_rx_bytes_total gap",
		"port:leaf1/Ethernet4 port_rx_bytes_total gap", "port:leaf1/eth1 port_rx_bytes_total gap")
	d.tell(2*time.Second, in("Ethernet1"))
	d.told("renamed", "port:leaf1/uplink1 port_rx_bytes_total 1")
	d.lost("names", map[collectors.Reason]int{collectors.Duplicate: 1})
}

// TestNeighbours: a cable is reported once both of its ends are known, with its
// speed, and its end when the neighbour changes.
func TestNeighbours(t *testing.T) {
	d := newDesk(t, "sonic")
	d.names = "alias"
	row := func(fields string) string { return "/LLDP_ENTRY_TABLE/Ethernet0 = json {" + fields + "}" }
	d.tell(0, `/PORT_TABLE/Ethernet0 = json {"alias":"eth1"}`, row(`"lldp_rem_sys_name":"spine1"`))
	d.told("half a neighbour")
	d.tell(time.Second, row(`"lldp_rem_port_id":"Ethernet12","lldp_rem_port_desc":"eth4","lldp_rem_sys_cap_enabled":"28 00"`))
	d.told("a switch", "port:leaf1/eth1 connects port:spine1/eth4")
	d.tell(2*time.Second, row(`"lldp_rem_port_id":"Ethernet12"`))
	d.told("the same")
	d.tell(3*time.Second, row(`"lldp_rem_sys_name":"n7","lldp_rem_port_desc":"mlx5_0","lldp_rem_sys_cap_enabled":"01 00"`))
	d.told("a host", "nic:n7/mlx5_0 connects port:leaf1/eth1", "port:leaf1/eth1 connects port:spine1/eth4 ended")
	d.tell(4*time.Second, "delete /LLDP_ENTRY_TABLE/Ethernet0")
	d.told("nobody", "nic:n7/mlx5_0 connects port:leaf1/eth1 ended")
}

// TestLinksAndRestating: a link that goes down is an event, and values that are
// reported only on change are emitted again while nothing changes.
func TestLinksAndRestating(t *testing.T) {
	d := newDesk(t, "openconfig")
	changes := &subscription{group: &group{Mode: "on_change"}, onChange: true, synced: true}
	d.group = changes
	const oper = "/interfaces/interface[name=Ethernet1]/state/oper-status = "
	d.tell(0, oper+"UP")
	d.told("up", "port:leaf1/Ethernet1 port_up 1")
	d.restate(noon.Add(500 * time.Millisecond))
	d.told("what was told half a second ago")
	d.group = changes
	d.now = noon.Add(5 * time.Second)
	d.begin(int64(noon), d.now)
	if d.at.Source != d.now {
		t.Errorf("a state of five seconds ago is told as of %v", d.at.Source)
	}
	d.restate(noon.Add(10 * time.Second))
	d.told("still up", "port:leaf1/Ethernet1 port_up 1")
	if want := noon.Add(9 * time.Second); d.at.Source != want {
		t.Errorf("restated as of %v, want %v: a change of the second since then may be on its way", d.at.Source, want)
	}
	d.tell(11*time.Second, oper+"LOWER_LAYER_DOWN")
	d.told("down", "port:leaf1/Ethernet1 link_down UP -> DOWN", "port:leaf1/Ethernet1 port_up 0")
	d.tell(12*time.Second, "delete /interfaces/interface[name=Ethernet1]")
	d.told("gone", "port:leaf1/Ethernet1 port_up gap")
	d.restate(noon.Add(20 * time.Second))
	d.told("nothing to say")
}

// TestMerged: values that a device merged are counted.
func TestMerged(t *testing.T) {
	d := newDesk(t, "openconfig")
	r := octets(1, 5)
	r.GetUpdate().Update[0].Duplicates = 3
	d.say(r)
	d.lost("merged", map[collectors.Reason]int{collectors.Skipped: 3})
}

// TestSamplesThatComeAtOnce: a frame has the latest time of its readings. A port's
// next reading is not reported with an earlier time than that, though it was taken
// earlier: its counter would seem to fall.
func TestSamplesThatComeAtOnce(t *testing.T) {
	d := newDesk(t, "openconfig")
	octets := func(port, value int) string {
		return fmt.Sprintf("/interfaces/interface[name=Ethernet%d]/state/counters/in-octets = %d", port, value)
	}
	d.tell(0, octets(1, 100))
	d.tell(200*time.Millisecond, octets(2, 7))
	d.flush()
	d.tell(150*time.Millisecond, octets(1, 110))
	if want := noon.Add(201 * time.Millisecond); d.batch.Source != want {
		t.Errorf("told as of %v after %v", time.Duration(d.batch.Source-noon), 200*time.Millisecond)
	}
	d.flush()
	d.tell(300*time.Millisecond, octets(1, 120))
	if want := noon.Add(300 * time.Millisecond); d.batch.Source != want {
		t.Errorf("told as of %v, want its own time", time.Duration(d.batch.Source-noon))
	}
}

func parsePath(s string) (*gpb.Path, error) {
	var p subscribed
	err := p.Set(s)
	return p.Path, err
}
