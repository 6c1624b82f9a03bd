package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"net"

	"github.com/quintet-dc/quintet/pipeline/agent"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
	"github.com/quintet-dc/quintet/pipeline/serve"
)

// Check returns everything for which Run would refuse a configuration before it opens
// anything: receivers, secrets and certificates, users, addresses. listener is one that
// takes the place of the configured address, or nil.
func Check(file *config.File, roles Roles, listener net.Listener) (wrong []error) {
	add := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	s := &service{c: Config{File: file}}
	for _, r := range file.Notify.Receivers {
		n, err := s.receiver(r)
		if err == nil {
			err = n.Validate()
		}
		add(err)
	}
	if roles[Web] {
		add(s.access(listener).Check())
	}
	if file.NATS.Embedded && roles[Store] {
		add(broker.Config{Dir: cmp.Or(file.Data, "."), Site: file.Site.Name, Listen: file.NATS.Listen, Names: file.NATS.Names}.Validate())
	}
	if !file.NATS.Embedded && file.NATS.CredentialsFile != "" {
		content, err := agent.Credentials(file.NATS)
		if err == nil {
			err = bus.CheckCredentials(content)
		}
		if err != nil {
			err = fmt.Errorf("nats: credentials_file: %w", err)
		}
		add(err)
	}
	if roles[Store] && !file.Store.Off {
		for _, t := range forwarded(file.Store) {
			if err := errors.Join(t.Validate(), kind.Allowed(file.Egress.Guard(), t.URL)); err != nil {
				add(fmt.Errorf("store: remote_write: %s: %w", t.URL, err))
			}
		}
	}
	return wrong
}

// access returns the part of the server's configuration that lists its users.
func (s *service) access(listener net.Listener) serve.Config {
	web := s.c.File.Web
	users := web.Access()
	users.OIDC.Dial, users.Logger = s.c.File.Egress.Guard().DialContext, s.c.Logger
	return serve.Config{Listen: s.c.File.Listen, Listener: listener, CertFile: web.TLS.Cert, KeyFile: web.TLS.Key, ClientCAFile: web.TLS.ClientCA, Hosts: web.Hosts, Access: users}
}
