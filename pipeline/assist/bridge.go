package assist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Remote is a service whose tools are passed on.
type Remote struct {
	URL     string       // of the service, without Path
	Client  *http.Client // nil: the default one
	Version string       // of this program
}

// Bridge passes the tools of a service on to a client connected by t: the standard
// streams, for assistants that start a program. It returns when the client
// disconnects or ctx is done.
func Bridge(ctx context.Context, r Remote, t mcp.Transport) error {
	b := &bridge{remote: r}
	defer b.close()
	far, err := b.session(ctx, nil)
	if err != nil {
		return err
	}
	initialized := far.InitializeResult()
	s := mcp.NewServer(&mcp.Implementation{Name: "quintet", Title: "Quintet", Version: r.Version},
		&mcp.ServerOptions{Instructions: initialized.Instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	for tool, err := range far.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("%s: %w", b.endpoint(), err)
		}
		s.AddTool(tool, b.call)
	}
	err = s.Run(ctx, t)
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil // the client has left
	}
	return err
}

// bridge holds the session with the service. A service that was started again
// is connected to again.
type bridge struct {
	remote Remote
	mu     sync.Mutex
	far    *mcp.ClientSession
}

func (b *bridge) endpoint() string { return strings.TrimSuffix(b.remote.URL, "/") + Path }

// session returns the session, a new one where there is none or it is the one
// that has failed.
func (b *bridge) session(ctx context.Context, failed *mcp.ClientSession) (*mcp.ClientSession, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.far != nil && b.far != failed {
		return b.far, nil
	}
	if b.far != nil {
		_ = b.far.Close() // it has failed already
		b.far = nil
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "quintet mcp", Version: b.remote.Version}, nil)
	far, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: b.endpoint(), HTTPClient: b.remote.Client, DisableStandaloneSSE: true, MaxRetries: -1}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.endpoint(), err)
	}
	b.far = far
	return far, nil
}

func (b *bridge) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.far != nil {
		_ = b.far.Close()
	}
}

// call passes a call on. The service's responses, errors included, are returned
// unchanged; if the service is unreachable, that is returned as the tool's error,
// so that the assistant can report it.
func (b *bridge) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var failed *mcp.ClientSession
	var last error
	for range 2 {
		far, err := b.session(ctx, failed)
		if err != nil {
			last = err
			break
		}
		arguments := req.Params.Arguments
		if len(arguments) == 0 {
			arguments = json.RawMessage("{}")
		}
		got, err := far.CallTool(ctx, &mcp.CallToolParams{Name: req.Params.Name, Arguments: arguments})
		if err == nil {
			return got, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		failed, last = far, err
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "the service does not answer: " + last.Error()}}}, nil
}
