package cli

import "testing"

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{{"", "ab"}: 2, {"serve", "serve"}: 0, {"sevre", "serve"}: 1, {"kitten", "sitting"}: 3} {
		if got := distance(pair[0], pair[1]); got != want {
			t.Errorf("distance %q %q: %d, want %d", pair[0], pair[1], got, want)
		}
	}
}
