package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// log is what a job's trainer writes.
type log struct {
	path  string
	titan bool
	steps int64
	last  telemetry.Time
	lines []string
}

// newLog begins a log; every other one is TorchTitan's.
func newLog(dir string, x telemetry.Entity, titan bool) *log {
	return &log{path: filepath.Join(dir, x.Name+".log"), titan: titan}
}

// peak is what TorchTitan takes for an H100 SXM, in FLOP/s: 989 TFLOP/s of dense
// BF16.
const peak = 989e12

// step writes the step that ended last, and what was noted since.
func (l *log) step(b *board.Board, x telemetry.Entity, devices int) error {
	s, ok := b.Read(x, "job_step_seconds")
	if ok && !s.Gap && s.At > l.last && devices > 0 {
		l.last = s.At
		l.steps++
		read := func(m telemetry.MetricName) float64 {
			if r, ok := b.Read(x, m); ok && !r.Gap {
				return r.Float()
			}
			return 0
		}
		if l.titan {
			l.lines = append(l.lines, l.torchTitan(s, read("job_tokens_per_second")/float64(devices), read("job_mfu_ratio")))
		} else {
			l.lines = append(l.lines, l.megatron(s, read("job_mfu_ratio")))
		}
	}
	return l.flush()
}

// megatron is a line of Megatron-LM's training log, with throughput.
func (l *log) megatron(s board.Reading, mfu float64) string {
	return fmt.Sprintf(" [%s] iteration %8d/%8d | consumed samples: %12d | elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | learning rate: 6.000000E-05 | global batch size: %5d | lm loss: 2.120380E+00 | loss scale: 1.0 | grad norm: 0.218 | number of skipped iterations:   0 | number of nan iterations:   0 |",
		clock(s.At, "2006-01-02 15:04:05.000000"), l.steps, 500000, l.steps*1024, s.Float()*1e3, mfu*peak/1e12, 1024)
}

// torchTitan is a line of TorchTitan's, which reports tokens of one device.
func (l *log) torchTitan(s board.Reading, tps, mfu float64) string {
	return fmt.Sprintf("[titan] %s - root - INFO - \x1b[31mstep: %2d  \x1b[32mloss: %7.4f  \x1b[38;2;180;60;0mgrad_norm: %7.4f  \x1b[33mmemory: 68.57GiB(86.69%%)  \x1b[34mtps: %s  \x1b[36mtflops: %s  \x1b[35mmfu: %.2f%%\x1b[39m",
		strings.Replace(clock(s.At, "2006-01-02 15:04:05.000"), ".", ",", 1), l.steps, 3.437, 1.25, thousands(int64(tps+0.5)), fmt.Sprintf("%.2f", mfu*peak/1e12), mfu*100)
}

// note writes that a checkpoint begins or is done.
func (l *log) note(e *telemetry.Event) {
	text := ""
	switch {
	case l.titan && e.Name == telemetry.EventCheckpointStarted:
		text = "Saving the checkpoint (or staging if async is enabled)."
	case l.titan:
		text = "Finished saving the checkpoint (or staging if async is enabled) in 1.00 seconds."
	case e.Name == telemetry.EventCheckpointStarted:
		text = fmt.Sprintf("saving checkpoint at iteration %7d to /checkpoints in torch_dist format", l.steps)
	default:
		text = fmt.Sprintf("  successfully saved checkpoint from iteration %7d to /checkpoints", l.steps)
	}
	if l.titan { // the other logs no time here
		text = "[titan] " + strings.Replace(clock(e.At, "2006-01-02 15:04:05.000"), ".", ",", 1) + " - root - INFO - " + text
	}
	l.lines = append(l.lines, text)
}

func (l *log) flush() error {
	if len(l.lines) == 0 {
		return nil
	}
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(l.lines, "\n") + "\n")
	l.lines = l.lines[:0]
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// clock writes an instant without a zone, which is UTC here.
func clock(t telemetry.Time, form string) string {
	return time.Unix(0, int64(t)).UTC().Format(form)
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
