package broker

import (
	"fmt"
	"log/slog"
)

// serverLog passes on what the server says. Its notices are of no interest to
// whoever runs a site, so they are debugging.
type serverLog struct {
	to    *slog.Logger
	fatal chan error // takes the first complaint that ends a start
}

func (l serverLog) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Tracef(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Warnf(format string, v ...any)   { l.to.Warn(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any)  { l.to.Error(fmt.Sprintf(format, v...)) }

func (l serverLog) Fatalf(format string, v ...any) {
	err := fmt.Errorf(format, v...)
	l.to.Error(err.Error())
	select {
	case l.fatal <- err:
	default:
	}
}
