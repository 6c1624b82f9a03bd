package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clock steps the wall clock of one process and of no other. Time namespaces do
// not move CLOCK_REALTIME, and a library that is loaded first moves nothing in a
// program that does without libc. So the function that the kernel maps into each
// process for reading clocks is replaced in that process by one that asks the
// kernel and adds an offset to the wall; the monotonic clock stays.
type clock struct {
	pid    int
	offset int64 // where the offset is, in the memory of the process
}

// steppedClock is that function: the offset is in its last eight bytes.
//
//	mov eax, 228 (clock_gettime); syscall
//	test edi, edi; jne done
//	mov rcx, [rip+6]; add [rsi], rcx
//	done: ret
func steppedClock() []byte {
	return []byte{0xb8, 228, 0, 0, 0, 0x0f, 0x05, 0x85, 0xff, 0x75, 0x0a,
		0x48, 0x8b, 0x0d, 6, 0, 0, 0, 0x48, 0x01, 0x0e, 0xc3, 0x90, 0x90,
		0, 0, 0, 0, 0, 0, 0, 0}
}

// newClock takes over the clock of a process, which it stops for a moment.
func newClock(pid int) (*clock, error) {
	from, to, err := mapped(pid, "[vdso]")
	if err != nil {
		return nil, fmt.Errorf("clock of process %d: %w", pid, err)
	}
	for range 1000 {
		var at int64
		if at, err = replaceClock(pid, from, to); err == nil {
			return &clock{pid, at}, nil
		}
		if !errors.Is(err, errReadsClock) {
			break
		}
		<-time.After(5 * time.Millisecond) // a thread that was stopped there must run to leave
	}
	return nil, fmt.Errorf("clock of process %d: %w", pid, err)
}

var errReadsClock = errors.New("a thread is reading the clock")

func replaceClock(pid int, from, to int64) (int64, error) {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return 0, err
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	if err := outside(pid, from, to); err != nil {
		return 0, err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer mem.Close()
	image := make([]byte, to-from)
	if _, err := mem.ReadAt(image, from); err != nil {
		return 0, err
	}
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	code := steppedClock()
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(code)) {
			_, err := mem.WriteAt(code, from+int64(s.Value))
			return from + int64(s.Value) + int64(len(code)) - 8, err
		}
	}
	return 0, errors.New("no function that reads clocks")
}

// mapped returns where a process has something mapped.
func mapped(pid int, what string) (from, to int64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasSuffix(strings.TrimSpace(line), what) {
			_, err := fmt.Sscanf(line, "%x-%x", &from, &to)
			return from, to, err
		}
	}
	return 0, 0, fmt.Errorf("%s is not mapped", what)
}

// outside waits until every thread of a process is stopped, and fails where one of
// them is between two addresses.
func outside(pid int, from, to int64) error {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	if err != nil {
		return err
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		words := strings.Fields(string(b))
		if len(words) == 1 {
			return errReadsClock // it still runs
		}
		at, err := strconv.ParseInt(strings.TrimPrefix(words[len(words)-1], "0x"), 16, 64)
		if err != nil || at >= from && at < to {
			return errReadsClock
		}
	}
	return nil
}

// step sets how far the wall clock of the process is from the machine's, in whole
// seconds.
func (c *clock) step(by time.Duration) error {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	b, seconds := make([]byte, 8), uint64(by/time.Second)
	for i := range b {
		b[i] = byte(seconds >> (8 * i))
	}
	_, err = mem.WriteAt(b, c.offset)
	return err
}
