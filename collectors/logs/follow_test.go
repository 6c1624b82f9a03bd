package logs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
)

// xid is a kernel record.
func xid(seq, code int) string {
	return fmt.Sprintf("4,%d,%d,-;NVRM: Xid (PCI:0000:1a:00): %d, GPU\n", seq, seq*1_000_000, code)
}

func events(codes ...int) []string {
	var out []string
	for _, c := range codes {
		out = append(out, fmt.Sprintf("gpu:h1/0 xid %d, GPU", c))
	}
	return out
}

// TestYesterdaysLinesAreNotSent: lines from before the first start are left out; of the
// requested history, recent lines are reported; and a restart continues where
// reading ended.
func TestYesterdaysLinesAreNotSent(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := sampleConfig()
	path := temp(t, "kmsg")
	c.Kernel, c.State = File{Path: path, Boot: now.Add(-time.Hour)}, temp(t, "state")
	write(t, path, xid(1, 11)+xid(3000, 12)+xid(3590, 13))
	equal(t, "at the first start", once(t, stands(t, c, now)).told(), nil)

	c.Since, c.State = time.Minute, ""
	got := once(t, stands(t, c, now))
	equal(t, "with a minute of history", got.told(), events(13))
	if got.Dropped[collectors.Stale] != 2 {
		t.Errorf("dropped %v", got.Dropped)
	}

	c.State = temp(t, "state")
	equal(t, "with a state", once(t, stands(t, c, now)).told(), events(13))
	write(t, path, xid(3600, 14))
	equal(t, "restarted", once(t, stands(t, c, now.Add(time.Second))).told(), events(14))
	equal(t, "and again", once(t, stands(t, c, now.Add(2*time.Second))).told(), nil)

	// It rotated while no collector was reading: the rest of the old file, then the
	// new.
	write(t, path, xid(3601, 15))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, path, xid(3602, 16))
	equal(t, "rotated meanwhile", once(t, stands(t, c, now.Add(3*time.Second))).told(), events(15, 16))

	write(t, c.State, "spoilt")
	got = once(t, stands(t, c, now.Add(4*time.Second)))
	if got.Dropped[collectors.Unreadable] == 0 {
		t.Errorf("a spoilt state is not told: %v", got.Dropped)
	}
}

// TestRotation: a file is renamed, cut, deleted and recreated while it is read;
// every line is reported once.
func TestRotation(t *testing.T) {
	c := sampleConfig()
	path := temp(t, "kmsg")
	c.Kernel = File{Path: path}
	write(t, path, xid(1, 1))
	r := stands(t, c, time.Now())
	r.clock = time.Now
	got := running(t, r)
	n := 0
	told := func(more int) {
		t.Helper()
		n += more
		await(t, "events", func() bool { return got.count() >= n })
	}
	write(t, path, xid(2, 2))
	told(1)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, path+".1", xid(3, 3)) // who wrote it has not noticed yet
	write(t, path, xid(4, 4))
	told(2)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	await(t, "the cut to be seen", func() bool { return got.holds(func() bool { return len(got.Sweeps) > 0 }) })
	<-time.After(30 * time.Millisecond)
	write(t, path, xid(5, 5))
	told(1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	await(t, "word that it is gone", func() bool {
		return got.holds(func() bool {
			return slices.ContainsFunc(got.Sweeps, func(w collectors.Sweep) bool { return w.Err != nil })
		})
	})
	write(t, path, xid(6, 6)+strings.TrimSuffix(xid(7, 7), "\n"))
	told(1)
	write(t, path, "\n")
	told(1)
	equal(t, "events", got.told(), events(2, 3, 4, 5, 6, 7))
}

// TestLongLines are cut, and what follows them is read.
func TestLongLines(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := sampleConfig()
	c.Since = time.Hour
	path := temp(t, "log")
	c.Files = []File{{Path: path}}
	stamp := now.Add(-time.Minute).UTC().Format(time.RFC3339) + " h1 kernel: "
	write(t, path, strings.Repeat("x", 3<<20)+"\n"+stamp+"NVRM: Xid (PCI:0000:1a:00): 1, GPU\n"+stamp+"NVRM: Xid (PCI:0000:1a:00): 2, "+strings.Repeat("y", 20000)+"\n"+stamp+"NVRM: Xid (PCI:0000:1a:00): 3, GPU\n")
	r := stands(t, c, now)
	out := newTape(t)
	x := r.newReader(t.Context(), out)
	defer x.close()
	for range 8 {
		x.pollAll()
	}
	got := out.told()
	if len(got) != 3 || len(got[1]) > 400 {
		t.Errorf("%d events: %.500s", len(got), strings.Join(got, "\n"))
	}
	if x.dropped[collectors.OverLimit] != 2 {
		t.Errorf("dropped %v", x.dropped)
	}
	if n := len(x.sources[0].tail.buf); n > maxLine {
		t.Errorf("%d bytes kept", n)
	}
}

