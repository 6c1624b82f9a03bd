package assist_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/assist"
)

// A service that becomes unreachable is reported as a tool's error; when it is back
// the next call reaches it.
func TestBridgeOutlivesTheService(t *testing.T) {
	address := wiretest.FreeAddress(t)
	serve := func() (stop func()) {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.Handle(assist.Path, assist.Handler(assist.Config{API: large{}}))
		s := &http.Server{Handler: mux}
		done := make(chan error, 1)
		go func() { done <- s.Serve(l) }()
		return func() {
			s.Close()
			<-done
		}
	}
	stop := serve()
	near, far := mcp.NewInMemoryTransports()
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- assist.Bridge(ctx, assist.Remote{URL: "http://" + address + "/", Version: "test"}, far)
	}()
	c := connect(t, near)
	if got := c.call("list_incidents", `{"limit":1}`); got.fault != "" || got.say("incidents", 0, "id") == "" {
		t.Fatalf("through the bridge: %s %v", got.fault, got.Data)
	}
	stop()
	if got := c.call("list_incidents", `{}`); !strings.Contains(got.fault, "does not answer") {
		t.Errorf("without a service: %q", got.fault)
	}
	stop = serve()
	defer stop()
	if got := c.call("list_incidents", `{"limit":1}`); got.fault != "" {
		t.Errorf("when it is there again: %q", got.fault)
	}
	leave()
	if err := <-ended; err != nil {
		t.Errorf("the client left: %v", err)
	}
}
