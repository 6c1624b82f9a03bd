package modbus

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/simonvetter/modbus"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/telemetry"
)

// gateway answers for the supplies 192 and 193 of a shelf, in an implementation of the
// protocol that is not ours. Supply 193 has lost its input.
type gateway struct{ modbus.RequestHandler }

func (gateway) HandleHoldingRegisters(r *modbus.HoldingRegistersRequest) ([]uint16, error) {
	switch {
	case r.IsWrite:
		return nil, modbus.ErrIllegalFunction
	case r.UnitId != 192 && r.UnitId != 193:
		return nil, modbus.ErrGWTargetFailedToRespond
	case r.Addr == 87 && r.UnitId == 193: // an older supply without these
		return nil, modbus.ErrIllegalDataAddress
	}
	var out []uint16
	for a := r.Addr; a < r.Addr+r.Quantity; a++ {
		w := word(a)
		if a == 61 && r.UnitId == 193 {
			w = 0x0100
		}
		out = append(out, w)
	}
	return out, nil
}

// TestModbusReadsAnIndependentServer over a real connection: two supplies behind one
// gateway, and a third that does not answer, which is down alone.
func TestModbusReadsAnIndependentServer(t *testing.T) {
	address := wiretest.FreeAddress(t)
	server, err := modbus.NewServer(&modbus.ServerConfiguration{URL: "tcp://" + address, MaxClients: 1}, gateway{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	cfg := Config{Device: "orv3-psu", Interval: time.Second}
	for i, unit := range []int{192, 193, 194} {
		cfg.Targets = append(cfg.Targets, Target{Address: address, Unit: unit, Labels: map[string]string{"shelf": "s1", "psu": strconv.Itoa(i)}})
	}
	c, err := New(cfg, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	ear := collectorstest.Record(t, c)
	ear.Until("reading of both supplies", func() bool { return len(ear.Series) >= 8 && len(ear.Sweeps) > 0 })
	ear.Mu.Lock()
	defer ear.Mu.Unlock()
	for series, want := range map[telemetry.Series]float64{
		of("s1/0", "psu_up"): 1, of("s1/0", "psu_output_watts"): 3000, of("s1/0", "psu_input_watts"): 3100,
		of("s1/0", "psu_input_volts"): 240, of("s1/0", "psu_temperature_celsius"): 67, of("s1/1", "psu_up"): 0,
		of("s1/1", "psu_output_watts"): 3000,
	} {
		if got, ok := ear.Last(series); !ok || got.Float() != want {
			t.Errorf("%v: %v, want %v", series, got.Float(), want)
		}
	}
	last := ear.Sweeps[len(ear.Sweeps)-1]
	if down := last.Targets[address+"/194"]; !errors.Is(down, gatewayTarget) || last.Err != nil || last.Targets[address+"/193"] != nil {
		t.Errorf("states %v, error %v: want supply 194 down alone", last.Targets, last.Err)
	}
	if ear.Dropped[collectors.Unsupported] == 0 {
		t.Error("registers that supply 193 does not have are not counted")
	}
	if len(ear.Edges) == 0 || ear.Edges[0].From.Name != "s1" {
		t.Errorf("edges %v: want the shelf to contain its supplies", ear.Edges)
	}
}

// of is a series of a supply.
func of(psu string, metric telemetry.MetricName) telemetry.Series {
	return telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.PSU, Name: psu}, Metric: metric}
}
