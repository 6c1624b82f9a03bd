package collect

import (
	"fmt"
	"os"
	"strings"

	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/role"
)

// enrolled returns the role that the credentials of a process were written for: ""
// without credentials, or with a file that quintet enroll did not write.
func enrolled(file *config.File) (role.Role, error) {
	if file.NATS.Embedded || file.NATS.CredentialsFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(file.NATS.CredentialsFile)
	if err != nil {
		return "", fmt.Errorf("nats: %w", err)
	}
	r, err := role.Enrolled(b)
	if err != nil {
		return "", fmt.Errorf("nats: %s: %w", file.NATS.CredentialsFile, err)
	}
	return r, nil
}

// ProcessName returns a process's name in subjects: the one in the configuration,
// or the one that its credentials are for, or the host's.
func ProcessName(file *config.File) (string, error) {
	has, err := enrolled(file)
	if err != nil {
		return "", err
	}
	configured := file.NATS.Process
	name, ok := has.Name()
	switch {
	case ok && configured != "" && configured != name:
		return "", fmt.Errorf("nats: process %q: %s was enrolled for %q, and may not publish as another process", configured, file.NATS.CredentialsFile, name)
	case ok:
		return name, nil
	case configured != "":
		return configured, nil
	}
	return hostName()
}

// EnrolledFor returns an error if credentials lack a role that the process takes,
// before the log refuses one operation after the other.
func EnrolledFor(file *config.File, roles []string) error {
	has, err := enrolled(file)
	if err != nil || has == "" {
		return err
	}
	for _, r := range roles {
		_, named := has.Name()
		if !has.Allows(role.Role(r)) && !(r == collecting && named) {
			return fmt.Errorf("nats: %s was enrolled as %s, which does not allow role %s: enroll this process with --role %s", file.NATS.CredentialsFile, has, r, strings.Join(roles, ","))
		}
	}
	return nil
}
