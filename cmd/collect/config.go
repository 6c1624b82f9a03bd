package collect

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/pipeline/config"
)

// Override replaces a setting of the configuration by that of a flag, if one is
// given.
func Override(into *string, value string) {
	if value != "" {
		*into = value
	}
}

// ReadConfig reads a configuration and warns of what is doubtful in it; without
// a path it returns the default.
func ReadConfig(sh *cli.Shell, path string) (*config.File, error) {
	if path == "" {
		return config.Default(), nil
	}
	file, problems := config.Read(path)
	var wrong []error
	for _, p := range problems {
		if p.Doubt {
			sh.Warn("%v", p)
			continue
		}
		wrong = append(wrong, p)
	}
	return file, errors.Join(wrong...)
}

// Logger returns a logger that writes what is at least of a level: debug, info,
// warn or error.
func Logger(sh *cli.Shell, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, err
	}
	return slog.New(slog.NewTextHandler(sh.Err, &slog.HandlerOptions{Level: l})), nil
}

// hostName names this machine in entities and subjects: up to the first dot.
func hostName() (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name of this host: %w (set nats.process in the configuration)", err)
	}
	name, _, _ = strings.Cut(name, ".")
	return name, nil
}
