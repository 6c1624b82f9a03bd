package ibsim

import (
	"os/exec"
	"syscall"
)

// endsWithUs has the kernel end a program whose starter has died.
func endsWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
