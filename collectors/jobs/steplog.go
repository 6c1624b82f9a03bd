package jobs

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// logLine is the content of one line of a trainer's log.
type logLine struct {
	at        time.Time // in the log's zone; zero where it states none
	step      int64     // iteration that ended; negative where the line is of none
	seconds   float64   // of one step; NaN where not stated
	tflops    float64   // 10^12 FLOP/s of one device; NaN
	tokens    float64   // a second of one device; NaN
	mfu       float64   // NaN
	consumed  float64   // tokens since the beginning; NaN
	samples   float64   // of one step, all devices; NaN
	event     telemetry.EventName
	eventText string
}

// readLine reads a line of Megatron-LM, Megatron-DeepSpeed, NeMo, TorchTitan or
// DLRover, whatever a launcher has put before it. False where it contains nothing
// of use.
func readLine(line []byte, zone *time.Location) (logLine, bool) {
	text := string(bare(line))
	nan := math.NaN()
	l := logLine{step: -1, seconds: nan, tflops: nan, tokens: nan, mfu: nan, consumed: nan, samples: nan}
	l.at = stampOf(text, zone)
	switch {
	case strings.Contains(text, "] {") && strings.Contains(text, "[#"):
		return l, l.dlrover(text)
	case strings.Contains(text, "iteration") && strings.Contains(text, "|"):
		return l, l.pairs(text)
	case strings.Contains(text, "step:") && strings.Contains(text, "loss:"):
		return l, l.torchTitan(text)
	}
	return l, l.checkpoint(text)
}

// bare leaves out the escapes that colour a terminal.
func bare(b []byte) []byte {
	if bytes.IndexByte(b, 0x1b) < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != 0x1b || i+1 >= len(b) || b[i+1] != '[' {
			out = append(out, b[i])
			continue
		}
		for i += 2; i < len(b) && (b[i] < 0x40 || b[i] > 0x7e); i++ {
		}
	}
	return out
}

// before is how far from its beginning a line's time is looked for.
const before = 160

// stampOf finds "2024-08-21 10:19:42", with a T or a fraction behind a point or
// a comma, zero where there is none.
func stampOf(s string, zone *time.Location) time.Time {
	const form = "2006-01-02 15:04:05"
	for i := 0; i+len(form) <= len(s) && i < before; i++ {
		if s[i] != '2' || s[i+4] != '-' || s[i+13] != ':' {
			continue
		}
		word := s[i : i+len(form)]
		t, err := time.ParseInLocation(form, word[:10]+" "+word[11:], zone)
		if err != nil || word[10] != ' ' && word[10] != 'T' {
			continue
		}
		rest := s[i+len(form):]
		if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') {
			scale := time.Second / 10
			for _, c := range []byte(rest[1:]) {
				if c < '0' || c > '9' || scale == 0 {
					break
				}
				t = t.Add(time.Duration(c-'0') * scale)
				scale /= 10
			}
		}
		return t
	}
	return time.Time{}
}

// pairs reads "iteration 4/ 25000 | key: value | …". A value may be "now/mean",
// of which the first is taken.
func (l *logLine) pairs(text string) bool {
	parts := strings.Split(text, "|")
	_, head, _ := strings.Cut(parts[0], "iteration")
	n, _, found := strings.Cut(head, "/")
	step, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
	if !found || err != nil || step < 0 {
		return false
	}
	for _, p := range parts[1:] {
		key, value, found := cutLast(p, ": ")
		if !found {
			continue
		}
		value, _, _ = strings.Cut(strings.TrimSpace(value), "/")
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || math.IsInf(v, 0) {
			continue
		}
		switch strings.TrimSpace(key) {
		case "elapsed time per iteration (ms)":
			l.seconds = v / 1e3
		case "train_step_timing in s":
			l.seconds = v
		case "throughput per GPU (TFLOP/s/GPU)", "TFLOPs", "TFLOPS_per_GPU":
			l.tflops = v
		case "tokens per GPU (tokens/s/GPU)", "tokens_per_sec_per_gpu":
			l.tokens = v
		case "consumed tokens":
			l.consumed = v
		case "global batch size", "global_batch_size":
			l.samples = v
		}
	}
	if !(l.seconds > 0) {
		return false
	}
	l.step = step
	return true
}

