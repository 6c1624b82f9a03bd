package fabric

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// endsWithUs has the kernel end a program whose starter has died: a paused program
// would stay paused for ever.
func endsWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

func pause(p *os.Process) error  { return p.Signal(syscall.SIGSTOP) }
func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// sent is how many datagrams a program has sent, or a few more: each is one write
// to /dev/infiniband/umad*. It cannot be counted where the kernel keeps no account
// of it, or the program is another user's (proc(5), /proc/pid/io).
func sent(p *os.Process) (n int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.Pid))
	if err != nil {
		return 0, false
	}
	_, rest, found := bytes.Cut(text, []byte("syscw: "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err = strconv.Atoi(string(line))
	return n, found && err == nil
}