// TestKernelClock: a record's time is the wall clock at boot and what has passed
// since; where records just read prove that wrong, it is taken again; and a boot
// starts over.
func TestKernelClock(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	k := kernelLog{boot: now.Add(-time.Hour)}
	date := func(since time.Duration, now time.Time, fresh bool) time.Duration {
		l := line{since: since}
		k.date(&l, now, fresh)
		return now.Sub(l.at)
	}
	if d := date(time.Hour-time.Second, now, true); d != time.Second {
		t.Errorf("a second ago: %s", d)
	}
	if d := date(time.Minute, now, false); d != time.Hour-time.Minute {
		t.Errorf("long ago: %s", d)
	}
	if d := date(time.Hour-10*time.Second, now, true); d != 0 {
		t.Errorf("a clock that is ten seconds behind: %s", d)
	}
	if d := date(time.Hour-9*time.Second, now.Add(time.Second), true); d != 0 {
		t.Errorf("then: %s", d)
	}
	if d := date(time.Hour, now.Add(time.Second), true); d != 0 {
		t.Errorf("from the future: %s", d)
	}
	k = kernelLog{boot: now}
	for _, c := range []struct {
		seq  uint64
		at   time.Duration
		lost uint64
		old  bool
	}{{7, 5, 0, false}, {8, 6, 0, false}, {8, 6, 0, true}, {12, 9, 3, false}, {3, 20, 0, true}, {1, 2, 0, false}, {2, 3, 0, false}} {
		if lost, old := k.next(&line{seq: c.seq, since: c.at}); lost != c.lost || old != c.old {
			t.Errorf("record %d: lost %d, old %v", c.seq, lost, old)
		}
	}
	if !k.boot.IsZero() {
		t.Error("a boot was not noticed")
	}
}

// TestParts: a line that the kernel wrote in parts is one line.
func TestParts(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := sampleConfig()
	c.Since = time.Hour
	path := temp(t, "kmsg")
	c.Kernel = File{Path: path, Boot: now.Add(-time.Minute)}
	write(t, path, "4,1,1,c;NVRM: Xid (PCI:\n4,2,1,+;0000:1a:00): 31,\n SUBSYSTEM=pci\n DEVICE=+pci:0000:1a:00.0\n4,3,1,+; MMU Fault\n6,4,2,-;mlx5_core 0000:18:00.0 rdma0: Link down\n4,9,3,c;NVRM: Xid (PCI:0000:1a:00): 32, end\n")
	got := once(t, stands(t, c, now))
	equal(t, "events", got.told(), []string{"gpu:h1/0 xid 31, MMU Fault", "nic:h1/mlx5_0 link_down rdma0: Link down", "gpu:h1/0 xid 32, end"})
	for name, want := range map[string]float64{"collector:h1/logs log_records_lost_total": 4, "collector:h1/logs log_events_total": 3, "collector:h1/logs log_lines_total": 5,
		"gpu:h1/0 gpu_xid_errors_total": 2} {
		if v, ok := got.value(name); !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
}

// TestRepeats: a line that repeats is one event and one more with the number of
// repeats; the counter has all; events over the limit are counted; a link that
// flaps is reported each time.
func TestRepeats(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := sampleConfig()
	c.Since = time.Hour
	path := temp(t, "kmsg")
	c.Kernel = File{Path: path, Boot: now.Add(-time.Minute)}
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "4,%d,%d,-;NVRM: Xid (PCI:0000:1a:00): 13, pid=1, name=x, part %d\n", i+1, i, i)
	}
	for i := range 6 {
		fmt.Fprintf(&text, "6,%d,%d,-;mlx5_core 0000:18:00.0 rdma0: Link %s\n", i+101, i+101, []string{"down", "up"}[i%2])
	}
	write(t, path, text.String())
	got := once(t, stands(t, c, now))
	want := []string{"gpu:h1/0 xid 13, part 0"}
	for range 3 {
		want = append(want, "nic:h1/mlx5_0 link_down rdma0: Link down", "nic:h1/mlx5_0 link_up rdma0: Link up")
	}
	equal(t, "events", got.told(), append(want, "gpu:h1/0 xid 13, part 99 (99 more within 1m0s)"))
	if v, _ := got.value("gpu:h1/0 gpu_xid_errors_total"); v != 100 {
		t.Errorf("%v XIDs counted", v)
	}

	for i := range 1000 {
		write(t, path, fmt.Sprintf("4,%d,%d,-;NVRM: Xid (PCI:0000:1a:00): %d, x\n", i+200, i+200, i+1000))
	}
	got = once(t, stands(t, c, now))
	if n := got.count(); n > 310 || got.Dropped[collectors.OverLimit] < 600 {
		t.Errorf("%d events, dropped %v", n, got.Dropped)
	}
}

