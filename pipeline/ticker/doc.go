// Package ticker states the ticks that move a site's time.
//
// It owns when the next tick is due: by the monotonic clock, slewed gently,
// never far ahead of what the log has heard. Several tickers side by side state
// the same ticks.
package ticker
