package broker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// serverLog passes on the server's log. Its notices are of no interest to
// operators, so they are logged at level debug. Lines that a client can cause at
// will (a refused publish is a line) are rate-limited.
type serverLog struct {
	to    *slog.Logger
	fatal chan error // takes the first complaint that ends a start
	limit *limit
}

func newServerLog(to *slog.Logger) serverLog {
	return serverLog{to: to, fatal: make(chan error, 1), limit: &limit{}}
}

func (l serverLog) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Tracef(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Warnf(format string, v ...any)   { l.write(slog.LevelWarn, format, v) }
func (l serverLog) Errorf(format string, v ...any)  { l.write(slog.LevelError, format, v) }

func (l serverLog) Fatalf(format string, v ...any) {
	err := fmt.Errorf(format, v...)
	l.to.Error(err.Error())
	select {
	case l.fatal <- err:
	default:
	}
}

func (l serverLog) write(level slog.Level, format string, v []any) {
	ok, dropped := l.limit.take(time.Now())
	if dropped > 0 {
		l.to.Warn("server log lines suppressed", "lines", dropped)
	}
	if ok {
		l.to.Log(context.Background(), level, fmt.Sprintf(format, v...))
	}
}

// limit lets through so many lines in a while and counts the others.
type limit struct {
	mu      sync.Mutex
	begin   time.Time
	lines   int
	dropped int
}

const (
	limitLines = 20
	limitWhile = 10 * time.Second
)

// take reports whether a line may pass, and how many did not in the while that
// has just ended.
func (l *limit) take(now time.Time) (ok bool, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.begin) >= limitWhile {
		dropped = l.dropped
		l.begin, l.lines, l.dropped = now, 0, 0
	}
	if l.lines++; l.lines > limitLines {
		l.dropped++
		return false, dropped
	}
	return true, dropped
}