// A message of the kernel that its daemon copies into files and the fabric manager
// logs again is one event and counts once; a second one that all of them log,
// later, is another.
func TestOneThingInSeveralLogs(t *testing.T) {
	now := time.Unix(1_800_000_000, 0) // 08:00:00 UTC
	c := sampleConfig()
	c.Since = time.Hour
	kernel, copied, fabric := temp(t, "kmsg"), temp(t, "kern.log"), temp(t, "fabricmanager.log")
	c.Kernel = File{Path: kernel, Boot: now.Add(-10 * time.Minute)}
	c.Files = []File{{Path: copied}, {Path: fabric}}
	for i, after := range []time.Duration{0, 5 * time.Minute} {
		at := c.Kernel.Boot.Add(after).UTC()
		xid := "NVRM: Xid (PCI:0000:1a:00): 79, pid=1, name=x, GPU has fallen off the bus."
		sxid := "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 27 ltssm fault up"
		write(t, kernel, fmt.Sprintf("4,%d,%d,-;%s\n4,%d,%d,-;%s\n", 2*i+1, after.Microseconds(), xid, 2*i+2, after.Microseconds()+1, sxid))
		stamp := at.Format("Jan _2 15:04:05")
		write(t, copied, fmt.Sprintf("%s h1 kernel: [  1.000000] %s\n%s h1 kernel: [  1.000001] %s\n", stamp, xid, stamp, sxid))
		write(t, fabric, fmt.Sprintf("[%s] [ERROR] [tid 12] detected NVSwitch fatal error 24007 on fid 0 on NVSwitch pci bus id 00000000:C1:00.0 physical id 5 port 27\n",
			at.Format("Jan 02 2006 15:04:05")))
	}
	got := once(t, stands(t, c, now))
	one := []string{"gpu:h1/0 xid 79, GPU has fallen off the bus.", "nvswitch:h1/3 sxid 24007, Fatal, Link 27 ltssm fault up"}
	equal(t, "events", got.told(), append(one, one...))
	for series, want := range map[string]float64{"gpu:h1/0 gpu_xid_errors_total": 2, "nvswitch:h1/3 nvswitch_sxid_errors_total": 2} {
		if v, _ := got.value(series); v != want {
			t.Errorf("%s = %v, want %v", series, v, want)
		}
	}
	if n := got.Dropped[collectors.Duplicate]; n != 6 {
		t.Errorf("%d duplicates counted, dropped %v", n, got.Dropped)
	}
}

// If the fabric manager's line is read before the kernel's, it is reported; the
// kernel's are counted all the same, their copies are not.
func TestWhatIsCountedComesSecond(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := sampleConfig()
	c.Since = time.Hour
	fabric, kernel, copied := temp(t, "fabricmanager.log"), temp(t, "kern.log"), temp(t, "messages")
	c.Files = []File{{Path: fabric}, {Path: kernel}, {Path: copied}}
	at := now.Add(-time.Minute).UTC()
	write(t, fabric, fmt.Sprintf("[%s] [ERROR] [tid 12] detected NVSwitch fatal error 24007 on fid 0 on NVSwitch pci bus id 00000000:C1:00.0 physical id 3 port 27\n", at.Format("Jan 02 2006 15:04:05")))
	line := fmt.Sprintf("%s h1 kernel: [  1.000000] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 27 ltssm fault up\n", at.Format("Jan _2 15:04:05"))
	write(t, kernel, line+line)
	write(t, copied, line+line)
	got := once(t, stands(t, c, now))
	equal(t, "events", got.told(), []string{"nvswitch:h1/3 nvswitch_error 24007, fatal port 27", "nvswitch:h1/3 sxid 24007, Fatal, Link 27 ltssm fault up (1 more within 1m0s)"})
	if v, _ := got.value("nvswitch:h1/3 nvswitch_sxid_errors_total"); v != 2 {
		t.Errorf("%v counted, want 2", v)
	}
	if n := got.Dropped[collectors.Duplicate]; n != 3 {
		t.Errorf("%d duplicates, dropped %v", n, got.Dropped)
	}
}
