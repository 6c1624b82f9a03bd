package bundle_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/telemetry"
)

func inMemory(topology, samples string) fs.FS {
	return fstest.MapFS{"topology.json": {Data: []byte(topology)}, "samples.csv": {Data: []byte(samples)}}
}

// Whatever a table holds, it is read to a log that can be encoded, or refused
// with a place.
func FuzzSamples(f *testing.F) {
	f.Add(head + "1,nic:a/b,port_tx_bytes_total,18446744073709551615\n2,nic:a/b,port_tx_bytes_total,\n")
	f.Add("time_ns,entity,metric,value,received_ns\n1,node:a,m,0.25,7\n\"2\",node:a,m,-1e5,\n")
	f.Add("value,metric,time_ns,entity\r\nNaN,m,5,job:j\r\n")
	catalogue := telemetry.DefaultCatalogue()
	f.Fuzz(func(t *testing.T, csv string) {
		b, err := bundle.OpenWith("b", bundle.Config{MaxSamples: 10_000, Catalogue: catalogue, Files: inMemory("{}", csv)})
		if err != nil {
			var e *bundle.Error
			if !errors.As(err, &e) || e.File != "samples.csv" {
				t.Fatalf("%v", err)
			}
			return
		}
		ticks := 0
		enough := errors.New("enough")
		err = b.Records(func(r *telemetry.Record) error {
			if r.Kind == telemetry.TickRecord {
				if ticks++; ticks > 1000 {
					return enough
				}
			}
			_, err := telemetry.AppendRecord(nil, r)
			return err
		})
		if err != nil && !errors.Is(err, enough) {
			t.Fatal(err)
		}
	})
}

// Whatever a topology says, it is read, or refused with a place.
func FuzzTopology(f *testing.F) {
	f.Add(`{"entities":[{"id":"switch:s","attrs":{"tier":"leaf","n":1,"up":true}}],"edges":[{"from":"nic:a","to":"port:b","rel":"connects","attrs":{"speed_bits_per_second":1e11}}]}`)
	f.Add(`{"edges":[{"from":"rack:a","to":"node:b","rel":"contains"},{"from":"node:b","to":"rack:a","rel":"contains"}]}`)
	catalogue := telemetry.DefaultCatalogue()
	f.Fuzz(func(t *testing.T, topology string) {
		b, err := bundle.OpenWith("b", bundle.Config{Catalogue: catalogue, Files: inMemory(topology, head+"1,nic:a,m,1\n")})
		if err != nil {
			var e *bundle.Error
			if !errors.As(err, &e) || e.File != "topology.json" {
				t.Fatalf("%v", err)
			}
			return
		}
		err = b.Records(func(r *telemetry.Record) error {
			_, err := telemetry.AppendRecord(nil, r)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
