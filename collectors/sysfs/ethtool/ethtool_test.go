package ethtool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAListing(t *testing.T) {
	l, err := parsed([]byte("# ethtool -S eth0\n\nNIC statistics:\n     rx_packets: 18446744073709551615\n     duplicate metric: 1\n     duplicate_metric: 2\n     dup: 3\n     dup: 4\n\n     [0]: rx_ucast_packets: 5\n     minus: -1\n     big: 18446744073709551616\n     none:\n"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"rx_packets", "duplicate metric", "duplicate_metric", "dup", "dup", "[0]: rx_ucast_packets", "minus", "big", "none"}
	if !slices.Equal(l.Names, names) || !slices.Equal(l.Words, []uint64{1<<64 - 1, 1, 2, 3, 4, 5, 0, 0, 0}) || !slices.Equal(l.Malformed, []int{6, 7, 8}) {
		t.Errorf("%+v", l)
	}
	if l, err := parsed([]byte("NIC statistics:\n")); err != nil || len(l.Names) != 0 {
		t.Errorf("an empty one: %+v, %v", l, err)
	}
}

func TestAListingThatIsNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "no line",
		"ERROR: 1":                         "no line",
		"no stats available\n":             "no line",
		"NIC statistics:\n a: 1\n rubbish": "line 3",
		"NIC statistics:\n" + strings.Repeat("a: 1\n", MaxNames+1): "more than",
	} {
		if _, err := parsed([]byte(text)); !errors.Is(err, ErrListing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func FuzzListing(f *testing.F) {
	f.Add([]byte("NIC statistics:\n     rx_prio3_pause: 17\n     a b: c\n"))
	f.Add([]byte("\x00\nNIC statistics:\n:\n: 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parsed(text)
		if err != nil {
			if !errors.Is(err, ErrListing) {
				t.Errorf("error %v is none of ours", err)
			}
			return
		}
		if len(l.Names) != len(l.Words) || len(l.Malformed) > len(l.Words) {
			t.Errorf("%d names, %d words, %d malformed", len(l.Names), len(l.Words), len(l.Malformed))
		}
		for _, i := range l.Malformed {
			if l.Words[i] != 0 {
				t.Errorf("malformed word %d is %d", i, l.Words[i])
			}
		}
	})
}

func TestRecorded(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"eth0/statistics", "eth1.txt", "ethtool_S_eth2.txt", "eth3"} {
		write(name, "NIC statistics:\n  a: "+string(rune('0'+i))+"\n")
	}
	write("broken.txt", "a: 1\n")
	s := Recorded(dir)
	defer s.Close()
	for i, name := range []string{"eth0", "eth1", "eth2", "eth3"} {
		in, err := s.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := in.Read(); err != nil || !slices.Equal(r.Words, []uint64{uint64(i)}) || !slices.Equal(in.Names(), []string{"a"}) {
			t.Errorf("%s: %v %+v, %v", name, in.Names(), r, err)
		}
	}
	for name, want := range map[string]error{"eth9": ErrGone, "../eth0": ErrGone, "": ErrGone, "broken": ErrListing} {
		if _, err := s.Open(name); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
	if _, err := Recorded(filepath.Join(dir, "none")).Open("eth0"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	in, err := s.Open("eth1")
	if err != nil {
		t.Fatal(err)
	}
	write("eth1.txt", "NIC statistics:\n  a: 7\n")
	if r, err := in.Read(); err != nil || r.Words[0] != 7 {
		t.Errorf("a new value: %+v, %v", r, err)
	}
	write("eth1.txt", "NIC statistics:\n  b: 7\n")
	if _, err := in.Read(); !errors.Is(err, ErrChanged) {
		t.Errorf("another name: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "eth1.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(); !errors.Is(err, ErrGone) {
		t.Errorf("no file: %v", err)
	}
}

func parsed(text []byte) (l Listing, err error) {
	err = l.parse(text)
	return l, err
}
