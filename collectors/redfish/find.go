package redfish

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/kind"
)

const (
	findTimeout = 3 * time.Second
	findAtOnce  = 64
)

// service is a service that was found: what its root states to everybody, and what its
// system is called.
type service struct {
	address  string
	version  string
	host     string
	systems  bool
	cooling  bool
	power    bool
	verified bool // its certificate
}

// find asks every place for the root of a Redfish service, which needs no account.
func find(ctx context.Context, where kind.Search) []kind.Found {
	var all sync.WaitGroup
	free := make(chan struct{}, findAtOnce)
	services := make([]*service, len(where.Places))
	for i, place := range where.Places {
		address, isURL := strings.CutPrefix(place, "https://")
		if strings.Contains(address, "/") || !isURL && strings.Contains(place, "://") {
			continue // a page of something else
		}
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			if s, err := ask(ctx, address, where); err == nil {
				if s.verified && where.Account.Any() {
					s.host = hostName(ctx, address, where)
				}
				services[i] = s
			}
		})
	}
	all.Wait()
	return append(entries(services, true, where), entries(services, false, where)...)
}

// ask reads the root of a service, with a certificate that is verified, and where that
// fails with any: the request has no secret in it.
func ask(ctx context.Context, address string, where kind.Search) (*service, error) {
	s, err := askOver(ctx, address, where.Guard, dial.TLS{CA: where.CA})
	var away *net.OpError
	if err == nil {
		s.verified = true
	} else if ctx.Err() == nil && !errors.As(err, &away) {
		s, err = askOver(ctx, address, where.Guard, dial.TLS{Unverified: true})
	}
	return s, err
}

func askOver(ctx context.Context, address string, g dial.Guard, t dial.TLS) (*service, error) {
	trusted, err := t.Config()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DialContext: g.DialContext, TLSClientConfig: trusted, MaxResponseHeaderBytes: maxHeader}
	defer transport.CloseIdleConnections()
	ctx, stop := context.WithTimeout(ctx, findTimeout)
	defer stop()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+root+"/", nil)
	if err != nil {
		return nil, err
	}
	a, err := (&http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect }}).Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	var doc struct {
		RedfishVersion                            string
		Systems, ThermalEquipment, PowerEquipment *struct{}
	}
	if err := json.NewDecoder(io.LimitReader(a.Body, maxBody)).Decode(&doc); err != nil || doc.RedfishVersion == "" {
		return nil, fmt.Errorf("%s: no Redfish service (%s): %w", address, a.Status, err)
	}
	return &service{address: address, version: doc.RedfishVersion, systems: doc.Systems != nil, cooling: doc.ThermalEquipment != nil, power: doc.PowerEquipment != nil}, nil
}

// hostName returns the name that the system of a service reports, "" if none.
func hostName(ctx context.Context, address string, where kind.Search) string {
	all, err := Entry{Targets: []Target{{Address: address}}, Entity: "node:{host}", Config: Config{BasicAuth: where.Account, TLS: dial.TLS{CA: where.CA}}}.configs()
	if err != nil {
		return ""
	}
	cfg, err := all[0].withDefaults()
	if err != nil {
		return ""
	}
	c, err := newClient(&cfg, where.Guard)
	if err != nil {
		return ""
	}
	defer c.logout()
	members, _ := c.get(ctx, root+"/Systems", "", findTimeout).doc["Members"].([]any)
	for _, m := range members {
		link, _ := m.(map[string]any)
		path, _ := link["@odata.id"].(string)
		if !strings.HasPrefix(path, root+"/") {
			continue
		}
		if name, _ := c.get(ctx, path, "", findTimeout).doc["HostName"].(string); name != "" {
			name, _, _ = strings.Cut(name, ".")
			return name
		}
	}
	return ""
}

// target is the service in the configuration. A host goes by the name that it reports;
// what other services are only their site knows: what equipment they have is assumed.
func (s *service) target() map[string]any {
	bare := s.address
	if host, _, err := net.SplitHostPort(bare); err == nil {
		bare = host
	}
	t := map[string]any{"address": s.address}
	switch {
	case s.host != "":
		t["entity"] = "node:" + s.host
	case s.systems:
		t["entity"] = "node:" + bare
	case s.cooling:
		t["entity"] = "cdu:" + bare
	case s.power:
		t["entity"] = "shelf:" + bare
	}
	return t
}

// entries returns an entry for the services whose certificate is verified, or for those
// where it is not.
func entries(services []*service, verified bool, where kind.Search) []kind.Found {
	var targets, names []any
	seen := map[any]bool{}
	for _, s := range services {
		if s == nil || s.verified != verified {
			continue
		}
		t := s.target()
		if e := t["entity"]; e != nil && seen[e] { // as many that were never named
			kind, _, _ := strings.Cut(e.(string), ":")
			t["entity"] = kind + ":" + s.address
		}
		seen[t["entity"]] = true
		targets, names = append(targets, t), append(names, fmt.Sprintf("%s (%s)", s.address, s.version))
	}
	if len(targets) == 0 {
		return nil
	}
	f := kind.Found{What: fmt.Sprintf("Redfish service %s", names[0]), Entry: map[string]any{"targets": targets}}
	if n := len(names); n > 1 {
		f.What = fmt.Sprintf("%s and %d more", f.What, n-1)
	}
	var lacks []string
	f.Entry["basic_auth"] = map[string]any{"username": cmp.Or(where.Account.Username, "quintet"), "password_file": cmp.Or(where.Account.PasswordFile, "/etc/quintet/redfish-password")}
	if !where.Account.Any() {
		lacks = append(lacks, "an account that may read (--user, --password-file)")
	}
	if !verified {
		lacks = append(lacks, "a certificate signed by an authority known here (--ca FILE)")
	}
	if where.CA != "" || !verified {
		f.Entry["tls"] = map[string]any{"ca_file": cmp.Or(where.CA, "/etc/quintet/redfish-ca.pem")}
	}
	f.Lacks = strings.Join(lacks, "; ")
	return []kind.Found{f}
}
