package config

import (
	"errors"
	"time"

	"github.com/quintet-dc/quintet/settings"
)

// NATS is the log: an embedded server, or existing ones.
type NATS struct {
	// Embedded runs a server of our own, unless urls names others.
	Embedded bool `yaml:"embedded" default:"true"`
	// Listen is where our own server accepts collectors of other machines, always with
	// TLS; nowhere if empty.
	Listen string `yaml:"listen" format:"address" example:"0.0.0.0:4222"`
	// Names are further names and addresses of this machine, for the certificate of our
	// own server.
	Names []string `yaml:"names" example:"[log.hall-1]"`
	// URLs are existing servers, in place of our own.
	URLs []string `yaml:"urls" example:"['tls://log:4222']"`
	// TLS is how existing servers are verified, where the credentials do not have it.
	TLS NATSTLS `yaml:"tls" was:"ca=ca_file"`
	// CredentialsFile is the file that quintet enroll wrote.
	CredentialsFile string `yaml:"credentials_file" was:"credentials"`
	// Process names this process in subjects; the default is the host's name.
	Process string `yaml:"process"`
	// Retention is how long raw frames are kept.
	Retention time.Duration `yaml:"retention" was:"retain" default:"1h"`
	// RetentionBytes bounds them in bytes; the default is what the disk has room for, at
	// most 4 GiB.
	RetentionBytes settings.Bytes `yaml:"retention_bytes" was:"retain_bytes"`
	// Replicas is how many servers of a cluster keep each record.
	Replicas int `yaml:"replicas" was:"copies" default:"1" min:"1" max:"5"`
	// SyncInterval is how often our own server writes to the disk: what a power cut may
	// lose.
	SyncInterval time.Duration `yaml:"sync_interval" was:"sync" default:"1s"`
	// Outbox bounds the records that a process keeps while the log is unreachable.
	Outbox Outbox `yaml:"outbox"`
}

// NATSTLS is how existing servers are verified.
type NATSTLS struct {
	// CA is a file of certificates that the servers' certificates must be signed by.
	CA string `yaml:"ca_file"`
}

// Validate reports keys that exclude or require one another. Existing servers take the
// place of our own.
func (n *NATS) Validate() error {
	switch {
	case len(n.URLs) > 0 && n.Listen != "":
		return errors.New("urls and listen: mutually exclusive: an existing server has its own address")
	case len(n.URLs) == 0 && !n.Embedded:
		return errors.New("embedded is false: urls: required")
	}
	n.Embedded = len(n.URLs) == 0
	return nil
}
