package dial_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
)

func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 11, 21, 2, 47, 0, 0, time.UTC)
	f.Add("120")
	f.Add("-1")
	f.Add("99999999999999999999")
	f.Add(now.Add(time.Minute).Format(http.TimeFormat))
	f.Add("Sunday, 06-Nov-94 08:49:37 GMT")
	f.Fuzz(func(t *testing.T, value string) {
		if d, ok := dial.RetryAfter(value, now); d < 0 || !ok && d != 0 {
			t.Fatalf("%q: %v, %v", value, d, ok)
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
		got, ok := dial.RetryAfter(value, now)
		if known := want > 0 || value == "0" || strings.HasSuffix(value, "GMT"); got != want || ok != known {
			t.Errorf("%q: %v, %v, want %v, %v", value, got, ok, want, known)
		}
	}
}
