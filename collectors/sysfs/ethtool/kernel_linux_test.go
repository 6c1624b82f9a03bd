package ethtool

import (
	"errors"
	"net"
	"testing"
	"unsafe"
)

func TestTheKernelsStructures(t *testing.T) {
	for name, got := range map[string][2]uintptr{
		"ifreq":            {unsafe.Sizeof(request{}), 40},
		"ethtool_drvinfo":  {unsafe.Sizeof(driverInfo{}), 196},
		"n_stats":          {unsafe.Offsetof(driverInfo{}.stats), 180},
		"ethtool_gstrings": {unsafe.Offsetof(nameTable{}.data), 12},
		"ethtool_stats":    {unsafe.Offsetof(valueTable{}.data), 8},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d bytes, want %d", name, got[0], got[1])
		}
	}
}

// anyInterface returns an interface of this machine that has statistics.
func anyInterface(tb testing.TB, s *Source) *Interface {
	tb.Helper()
	all, err := net.Interfaces()
	if err != nil {
		tb.Skip("interfaces cannot be listed: ", err)
	}
	for _, i := range all {
		if in, err := s.Open(i.Name); err == nil {
			return in
		}
	}
	tb.Skip("no interface of this machine has statistics")
	return nil
}

func TestTheKernel(t *testing.T) {
	s, err := Kernel()
	if err != nil {
		t.Skip("no socket: ", err)
	}
	defer s.Close()
	if _, err := s.Open("nosuchif0"); !errors.Is(err, ErrGone) {
		t.Errorf("no such interface: %v", err)
	}
	if _, err := s.Open("a-name-that-is-too-long"); !errors.Is(err, ErrGone) {
		t.Errorf("too long a name: %v", err)
	}
	if _, err := s.Open("lo"); err != nil && !errors.Is(err, ErrNone) && !errors.Is(err, ErrGone) {
		t.Errorf("lo: %v", err)
	}
	in := anyInterface(t, s)
	r, err := in.Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Words) != len(in.Names()) || in.Driver() == "" {
		t.Errorf("%d words, %d names, driver %q", len(r.Words), len(in.Names()), in.Driver())
	}
	if err := in.Verify(); err != nil {
		t.Error(err)
	}
	in.names[0] += "x"
	if err := in.Verify(); !errors.Is(err, ErrChanged) {
		t.Errorf("another name: %v", err)
	}
	in.names = in.names[1:]
	if _, err := in.Read(); !errors.Is(err, ErrChanged) {
		t.Errorf("one name fewer: %v", err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = s.kernel.values(in.name, len(in.names)+1) }); n > 0 {
		t.Errorf("%v allocations a read", n)
	}
}

func BenchmarkKernelRead(b *testing.B) {
	s, err := Kernel()
	if err != nil {
		b.Skip("no socket: ", err)
	}
	defer s.Close()
	in := anyInterface(b, s)
	for b.Loop() {
		if _, err := in.Read(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(in.names)), "ns/value")
}