// cutLast cuts around the last separator: a key may hold one.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// torchTitan reads "step: 10 loss: … tps: 6,785 tflops: 61.2 mfu: 39.73%".
func (l *logLine) torchTitan(text string) bool {
	f := strings.Fields(text[strings.Index(text, "step:"):])
	for i := 0; i+1 < len(f); i++ {
		word := strings.TrimSuffix(strings.ReplaceAll(f[i+1], ",", ""), "%")
		word, _, _ = strings.Cut(word, "/") // of those there are
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsInf(v, 0) {
			continue
		}
		switch f[i] {
		case "step:":
			if v < 0 || v > 1<<53 {
				return false
			}
			l.step = int64(v)
		case "tps:":
			l.tokens = v
		case "tflops:":
			l.tflops = v
		case "mfu:":
			l.mfu = v / 100
		}
	}
	return l.step >= 0
}

// dlrover reads "[time] [pid] [id] [target] [#name] [BEGIN] {…}".
func (l *logLine) dlrover(text string) bool {
	head, body, _ := strings.Cut(text, "] {")
	var doc struct {
		Step *int64 `json:"global_step"`
		Logs map[string]any
	}
	if json.Unmarshal([]byte("{"+body), &doc) != nil {
		return false
	}
	switch {
	case strings.Contains(head, "[#save] [BEGIN"):
		l.event = telemetry.EventCheckpointStarted
	case strings.Contains(head, "[#save] [END"):
		l.event = telemetry.EventCheckpointEnded
	case strings.Contains(head, "[#log]"):
		ms, ok := doc.Logs["elapsed time per iteration (ms)"].(float64)
		if !ok || doc.Step == nil || *doc.Step < 0 || !(ms > 0) {
			return false
		}
		l.step, l.seconds = *doc.Step, ms/1e3
		if v, ok := doc.Logs["global batch size"].(float64); ok {
			l.samples = v
		}
	default:
		return false
	}
	return true
}

// checkpoint reads the messages of trainers about saving.
func (l *logLine) checkpoint(text string) bool {
	for _, p := range [...]struct {
		word string
		is   telemetry.EventName
	}{
		{"successfully saved checkpoint from iteration", telemetry.EventCheckpointEnded},
		{"saving checkpoint at iteration", telemetry.EventCheckpointStarted},
		{"Finished saving the checkpoint", telemetry.EventCheckpointEnded},
		{"Saving the checkpoint (or staging", telemetry.EventCheckpointStarted},
		{"Saving a full checkpoint", telemetry.EventCheckpointStarted},
		{"Scheduled async checkpoint save", telemetry.EventCheckpointStarted},
		{"Async checkpoint save for step", telemetry.EventCheckpointEnded},
		{"Finalizing checkpoint save", telemetry.EventCheckpointEnded},
		{"Successfully saved checkpoint from iteration", telemetry.EventCheckpointEnded},
	} {
		if strings.Contains(text, p.word) {
			l.event = p.is
			return true
		}
	}
	for _, p := range [...]struct{ word, phase string }{
		{"successfully loaded checkpoint from ", phaseInit}, {"loading checkpoint from ", phaseInit}, {"Loading the checkpoint ", phaseInit},
		{"Evaluating on ", phaseEval}, {"validation loss at ", phaseTrain}, {"validate step:", phaseTrain},
	} {
		if strings.Contains(text, p.word) {
			l.event, l.eventText = eventPhase, p.phase
			return true
		}
	}
	return false
}

// eventPhase is the event of a change of phase: its text is what a job does from
// now on (docs/http.md).
const eventPhase telemetry.EventName = "phase"

// The phases of a job.
const (
	phaseTrain = "train"
	phaseEval  = "eval"
	phaseInit  = "init"
)
