package receive

import (
	"errors"
	"net"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// OTLP says where OTLP over gRPC is received; without Listen it is not.
type OTLP struct {
	// Listen is host:port. Off loopback it needs TLS with our certificate, and
	// either a CA of the senders' certificates or a token.
	Listen string
	TLS    dial.TLS
	// TokenFile holds what senders show as "authorization: Bearer …"; it is read
	// anew for every request.
	TokenFile string
}

// DecodeConfig reads one entry of "collectors: receive:", of which a process has
// one at most. The error joins an *entry.Fault for everything that is wrong.
func DecodeConfig(n *yaml.Node) (Config, error) {
	r := entry.NewReader("receive")
	var c Config
	var names, files []string
	texts := func(to *[]string, key string) entry.Key {
		return entry.Key{Name: key, Read: func(v *yaml.Node) {
			r.List(v, key, func(x *yaml.Node) { *to = append(*to, r.Text(x, key)) })
		}}
	}
	r.Entry(n,
		texts(&names, "mappings"), texts(&files, "files"),
		entry.Key{Name: "max_body", Read: func(v *yaml.Node) { c.MaxBody = int64(r.Whole(v, "max_body", 1<<10, 64<<20)) }},
		entry.Key{Name: "max_series", Read: func(v *yaml.Node) { c.MaxSeries = r.Whole(v, "max_series", 1, 1<<20) }},
		entry.Key{Name: "max_foreign", Read: func(v *yaml.Node) { c.MaxForeign = r.Whole(v, "max_foreign", 1, 8192) }},
		entry.Key{Name: "otlp_grpc", Read: func(v *yaml.Node) { c.OTLP = decodeOTLP(r, v) }},
	)
	if err := r.Err(); err != nil {
		return Config{}, err
	}
	var err error
	if c.Mapper, err = mapping.Read(files, names); err != nil && n != nil {
		r.Fail(n, "%v", err)
	}
	return c, errors.Join(r.Err())
}

func decodeOTLP(r *entry.Reader, n *yaml.Node) OTLP {
	var o OTLP
	r.Entry(n,
		entry.Key{Name: "listen", Read: func(v *yaml.Node) { o.Listen = r.Text(v, "otlp_grpc: listen") }},
		entry.Key{Name: "tls", Read: func(v *yaml.Node) { o.TLS = dial.DecodeTLS(r, v) }},
		entry.Key{Name: "token_file", Read: func(v *yaml.Node) { o.TokenFile = r.Text(v, "otlp_grpc: token_file") }},
	)
	if err := o.validate(); err != nil {
		r.Fail(n, "otlp_grpc: %v", err)
	}
	return o
}

// Errors of where OTLP over gRPC is received.
var (
	errListen  = errors.New("listen: want an address such as 127.0.0.1:4317")
	errOpen    = errors.New("listen: off loopback it wants tls with cert and key, and a ca of the senders' certificates or a token_file")
	errServer  = errors.New("tls: server_name and unverified are for who dials")
	errInClear = errors.New("token_file: a token goes over tls alone")
)

func (o OTLP) validate() error {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil || port == "" {
		return errListen
	}
	a, err := netip.ParseAddr(host)
	loopback := host == "localhost" || err == nil && a.IsLoopback()
	switch {
	case o.TLS.ServerName != "" || o.TLS.Unverified:
		return errServer
	case o.TLS.Cert == "" && (o.TokenFile != "" || o.TLS.CA != ""):
		return errInClear
	case !loopback && (o.TLS.Cert == "" || o.TLS.CA == "" && o.TokenFile == ""):
		return errOpen
	}
	return nil
}
