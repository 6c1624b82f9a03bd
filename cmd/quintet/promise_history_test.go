package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestTheHistoryAcrossKills kills the process that holds the history with kill
// -9 at random moments while the log goes on, thirty times as fast as time does.
// What its API answers in the end is what a loop over the log makes of it: of
// each series the newest value of each cadence, none missing and none twice.
func TestTheHistoryAcrossKills(t *testing.T) {
	s := newSite(t, 3)
	s.write("store.yaml", "data: "+s.path("data")+"\nstore: {enabled: false}\nnats: {listen: \""+s.log+"\"}\n")
	address := wiretest.FreeAddress(t)
	s.write("history.yaml", "listen: \""+address+"\"\ndata: "+s.path("history")+"\n"+s.elsewhere(s.log))
	s.startStore()
	s.enrolled()
	log := s.connect(s.log)
	w := &writer{s: s, log: log, at: telemetry.Time(time.Now().Add(-time.Hour).UnixNano() / 10e9 * 10e9)}
	w.begin()
	const kills = 8
	hold := func() *process {
		return s.start("serve", "--config", s.path("history.yaml"), "--role", "store,web", "--log-level", "warn")
	}
	for i := range kills {
		p := hold()
		steps := 20 + s.random.IntN(60)
		if i%4 == 3 {
			steps += 360 // longer than it takes to write down how far it has come
		}
		for range steps {
			w.step()
			pause(s.ctx, 30*time.Millisecond)
		}
		p.kill()
		for range s.random.IntN(30) {
			w.step() // while nobody reads
		}
	}
	w.end()
	hold()
	want := naive(t, s.entries(log))
	samples := 0
	for _, of := range want {
		samples += len(of)
	}
	var got map[string]map[int64]float64
	s.await("the history has come to the end of the log", func() bool {
		n := 0
		got = kept(t, s.client(), "http://"+address+"/prometheus", w.at)
		for _, of := range got {
			n += len(of)
		}
		return n >= samples
	})
	for name, of := range want {
		for at, v := range of {
			if g, ok := got[name][at]; !ok || g != v {
				t.Errorf("%s at %d: %v (%v), want %v", name, at, g, ok, v)
			}
		}
	}
	for name, of := range got {
		for at, v := range of {
			if _, ok := want[name][at]; !ok {
				t.Errorf("%s at %d: %v, which is not in the log", name, at, v)
			}
		}
	}
	t.Logf("%d series, %d samples, %d kills", len(want), samples, kills)
}

// writer states a site of three sources: one that reports every second and has gaps
// and times without data, one of counters, one that reports every twenty seconds.
type writer struct {
	s       *site
	log     *bus.Bus
	at      telemetry.Time
	n       int
	schemas []*telemetry.Schema
	coder   telemetry.Encoder
}

func (w *writer) begin() {
	source := func(target string, cadence time.Duration, metric telemetry.MetricName, word telemetry.ValueType, entities ...telemetry.Entity) {
		x := &telemetry.Schema{Source: telemetry.Source{Collector: "test", Target: target}, Cadence: telemetry.Duration(cadence), Entities: entities,
			Columns: []telemetry.Column{{Metric: metric, Type: word}}}
		w.schemas = append(w.schemas, x)
		w.append(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: x})
	}
	gpu := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.GPU, Name: name} }
	nic := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.NIC, Name: name} }
	source("fast", time.Second, "gpu_power_watts", telemetry.Float, gpu("n1/0"), gpu("n1/1"), gpu("n2/0"))
	source("counters", time.Second, "port_tx_bytes_total", telemetry.Uint, nic("n1/mlx5_0"), nic("n2/mlx5_0"))
	source("slow", 20*time.Second, "gpu_temperature_celsius", telemetry.Float, gpu("n1/0"), gpu("n2/0"))
	w.append(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: w.at}})
}

func (w *writer) append(records ...*telemetry.Record) {
	w.s.t.Helper()
	if err := w.log.Append(w.s.ctx, "host", records...); err != nil {
		w.s.t.Fatal(err)
	}
}

