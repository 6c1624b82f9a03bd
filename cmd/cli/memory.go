package cli

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryShare is the part of a control group's memory that Go's collector keeps the
// heap within; the rest is for stacks, mapped files and what the kernel buffers.
const memoryShare = 0.85

// limitMemory sets Go's memory limit from the control group of this process, where
// one limits memory and GOMEMLIMIT is not set.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := groupMemory(os.DirFS("/")); limit > 0 {
		debug.SetMemoryLimit(int64(float64(limit) * memoryShare))
	}
}

// ShareMemory leaves a share of Go's memory limit, where there is one, to a child of
// this process, and returns the child's as an entry of its environment; "" without a
// limit.
func ShareMemory(share float64) string {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return ""
	}
	its := int64(float64(limit) * share)
	debug.SetMemoryLimit(limit - its)
	return "GOMEMLIMIT=" + strconv.FormatInt(its, 10)
}

// groupMemory returns the smallest memory.max of the control group (version 2) of this
// process and of those around it, in bytes; 0 where there is none.
func groupMemory(root fs.FS) int64 {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(math.MaxInt64)
	for line := range bytes.Lines(b) {
		group, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::"))
		if !ok {
			continue
		}
		for dir := path.Join("sys/fs/cgroup", string(group)); strings.HasPrefix(dir, "sys/fs/cgroup"); dir = path.Dir(dir) {
			text, err := fs.ReadFile(root, dir+"/memory.max")
			if err != nil {
				continue
			}
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && n > 0 { // "max" is none
				least = min(least, n)
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}
