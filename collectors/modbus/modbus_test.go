package modbus

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// shelf is a device at the other end of a pipe: a supply with fixed registers,
// which can be taken away and spoilt.
type shelf struct {
	severed, spoilt atomic.Bool
	refuse          atomic.Int32 // the address of a register that it does not have
	done            context.Context
}

func (s *shelf) connect(context.Context, string, string) (net.Conn, error) {
	if s.severed.Load() {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	go s.serve(far)
	context.AfterFunc(s.done, func() { _ = far.Close() })
	return near, nil
}

func (s *shelf) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	for req := make([]byte, 12); ; {
		if _, err := io.ReadFull(c, req); err != nil || s.severed.Load() {
			return
		}
		address, count := binary.BigEndian.Uint16(req[8:]), int(binary.BigEndian.Uint16(req[10:]))
		out := append([]byte{}, req[:4]...)
		switch {
		case s.refuse.Load() == int32(address):
			out = append(out, 0, 3, req[6], req[7]|errorBit, byte(illegalAddress))
		case s.spoilt.Load() && address == 87: // the rest is sound
			out = append(out, 0, 3, req[6], req[7], 0)
		default:
			out = append(binary.BigEndian.AppendUint16(out, uint16(3+2*count)), req[6], req[7], byte(2*count))
			for i := range count {
				out = binary.BigEndian.AppendUint16(out, word(address+uint16(i)))
			}
		}
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

// word is what a register holds.
func word(address uint16) uint16 {
	switch address {
	case 70:
		return 0x2180 // 67 °C: 67 * 128
	case 82:
		return 3000 * 8
	case 87:
		return 3100 * 8
	case 88:
		return 240 * 64
	}
	return 0
}

var target = Target{Address: "shelf:502", Unit: 192, Labels: map[string]string{"shelf": "r12/s1", "psu": "0"}}

// reads returns a collector of a supply in a shelf.
func reads(t *testing.T, s *shelf) *Collector {
	t.Helper()
	c, err := New(Config{Device: "orv3-psu", Targets: []Target{target}, Interval: time.Second}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	s.done = t.Context()
	s.refuse.Store(-1)
	c.connect = s.connect
	return c
}

func TestModbusConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(t *testing.T) collectorstest.Subject {
		s := &shelf{}
		return collectorstest.Subject{
			Collector: reads(t, s),
			Sever:     func() { s.severed.Store(true) }, Restore: func() { s.severed.Store(false) },
			Spoil: func() { s.spoilt.Store(true) }, SpoiltAs: collectors.Malformed,
		}
	}})
}

func TestDecodeRegisters(t *testing.T) {
	for _, c := range []struct{ name, text, wrong string }{
		{"empty", "", "no registers"},
		{"none", "registers: []", "no registers"},
		{"no address", "registers: [{name: x}]", "1:13: registers: registers: want a name and an address"},
		{"beyond the end", "registers: [{name: x, address: 65535, format: uint32}]", "ends beyond address 65535"},
		{"unknown key", "registers: [{name: x, address: 1, scale: 3}]", `unknown key "scale"`},
		{"unknown format", "registers: [{name: x, address: 1, format: bcd}]", "want one of uint16"},
		{"masked float", "registers: [{name: x, address: 1, format: float32, mask: 1}]", "a mask goes with whole numbers"},
		{"write function", "function: 6\nregisters: [{name: x, address: 1}]", "want one of holding, input"},
	} {
		_, err := decodeRegisters([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
		}
	}
}

// TestNumberReadsEveryFormat, in both orders of words.
func TestNumberReadsEveryFormat(t *testing.T) {
	big := []uint16{0xFFFE, 0x0001, 0x4049, 0x0FDB}
	for _, c := range []struct {
		x       register
		swapped bool
		words   []uint16
		want    float64
	}{
		{register{Address: new(0), Format: uint16Format, Divide: 1}, false, big, 65534},
		{register{Address: new(0), Format: int16Format, Divide: 1}, false, big, -2},
		{register{Address: new(0), Format: int16Format, Divide: 128}, false, []uint16{0x2180}, 67},
		{register{Address: new(0), Format: uint16Format, Divide: 1, Mask: 0xF0}, false, []uint16{0x1234}, 0x30},
		{register{Address: new(0), Format: uint32Format, Divide: 1}, false, big, 0xFFFE0001},
		{register{Address: new(0), Format: int32Format, Divide: 10}, false, big, -13107.1},
		{register{Address: new(0), Format: uint32Format, Divide: 1}, true, big, 0x0001FFFE},
		{register{Address: new(0), Format: uint64Format, Divide: 1}, false, []uint16{0, 1, 0, 0}, 1 << 32},
		{register{Address: new(0), Format: uint64Format, Divide: 1}, true, []uint16{0, 0, 1, 0}, 1 << 32},
		{register{Address: new(0), Format: float32Format, Divide: 1}, false, big[2:], 3.1415927410125732},
	} {
		m := registerMap{swapped: c.swapped}
		if got := m.number(&c.x, block{}, c.words).Float; got != c.want {
			t.Errorf("%s of %x (swapped %t): %v, want %v", c.x.Format, c.words, c.swapped, got, c.want)
		}
	}
}

// TestBlocksNeverReadUndefinedRegisters: runs end where the next register does not
// follow, and where an answer is full.
func TestBlocksNeverReadUndefinedRegisters(t *testing.T) {
	var rs []register
	for a := range 126 {
		rs = append(rs, register{Address: new(a), Format: uint16Format})
	}
	rs = append(rs, register{Address: new(200), Format: uint32Format}, register{Address: new(201), Format: uint16Format}, register{Address: new(203), Format: uint16Format})
	want := []block{{0, 125, 0, 125}, {125, 1, 125, 1}, {200, 2, 126, 2}, {203, 1, 128, 1}}
	got := blocks(rs)
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("block %d: %v, want %v", i, got[i], want[i])
		}
	}
}

func TestDecodeConfig(t *testing.T) {
	for text, wrong := range map[string]string{
		"{}":                   "want at least one",
		"targets: [{unit: 3}]": "1:11: modbus: targets: address: required",
		"{device: toaster, targets: [{address: a}]}":                 `device: "toaster": want one of [orv3-psu]`,
		"{targets: [{address: a}]}":                                  "want either device",
		"{device: orv3-psu, registers: x, targets: [{address: a}]}":  "want either device",
		"{registers: x, targets: [{address: a}]}":                    "registers and mappings go together",
		"{device: orv3-psu, targets: [{address: a, unit: 256}]}":     "256, want 0 to 255",
		"{device: orv3-psu, interval: 1ms, targets: [{address: a}]}": "1ms, want 1s to 1h0m0s",
		"{device: orv3-psu, targets: [{address: a, labels: [psu]}]}": "want names and values",
		"{device: orv3-psu, every: 5s, targets: [{address: a}]}":     `unknown key "every"`,
		"{device: orv3-psu, timeout: 2h, targets: [{address: a}]}":   "want 100ms to 1m0s",
		"{device: orv3-psu, mappings: [m], targets: [{address: a}]}": "go together",
	} {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeConfig(&doc); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", text, err, wrong)
		}
	}
}

// TestShippedDevicesAreSound: every one is decoded, and the mapping knows each of its
// registers.
func TestShippedDevicesAreSound(t *testing.T) {
	for _, d := range Devices() {
		m, _, err := shipped(d)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		c, err := New(Config{Device: d, Targets: []Target{target}}, dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range m.registers {
			if !c.mapper.Names(x.Name) {
				t.Errorf("%s: the mapping does not name register %s", d, x.Name)
			}
		}
	}
}
