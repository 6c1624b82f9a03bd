package telemetry

import "testing"

func TestDomainsSurviveTheirText(t *testing.T) {
	for _, d := range append(Domains(), 0) {
		b, err := d.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got Domain
		if err := got.UnmarshalText(b); err != nil || got != d {
			t.Errorf("%d is written as %q and read as %d (%v)", d, b, got, err)
		}
	}
	var d Domain
	if err := d.UnmarshalText([]byte("weather")); err == nil {
		t.Error("an unknown domain was accepted")
	}
}
