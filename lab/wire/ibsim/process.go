package ibsim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// tools are the programs and the library that a simulated subnet runs on.
type tools struct{ ibsim, opensm, preload string }

// Available states what is missing, nil if nothing is: Debian's ibsim-utils,
// libumad2sim0, opensm and infiniband-diags.
func Available() error {
	_, err := findTools()
	for _, name := range []string{"ibnetdiscover", "perfquery", "sminfo"} {
		_, e := look(name)
		err = errors.Join(err, e)
	}
	return err
}

func findTools() (tools, error) {
	var t tools
	var errs [3]error
	t.ibsim, errs[0] = look("ibsim")
	t.opensm, errs[1] = look("opensm")
	found, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so") // the pattern is sound
	if len(found) == 0 {
		errs[2] = errors.New("libumad2sim.so is missing (libumad2sim0)")
	} else {
		t.preload = found[0]
	}
	return t, errors.Join(errs[:]...)
}

func look(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/" + name)
}

// process is a program that runs until it is ended.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // when done is closed
}

// launch starts a program.
func launch(cmd *exec.Cmd) (*process, error) {
	cmd.WaitDelay = time.Second
	endsWithUs(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// kill ends the program at once, as a crash would, and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
}

// wait returns nil when done is closed or the program has printed what was waited
// for, and why not otherwise.
func (p *process) wait(ctx context.Context, event <-chan struct{}, what string) error {
	select {
	case <-event:
		return nil
	case <-p.done:
		return fmt.Errorf("%s ended before %s: %v", filepath.Base(p.cmd.Path), what, p.err)
	case <-ctx.Done():
		return fmt.Errorf("%s: %s: %w", filepath.Base(p.cmd.Path), what, ctx.Err())
	}
}

// environment is what a program that is to see the subnet is given.
func environment(vars map[string]string) []string {
	env := os.Environ()
	for k, v := range vars {
		env = append(env, k+"="+v) // order-independent: each name occurs once
	}
	return env
}
