package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quintet-dc/quintet/cmd/cli"
)

// An assistant that starts quintet mcp gets the very tools of the service, and
// the service's answers.
func TestMCPOverStandardStreams(t *testing.T) {
	s := startReplay(t, "--speed", "max")
	s.seek("1970-01-01T00:06:00Z")
	quintet, err := exec.LookPath("quintet") // testscript's
	if err != nil {
		t.Fatal(err)
	}
	ask := func(over mcp.Transport) (tools, answer string) {
		t.Helper()
		c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), over, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_incidents", Arguments: map[string]any{"state": "all"}})
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(list.Tools)
		b, _ := json.Marshal(got.StructuredContent)
		return string(a), string(b)
	}
	cmd := exec.CommandContext(t.Context(), quintet, "mcp", "--url", s.url)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	tools, answer := ask(&mcp.CommandTransport{Command: cmd})
	wantTools, want := ask(&mcp.StreamableClientTransport{Endpoint: s.url + "/mcp"})
	if tools != wantTools {
		t.Errorf("tools over the streams\n%.500s\nover HTTP\n%.500s", tools, wantTools)
	}
	if answer != want || !strings.Contains(answer, "nic:h9/nic0") {
		t.Errorf("the answer over the streams\n%.500s\nover HTTP\n%.500s", answer, want)
	}
	if stderr.Len() > 0 {
		t.Errorf("it says besides: %s", stderr.String())
	}
}

// Where there is no service it returns an error and ends: an assistant shows that.
func TestMCPWithoutAService(t *testing.T) {
	var said strings.Builder
	if code := app().Run(&cli.Shell{Ctx: t.Context(), Out: &said, Err: &said}, []string{"mcp", "--url", "http://127.0.0.1:1"}); code != cli.Wrong || !strings.Contains(said.String(), "127.0.0.1:1/mcp") {
		t.Errorf("exit code %d: %s", code, &said)
	}
}
