package detect_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/snapshot"
)

// Whatever the bytes, the reader ends without a panic; and where it accepts
// them, so does everything after.
func FuzzSnapshot(f *testing.F) {
	s, _ := troubled(f)
	c := snapshot.NewWriter()
	s.d.Snapshot(c)
	f.Add(c.Data())
	f.Add(c.Data()[:len(c.Data())/2])
	f.Add([]byte("detect2"))
	empty := snapshot.NewWriter()
	detect.New(detect.Config{}).Snapshot(empty)
	f.Add(empty.Data())
	f.Fuzz(func(t *testing.T, data []byte) {
		s, d := troubled(t)
		s.d = detect.New(detect.Config{})
		c := snapshot.NewReader(data)
		s.d.Snapshot(c)
		if c.Err() != nil && s.lasting() != 0 {
			t.Fatal("what is refused leaves something behind")
		}
		for range 3 {
			s.say(d, 9, 1e6, 9, 1, 0)
			s.close()
			s.lasting()
		}
	})
}

// troubled is a small site with findings of several shapes.
func troubled(t testing.TB) (*site, *device) {
	s := newSite(t)
	d := s.device("leaf", 1, temp, errs, limit, alive, flow)
	for n := range 60 {
		if n < 45 {
			s.say(d, 50, 0, 700, 1, float64(n))
		} else {
			s.say(d, 90, 300, 400, lost, 7)
		}
		s.close()
	}
	return s, d
}

func TestASnapshotThatLiesIsRefused(t *testing.T) {
	s, _ := troubled(t)
	c := snapshot.NewWriter()
	s.d.Snapshot(c)
	for n := range len(c.Data()) {
		d := detect.New(detect.Config{})
		r := snapshot.NewReader(c.Data()[:n])
		if d.Snapshot(r); r.Err() == nil {
			t.Fatalf("%d of %d bytes are accepted", n, len(c.Data()))
		}
	}
}
