package window

import (
	"fmt"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
	"math/rand/v2"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	st := tell(t, 12)
	w := New(Config{Catalogue: catalogue(t), History: 4})
	for _, p := range st.schemas[:2] {
		w.AddSchema(p)
	}
	for _, b := range st.onTime(0, 5) {
		w.AddFrame(b)
	}
	w.Close(telemetry.Prompt, sec(3), Serial)
	b := taken(w)
	r := rand.New(rand.NewPCG(1, 1))
	ok := 0
	for i := range 3000 {
		c := append([]byte(nil), b...)
		c[r.IntN(len(c))] = byte(r.IntN(256))
		if i%2 == 0 {
			c[r.IntN(len(c))] = 255
		}
		t0 := time.Now()
		w := New(Config{Catalogue: catalogue(t), History: 4})
		k := snapshot.NewReader(c)
		w.Snapshot(k)
		if k.Err() == nil {
			ok++
			w.Close(telemetry.Prompt, sec(4), Serial)
			w.Close(telemetry.Delayed, sec(4), Serial)
		}
		if d := time.Since(t0); d > 50*time.Millisecond {
			fmt.Println(i, d)
		}
	}
	fmt.Println(len(b), ok)
}
