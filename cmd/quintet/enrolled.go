package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/config"
)

// enrolled is what the credentials of a process were written for: nothing where
// there are none, or others than those of quintet enroll.
func enrolled(file *config.File) (broker.Role, error) {
	if file.NATS.Embedded || file.NATS.Credentials == "" {
		return "", nil
	}
	b, err := os.ReadFile(file.NATS.Credentials)
	if err != nil {
		return "", fmt.Errorf("nats: %w", err)
	}
	role, err := broker.Enrolled(b)
	if err != nil {
		return "", fmt.Errorf("nats: %s: %w", file.NATS.Credentials, err)
	}
	return role, nil
}

// processName is a process's name in subjects: what the configuration says, or
// what its credentials are for, or the host's.
func processName(file *config.File) (string, error) {
	role, err := enrolled(file)
	if err != nil {
		return "", err
	}
	said := file.NATS.Process
	name, ok := role.Name()
	switch {
	case ok && said != "" && said != name:
		return "", fmt.Errorf("nats: process %q: %s was enrolled for %q, and may not publish as another process", said, file.NATS.Credentials, name)
	case ok:
		return name, nil
	case said != "":
		return said, nil
	}
	return hostName()
}

// enrolledFor says what credentials lack for the roles of a process, before the
// log refuses one thing after the other.
func enrolledFor(file *config.File, roles pipeline.Roles) error {
	role, err := enrolled(file)
	if err != nil || role == "" {
		return err
	}
	for _, r := range slices.Sorted(maps.Keys(roles)) {
		_, named := role.Name()
		if allowed := role.Allows(broker.Role(r)) || r == pipeline.Collect && named; !allowed {
			return fmt.Errorf("nats: %s was enrolled as %s, which does not allow role %s: enroll this process with --role %s", file.NATS.Credentials, role, r, roles)
		}
	}
	return nil
}