// step is a second of the site.
func (w *writer) step() {
	w.s.t.Helper()
	w.n++
	w.at = w.at.Add(telemetry.Duration(time.Second))
	var out []*telemetry.Record
	for k, x := range w.schemas {
		if k == 2 && w.n%20 != 0 || k == 0 && w.s.random.IntN(8) == 0 {
			continue
		}
		f := telemetry.Frame{Fingerprint: x.Fingerprint(), Sequence: uint64(w.n), Instants: []telemetry.Instant{{Source: w.at.Add(telemetry.Duration(k) * 1e6)}},
			Words: make([]uint64, x.Len()), States: make([]telemetry.State, x.Len())}
		for i := range f.Words {
			f.States[i], f.Words[i] = telemetry.Present, x.Columns[0].Word(float64(1000*w.n+i))
			if k == 0 && w.s.random.IntN(20) == 0 {
				f.States[i] = telemetry.Gap
			}
		}
		b, err := w.coder.AppendFrame(nil, x, &f)
		if err != nil {
			w.s.t.Fatal(err)
		}
		out = append(out, &telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
	}
	w.append(append(out, &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: w.at}})...)
}

// end lets every cadence be over.
func (w *writer) end() {
	w.at = w.at.Add(telemetry.Duration(5 * time.Minute))
	w.append(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: w.at}})
}

// naive is the expected history of the log, in ms since 1970: of a source that
// reports more often than every ten seconds the newest value of those, unless the
// newest is a gap; of any other one everything.
func naive(t *testing.T, log []bus.Entry) map[string]map[int64]float64 {
	type last struct {
		at  int64
		v   float64
		gap bool
	}
	newest := map[string]map[int64]last{} // by series and slot
	schemas := map[telemetry.Fingerprint]*telemetry.Schema{}
	var decoder telemetry.Decoder
	var f telemetry.Frame
	for _, e := range log {
		if e.Record.Kind == telemetry.SchemaRecord {
			schemas[e.Record.Schema.Fingerprint()] = e.Record.Schema
		}
		if e.Record.Kind != telemetry.FrameRecord {
			continue
		}
		h, err := e.Record.Frame.Header()
		if err != nil {
			t.Fatal(err)
		}
		x := schemas[h.Fingerprint]
		if x == nil {
			continue // of a process' own
		}
		if err := decoder.Decode(e.Record.Frame, x, &f); err != nil {
			t.Fatal(err)
		}
		n := x.Len()
		for k := range f.Instants {
			for i := range n {
				state := telemetry.Present
				if f.States != nil {
					state = f.States[k*n+i]
				}
				if state == telemetry.Absent {
					continue
				}
				at := int64(f.Time(k)) / 1e6
				slot := at
				if x.Cadence < telemetry.Duration(10*time.Second) {
					slot = at / 10_000
				}
				name := x.Series(i).String()
				if newest[name] == nil {
					newest[name] = map[int64]last{}
				}
				newest[name][slot] = last{at, x.Columns[i/len(x.Entities)].Float(f.Words[k*n+i]), state == telemetry.Gap}
			}
		}
	}
	out := map[string]map[int64]float64{}
	for name, of := range newest {
		for _, l := range of {
			if !l.gap {
				if out[name] == nil {
					out[name] = map[int64]float64{}
				}
				out[name][l.at] = l.v
			}
		}
	}
	return out
}

// kept asks the API for every sample of the test's metrics; nothing where there
// is no answer yet.
func kept(t *testing.T, client *http.Client, base string, at telemetry.Time) map[string]map[int64]float64 {
	out := map[string]map[int64]float64{}
	for _, metric := range []string{"gpu_power_watts", "port_tx_bytes_total", "gpu_temperature_celsius"} {
		q := url.Values{"query": {metric + "[3h]"}, "time": {strconv.FormatInt(int64(at)/1e9, 10)}}
		r, err := client.Get(base + "/api/v1/query?" + q.Encode())
		if err != nil {
			return nil
		}
		var answer struct {
			Data struct {
				Result []struct {
					Metric map[string]string
					Values [][2]any
				}
			}
		}
		err = json.NewDecoder(r.Body).Decode(&answer)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK {
			return nil
		}
		for _, x := range answer.Data.Result {
			name := telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Kind(x.Metric["kind"]), Name: x.Metric["name"]}, Metric: telemetry.MetricName(metric)}.String()
			out[name] = map[int64]float64{}
			for _, v := range x.Values {
				number, err := strconv.ParseFloat(fmt.Sprint(v[1]), 64)
				seconds, ok := v[0].(float64)
				if err != nil || !ok {
					t.Fatalf("%v", v)
				}
				ms := int64(seconds*1000 + 0.5)
				if _, twice := out[name][ms]; twice {
					t.Errorf("%s at %d is there twice", name, ms)
				}
				out[name][ms] = number
			}
		}
	}
	return out
}
