package fabric

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"time"
)

// runner runs a program to its end.
type runner interface {
	run(ctx context.Context, r request) answer
}

// request is a program with its arguments and limits.
type request struct {
	program string
	args    []string
	most    int // bytes that it may print
	patient time.Duration
	// turns alternates running and pausing a program where it would send too much
	// in one go; the zero turns let it run.
	turns turns
}

// turns is the limit of what a program may send: rate datagrams a second, portion
// of them at once. sends is the assumed rate at which it sends while it runs, where
// that cannot be counted. Where it can, a program that runs for idle without
// sending is ended: it waits for an answer that will not arrive.
type turns struct {
	rate    float64
	portion int
	sends   float64
	idle    time.Duration
}

// answer is the output of a program.
type answer struct {
	out, complaints []byte
	took            time.Duration // of its own, without rests
	cut             bool          // it printed more than it may
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

var errHangs = errors.New("it hangs: nothing was sent")

// take alternates running and pausing a process until it is done, and returns how
// long it was paused. What it has sent is checked each time it could have sent half
// a portion, and it is paused once it has used more than that: so a check that comes
// late, on a busy host, costs no more than what was sent meanwhile.
func (t turns) take(p *os.Process, done <-chan error) (rested time.Duration, err error) {
	if t.rate <= 0 || t.sends <= 0 {
		return 0, <-done
	}
	half := float64(t.portion) / 2
	look := time.Duration(half / t.sends * float64(time.Second))
	much := time.Duration(half / t.rate * float64(time.Second))
	timer := time.NewTimer(look)
	defer timer.Stop()
	reserved := pacer{rate: t.rate}
	before, idle := 0, time.Duration(0)
	for began := time.Now(); ; {
		select {
		case err := <-done:
			return rested, err
		case <-timer.C:
		}
		now := time.Now()
		n, counted := sent(p)
		if !counted {
			n = before + int(math.Ceil(now.Sub(began).Seconds()*t.sends))
		}
		if idle += now.Sub(began); n > before {
			idle = 0
		}
		if counted && t.idle > 0 && idle > t.idle {
			_ = p.Kill() // it may have ended by itself
			return rested, fmt.Errorf("%w for %s: %v", errHangs, t.idle, <-done)
		}
		reserved.spend(began, max(0, n-before))
		before, began = n, now
		rest := reserved.wait(now)
		if rest <= much {
			timer.Reset(look)
			continue
		}
		if pause(p) != nil {
			return rested, <-done // it has ended, or cannot be paused
		}
		timer.Reset(rest)
		select {
		case err := <-done:
			return rested + time.Since(began), err
		case <-timer.C:
		}
		rested += time.Since(began)
		began = time.Now()
		if err := resume(p); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return rested, errors.Join(err, <-done)
		}
		timer.Reset(look)
	}
}

// bounded keeps the first bytes that it is given.
type bounded struct {
	kept []byte
	most int
	lost bool
}

// Write keeps what there is room for, and discards the rest.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - len(b.kept)
	b.lost = b.lost || len(p) > room
	b.kept = append(b.kept, p[:min(len(p), room)]...)
	return len(p), nil
}

// find returns a program's path: as given, or by its name on the path, or in
// /usr/sbin, where distributions install it.
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
