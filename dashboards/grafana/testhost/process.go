package main

import (
	"fmt"
	"io"
	"os/exec"

	"github.com/grafana/grafana-plugin-sdk-go/backend/grpcplugin"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
)

// process is the back end, running.
type process struct {
	client      *goplugin.Client
	data        grpcplugin.DataClient
	diagnostics grpcplugin.DiagnosticsClient
	resource    grpcplugin.ResourceClient
	stream      grpcplugin.StreamClient
}

// start runs the back end's program and shakes hands with it. What it logs goes
// to log.
func start(program string, log io.Writer) (*process, error) {
	client := goplugin.NewClient(&goplugin.ClientConfig{
		Cmd: exec.Command(program),
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion:  grpcplugin.ProtocolVersion,
			MagicCookieKey:   grpcplugin.MagicCookieKey,
			MagicCookieValue: grpcplugin.MagicCookieValue,
		},
		VersionedPlugins: map[int]goplugin.PluginSet{grpcplugin.ProtocolVersion: {
			"data":        &grpcplugin.DataGRPCPlugin{},
			"diagnostics": &grpcplugin.DiagnosticsGRPCPlugin{},
			"resource":    &grpcplugin.ResourceGRPCPlugin{},
			"stream":      &grpcplugin.StreamGRPCPlugin{},
		}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger:           hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Warn}),
	})
	p := &process{client: client}
	if err := p.dispense(); err != nil {
		client.Kill()
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return p, nil
}

func (p *process) dispense() error {
	rpc, err := p.client.Client()
	if err != nil {
		return err
	}
	for name, take := range map[string]func(any) bool{
		"data":        func(c any) (ok bool) { p.data, ok = c.(grpcplugin.DataClient); return },
		"diagnostics": func(c any) (ok bool) { p.diagnostics, ok = c.(grpcplugin.DiagnosticsClient); return },
		"resource":    func(c any) (ok bool) { p.resource, ok = c.(grpcplugin.ResourceClient); return },
		"stream":      func(c any) (ok bool) { p.stream, ok = c.(grpcplugin.StreamClient); return },
	} {
		c, err := rpc.Dispense(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !take(c) {
			return fmt.Errorf("%s: it is served by a %T", name, c)
		}
	}
	return nil
}

func (p *process) stop() { p.client.Kill() }
