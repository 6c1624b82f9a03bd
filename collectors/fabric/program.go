package fabric

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// runner runs a program to its end.
type runner interface {
	run(ctx context.Context, r request) answer
}

// request is a program and what it is asked.
type request struct {
	program string
	args    []string
	most    int // bytes that it may say
	patient time.Duration
	// turns lets a program run and rest by turns where it would send too much
	// in one go; the zero turns let it run.
	turns turns
}

// turns are how long a program runs and then rests.
type turns struct{ run, rest time.Duration }

// answer is what a program said.
type answer struct {
	out, complaints []byte
	took            time.Duration // of its own, without rests
	cut             bool          // it said more than it may
	err             error
}

// processes runs programs as processes of this machine.
type processes struct {
	env       []string
	directory string
}

// run implements runner. Whatever happens, the process has ended when it
// returns.
func (p processes) run(ctx context.Context, r request) answer {
	ctx, cancel := context.WithTimeout(ctx, r.patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.program, r.args...)
	cmd.Dir = p.directory
	cmd.Env = append(os.Environ(), p.env...)
	cmd.WaitDelay = 500 * time.Millisecond
	out, complaints := &bounded{most: r.most}, &bounded{most: 256 << 10}
	cmd.Stdout, cmd.Stderr = out, complaints
	endsWithUs(cmd)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return answer{err: err}
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	rested, err := r.turns.take(cmd.Process, done)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", r.program, context.Cause(ctx))
	}
	return answer{out: out.kept, complaints: complaints.kept, took: max(0, time.Since(began)-rested), cut: out.lost, err: err}
}

// take lets a process run and rest by turns until it is done, and returns how
// long it rested. A turn that came late is paid for by a longer rest.
func (t turns) take(p *os.Process, done <-chan error) (rested time.Duration, err error) {
	if t.run <= 0 || t.rest <= 0 {
		return 0, <-done
	}
	timer := time.NewTimer(t.run)
	defer timer.Stop()
	for began := time.Now(); ; began = time.Now() {
		select {
		case err := <-done:
			return rested, err
		case <-timer.C:
		}
		if pause(p) != nil {
			return rested, <-done // it has ended, or cannot be held
		}
		ran := time.Since(began)
		rest := time.Duration(float64(t.rest) * float64(ran) / float64(t.run))
		began = time.Now()
		timer.Reset(rest)
		select {
		case err := <-done:
			return rested + time.Since(began), err
		case <-timer.C:
		}
		rested += time.Since(began)
		if err := resume(p); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return rested, errors.Join(err, <-done)
		}
		timer.Reset(t.run)
	}
}

// bounded keeps the first bytes that it is given.
type bounded struct {
	kept []byte
	most int
	lost bool
}

// Write keeps what there is room for, and takes the rest.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - len(b.kept)
	b.lost = b.lost || len(p) > room
	b.kept = append(b.kept, p[:min(len(p), room)]...)
	return len(p), nil
}

// find returns a program's path: as given, or by its name on the path, or in
// /usr/sbin, where distributions put it.
func find(given, name string) (string, error) {
	if given != "" {
		return exec.LookPath(given)
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	path, err := exec.LookPath("/usr/sbin/" + name)
	if err != nil {
		return "", fmt.Errorf("%s is neither on the path nor in /usr/sbin: it is part of infiniband-diags", name)
	}
	return path, nil
}
