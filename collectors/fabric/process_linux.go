package fabric

import (
	"os"
	"os/exec"
	"syscall"
)

// endsWithUs has the kernel end a program whose starter has died: a program
// that rests would rest for ever.
func endsWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

func pause(p *os.Process) error  { return p.Signal(syscall.SIGSTOP) }
func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
