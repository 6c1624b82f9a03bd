package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/answer"
	"github.com/quintet-dc/quintet/replay/deck"
	"github.com/quintet-dc/quintet/telemetry"
)

// replayCommand runs the engine over a recording.
type replayCommand struct {
	Recording   string `arg:"" help:"A trace, or the folder of a bundle."`
	JSON        bool   `name:"json" help:"Print the final state of each incident as JSON, newest first."`
	Explain     bool   `help:"Print the evidence behind each incident, too."`
	Speed       pace   `placeholder:"max|N" help:"As fast as possible, or N times real time; max if not given, 1 with --serve."`
	Serve       bool   `help:"Show the page over the replay, with pause and seek, until stopped."`
	Listen      string `default:"127.0.0.1:8420" placeholder:"ADDRESS" help:"Where the page and the API are, with --serve."`
	LogLevel    string `default:"warn" enum:"debug,info,warn,error" help:"What is logged with --serve: debug, info, warn, error."`
	Expect      string `type:"existingfile" placeholder:"FILE" help:"Compare with what --json printed earlier; exit 1 and print the differences after the incidents."`
	Diff        string `type:"existingfile" placeholder:"FILE" help:"Like --expect, but print nothing else."`
	Slices      int    `default:"1" placeholder:"N" help:"How many parts of a grid's work run side by side. It changes no answer."`
	SkipDamaged bool   `help:"Go on behind damaged blocks of a trace."`
}

// pace is how many times real time; infinite is as fast as possible, and zero is
// not set.
type pace float64

// most reports whether nothing is waited for.
func (p pace) most() bool { return p == 0 || math.IsInf(float64(p), 1) }

// UnmarshalText reads max or a positive number.
func (p *pace) UnmarshalText(b []byte) error {
	if string(b) == "max" {
		*p = pace(math.Inf(1))
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(v > 0) || v > 1e9 {
		return fmt.Errorf("%q: want max or a positive number", b)
	}
	*p = pace(v)
	return nil
}

// Validate returns an error if the flags are invalid.
func (c *replayCommand) Validate() error {
	if c.Slices < 1 || c.Slices > 1024 {
		return fmt.Errorf("--slices: %d: want 1 to 1024", c.Slices)
	}
	for flag, file := range map[string]string{"--expect": c.Expect, "--diff": c.Diff} {
		if _, err := os.Stat(file); file != "" && err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	if c.Serve && (c.JSON || c.Explain || c.Expect != "" || c.Diff != "") {
		return errors.New("--serve: shows the page and prints no answer: without --json, --explain, --expect and --diff")
	}
	if c.Serve && !c.Speed.most() && c.Speed > deck.MaxSpeed {
		return fmt.Errorf("--speed: %g: want max or at most %g", float64(c.Speed), deck.MaxSpeed)
	}
	if c.JSON && c.Explain {
		return errors.New("--json and --explain: mutually exclusive: --json has everything")
	}
	return nil
}

// Run replays and prints.
func (c *replayCommand) Run(sh *cli.Shell) error {
	if c.Serve {
		return c.serve(sh)
	}
	rec, err := replay.Open(c.Recording, replay.OpenConfig{SkipDamaged: c.SkipDamaged})
	if err != nil {
		return err
	}
	defer rec.Close()
	sh.Doubts(rec.Warnings)
	config, err := engineConfig(c.Slices)
	if err != nil {
		return err
	}
	behind := answer.Evidence(nil)
	run := replay.RunConfig{Engine: config}
	if c.Explain {
		behind = answer.Evidence{}
		run.Findings = func(_ telemetry.Time, f []detect.Finding) { gather(behind, f) }
	}
	line := newProgress(sh.Err, "replaying")
	run.Tick = c.clock(sh, rec, line)
	result, err := replay.Run(sh.Ctx, rec, run)
	line.done()
	if err != nil {
		return err
	}
	sh.Doubts(result.Warnings)
	if err := c.print(sh, result, behind); err != nil {
		return err
	}
	if result.Cut != nil {
		return fmt.Errorf("%s: %w", c.Recording, result.Cut)
	}
	return nil
}

// clock shows progress at each tick and, where a speed is asked for, waits for
// its time.
func (c *replayCommand) clock(sh *cli.Shell, rec *replay.Recording, line *progress) func(telemetry.Time) error {
	first, last := rec.Span()
	began, origin := time.Now(), telemetry.Time(0)
	return func(at telemetry.Time) error {
		line.at(float64(at-first)/float64(max(last-first, 1)), at.Clock())
		if c.Speed.most() {
			return nil
		}
		if origin == 0 {
			origin = at
		}
		wait := time.Until(began.Add(time.Duration(float64(at-origin) / float64(c.Speed))))
		select {
		case <-time.After(wait):
			return nil
		case <-sh.Ctx.Done():
			return sh.Ctx.Err()
		}
	}
}

// gather keeps each finding as it began, and when it ended.
func gather(behind answer.Evidence, fs []detect.Finding) {
	for i := range fs {
		f := &fs[i]
		old := behind[f.Series.Entity]
		k := slices.IndexFunc(old, func(o detect.Finding) bool { return o.Series == f.Series && o.Shape == f.Shape && o.Onset == f.Onset })
		if k < 0 {
			behind[f.Series.Entity] = append(old, *f)
			continue
		}
		old[k].Ended = f.Ended
	}
}

// print prints the incidents and what differs from those expected.
func (c *replayCommand) print(sh *cli.Shell, result *replay.Result, behind answer.Evidence) error {
	if c.Diff == "" {
		if err := c.incidents(sh, result.Incidents, behind); err != nil {
			return err
		}
	}
	different := false
	for _, file := range []string{c.Expect, c.Diff} {
		if file == "" {
			continue
		}
		differs, err := c.compare(sh, file, result.Incidents)
		if err != nil {
			return err
		}
		different = different || differs
	}
	if different {
		return cli.Exit(cli.Wrong)
	}
	return nil
}

func (c *replayCommand) incidents(sh *cli.Shell, incidents []explain.Incident, behind answer.Evidence) error {
	if c.JSON {
		return answer.WriteFile(sh.Out, incidents)
	}
	for i := range incidents {
		if err := answer.Write(sh.Out, &incidents[i], behind); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(sh.Out, summary(incidents))
	return err
}

// summary counts the incidents in words.
func summary(incidents []explain.Incident) string {
	var n, risks, open int
	for i := range incidents {
		if incidents[i].Kind == explain.KindRisk {
			risks++
		} else {
			n++
		}
		if incidents[i].State == explain.StateOpen {
			open++
		}
	}
	if n+risks == 0 {
		return "no incident"
	}
	words := []string{}
	if n > 0 {
		words = append(words, plural(n, "incident"))
	}
	if risks > 0 {
		words = append(words, plural(risks, "risk"))
	}
	return fmt.Sprintf("%s, %d open at the end", strings.Join(words, ", "), open)
}

// compare prints how the incidents differ from a file's. Beside --json the
// differences are no part of the result: they go to standard error.
func (c *replayCommand) compare(sh *cli.Shell, file string, incidents []explain.Incident) (bool, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	diff, err := answer.Diff(b, incidents)
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	out := sh.Out
	if c.JSON && c.Diff == "" {
		out = sh.Err
	}
	for _, d := range diff {
		fmt.Fprintln(out, d)
	}
	if len(diff) > 0 {
		sh.Warn("%s from %s", plural(len(diff), "difference"), file)
	}
	return len(diff) > 0, nil
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
