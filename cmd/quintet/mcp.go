package main

import (
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/pipeline/assist"
)

// mcpCommand passes a service's tools on to an assistant that starts programs.
type mcpCommand struct {
	URL  string `name:"url" default:"http://127.0.0.1:8420" placeholder:"URL" help:"The service. SSL_CERT_FILE in the environment names the certificate of one that this system does not trust."`
	User string `placeholder:"NAME:FILE" help:"Who asks, and the file with the password."`
}

// Run serves on standard input and output until the assistant disconnects.
func (c *mcpCommand) Run(sh *cli.Shell) error {
	client := &http.Client{Transport: identified{c.User, http.DefaultTransport}}
	if err := assist.Bridge(sh.Ctx, assist.Remote{URL: c.URL, Client: client, Version: correlate.Version}, &mcp.StdioTransport{}); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

// identified adds the user's credentials to each request.
type identified struct {
	user string // NAME:FILE, or empty
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (i identified) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if err := identify(r, i.user); err != nil {
		return nil, err
	}
	return i.next.RoundTrip(r)
}
