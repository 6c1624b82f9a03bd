package fabric

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// shell runs a line of the shell as a program.
func shell(ctx context.Context, line string, r request) answer {
	r.program, r.args = "/bin/sh", []string{"-c", line}
	if r.patient == 0 {
		r.patient = 30 * time.Second
	}
	if r.most == 0 {
		r.most = 1 << 20
	}
	return processes{env: []string{"OF_THE_SUBNET=here"}}.run(ctx, r)
}

func TestAProgramIsRunToItsEnd(t *testing.T) {
	a := shell(t.Context(), "echo $OF_THE_SUBNET; echo complaint >&2; exit 3", request{})
	if string(a.out) != "here\n" || string(a.complaints) != "complaint\n" || a.err == nil || a.cut {
		t.Errorf("%q %q %v", a.out, a.complaints, a.err)
	}
	if a := shell(t.Context(), "echo too much", request{most: 3}); string(a.out) != "too" || !a.cut || a.err != nil {
		t.Errorf("%q %v %v", a.out, a.cut, a.err)
	}
	if a := (processes{}).run(t.Context(), request{program: "/nowhere", patient: time.Second}); a.err == nil {
		t.Error("a program that is not there ran")
	}
}

// TestAProgramRunsByTurns: nothing of it is lost, and left to itself it would be
// done in a third of the time.
func TestAProgramRunsByTurns(t *testing.T) {
	const line = "i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo $i >/dev/null; sleep 0.002; done; echo $i"
	began := time.Now()
	a := shell(t.Context(), line, request{turns: turns{rate: 50, portion: 2, sends: fastest}})
	took := time.Since(began)
	if strings.TrimSpace(string(a.out)) != "20" || a.err != nil || a.took <= 0 {
		t.Errorf("%q %v %s", a.out, a.err, a.took)
	}
	// Some are sent between two looks: half of the time is certain.
	if least := 20 * time.Second / 50 / 2; took < least || a.took > took {
		t.Errorf("20 writes took %s, %s without rests: they may take no less than %s", took, a.took, least)
	}
}

// TestAProgramThatSendsNothingDoesNotRest: a host that is too busy to let it run is
// no reason to pause it as well. At this rate, the datagrams it might have sent in
// a millisecond would cost a day's pause, and so would its one line of output cost
// a quarter of an hour, were it more than may be sent at once.
func TestAProgramThatSendsNothingDoesNotRest(t *testing.T) {
	if _, counted := sent(&os.Process{Pid: os.Getpid()}); !counted {
		t.Skip("what a program sends cannot be counted here")
	}
	a := shell(t.Context(), "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $i", request{turns: turns{rate: 0.001, portion: 4, sends: 1e5}})
	if strings.TrimSpace(string(a.out)) != "20000" || a.err != nil {
		t.Errorf("%q %v", a.out, a.err)
	}
}

// TestAProgramThatHangsIsEnded: one that waits for an answer that never comes.
func TestAProgramThatHangsIsEnded(t *testing.T) {
	if _, counted := sent(&os.Process{Pid: os.Getpid()}); !counted {
		t.Skip("what a program sends cannot be counted here")
	}
	a := shell(t.Context(), "echo asked; exec sleep 1000", request{turns: turns{rate: 1000, portion: 50, sends: fastest, idle: 50 * time.Millisecond}})
	if !errors.Is(a.err, errHangs) || string(a.out) != "asked\n" {
		t.Errorf("%q %v", a.out, a.err)
	}
}

// TestAProgramThatRestsIsEnded: a paused program ends when its caller's context is
// cancelled, and one that hangs ends at its timeout.
func TestAProgramThatRestsIsEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	done := make(chan answer, 1)
	go func() {
		done <- shell(ctx, "while true; do echo >/dev/null; done", request{turns: turns{rate: 0.001, portion: 2, sends: 1e5}})
	}()
	<-time.After(50 * time.Millisecond)
	cancel(reason)
	if a := <-done; !errors.Is(a.err, reason) {
		t.Errorf("%v, want %v", a.err, reason)
	}
	if a := shell(t.Context(), "exec sleep 1000", request{patient: 20 * time.Millisecond}); !errors.Is(a.err, context.DeadlineExceeded) {
		t.Errorf("%v", a.err)
	}
}
