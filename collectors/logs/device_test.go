package logs

import (
	"strconv"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// TestTheKernelsOwnDevice: every record of this host's kernel is read and
// understood, in order, and is reported once only.
func TestTheKernelsOwnDevice(t *testing.T) {
	d, err := openDevice(kernelDevice)
	if err != nil {
		t.Skip("kernel messages cannot be read here: ", err)
	}
	d.close()
	c, err := New(Config{Node: "h1", State: temp(t, "state"), Since: oldest}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	got := once(t, c)
	lines, _ := got.value("collector:h1/logs log_lines_total")
	lost, _ := got.value("collector:h1/logs log_records_lost_total")
	if lines == 0 || got.Err() != nil || got.Dropped[collectors.Malformed] > 0 || lost > 0 {
		t.Errorf("%v lines, %v lost, dropped %v, %v", lines, lost, got.Dropped, got.Err())
	}
	if boot := bootTime(time.Now()); boot.IsZero() || time.Since(boot) < 0 {
		t.Errorf("booted %s", boot)
	}
	if id := bootID(); len(id) != 36 || c.state.Boot != id || c.state.Sequence == 0 {
		t.Errorf("boot %q, state %+v", id, c.state)
	}
	told := got.count()
	again := once(t, c)
	if more := again.count(); more > 0 && told > 0 {
		t.Errorf("%d events, then %d again", told, more)
	}
	t.Log(strconv.Itoa(int(lines))+" records, ", got.Dropped)
}
