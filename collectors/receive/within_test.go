package receive

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// TestWithinKeepsListenersInTheManagementNetwork: what is received is received there.
func TestWithinKeepsListenersInTheManagementNetwork(t *testing.T) {
	guard := dial.Guard{Prefixes: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16")}}
	for listen, want := range map[string]string{
		"": "", "127.0.0.1:4317": "", "10.20.1.1:4317": "", "collector.example:4317": "",
		"10.21.1.1:4317": "http: listen: 10.21.1.1:4317: 10.21.1.1 is in none of the management prefixes",
		"0.0.0.0:4317":   "is on every interface", "[::]:4317": "is on every interface", ":4317": "is on every interface",
	} {
		err := Config{HTTP: Listener{Listen: listen}}.Within(guard)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", listen, err)
		}
		if err := (Config{OTLP: Listener{Listen: listen}}).Within(dial.Guard{}); err != nil {
			t.Errorf("%s without prefixes: %v", listen, err)
		}
	}
}
