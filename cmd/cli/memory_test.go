package cli

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestGroupMemory(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for name, c := range map[string]struct {
		fs   fstest.MapFS
		want int64
	}{
		"no control groups": {fstest.MapFS{}, 0},
		"unlimited":         {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n")}, 0},
		"its own":           {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("1000\n"), "sys/fs/cgroup/a/memory.max": file("max\n")}, 1000},
		"one around it":     {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("1000\n"), "sys/fs/cgroup/a/memory.max": file("900\n")}, 900},
		"in a container":    {fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("700\n")}, 700},
		"version 1":         {fstest.MapFS{"proc/self/cgroup": file("4:memory:/a\n"), "sys/fs/cgroup/a/memory.max": file("1000\n")}, 0},
		"a path outside":    {fstest.MapFS{"proc/self/cgroup": file("0::/../../x\n")}, 0},
	} {
		if got := groupMemory(c.fs); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestShareMemory(t *testing.T) {
	was := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(was)
	if got := ShareMemory(.25); got != "" {
		t.Errorf("without a limit: %q", got)
	}
	debug.SetMemoryLimit(4 << 30)
	if got, own := ShareMemory(.25), debug.SetMemoryLimit(-1); got != "GOMEMLIMIT=1073741824" || own != 3<<30 {
		t.Errorf("%q, its own %d", got, own)
	}
}
