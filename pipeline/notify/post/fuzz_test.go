package post

import (
	"net/http"
	"testing"
	"time"
)

func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 11, 21, 2, 47, 0, 0, time.UTC)
	f.Add("120")
	f.Add("-1")
	f.Add("99999999999999999999")
	f.Add(now.Add(time.Minute).Format(http.TimeFormat))
	f.Add("Sunday, 06-Nov-94 08:49:37 GMT")
	f.Fuzz(func(t *testing.T, value string) {
		if d := retryAfter(value, now); d < 0 {
			t.Fatalf("%q: %v", value, d)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 2, 47, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":        0,
		"7":       7 * time.Second,
		" 7 ":     7 * time.Second,
		"0":       0,
		"-7":      0,
		"7.5":     0,
		"soon":    0,
		"1e3":     0,
		"9999999": 9999999 * time.Second,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
