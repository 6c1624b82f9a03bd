package broker

import (
	"fmt"
	"log/slog"
)

// serverLog passes on what the server says. Its notices are of no interest to
// whoever runs a site, so they are debugging.
type serverLog struct{ to *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Tracef(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Warnf(format string, v ...any)   { l.to.Warn(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any)  { l.to.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Fatalf(format string, v ...any)  { l.to.Error(fmt.Sprintf(format, v...)) }
