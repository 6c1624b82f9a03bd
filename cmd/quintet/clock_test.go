package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/telemetry"
)

// At ten times real time, ten seconds of recording take one; a replay that is
// called off does not wait.
func TestSpeed(t *testing.T) {
	rec, err := replay.Open("../../testdata/roce/healthy-2", replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sh := &cli.Shell{Ctx: ctx, Out: new(strings.Builder), Err: new(strings.Builder)}
		began := time.Now()
		tick := (&replayCommand{Speed: 10}).clock(sh, rec, newProgress(sh.Err, "x"))
		for at := telemetry.Time(5e9); at <= 15e9; at += 1e9 {
			if err := tick(at); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
		cancel()
		if err := tick(3600e9); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// The line appears once work takes long, at most ten times a second, and goes.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := &progress{w: &out, label: "replaying", began: time.Now(), next: time.Now().Add(3 * progressEvery)}
		p.at(0.1, "early")
		p.done()
		if out.Len() != 0 {
			t.Errorf("said %q at once", out.String())
		}
		<-time.After(10 * time.Second)
		p.at(0.5, "a")
		p.at(0.6, "b")
		p.done()
		want := "\r\x1b[Kreplaying ████████████░░░░░░░░░░░░  50% 10s left a\r\x1b[K"
		if out.String() != want {
			t.Errorf("said %q, want %q", out.String(), want)
		}
	})
}
