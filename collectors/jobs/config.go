package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/settings"
)

// The types of an entry.
const (
	typeSlurm = "slurm"
	typeLog   = "log"
	typeFile  = "file"
	typeRAS   = "nccl_ras"
	typeKube  = "kubernetes"
	typeDumps = "nccl_inspector"
)

// Config is one entry of "collectors: jobs:".
type Config struct {
	// Type is the type of the source that is read.
	Type string `yaml:"type" oneof:"file kubernetes log nccl_inspector nccl_ras slurm"`
	// Name is the source's; the default is its host or its first path.
	Name string `yaml:"name" max:"120"`
	// Every is the time between two readings; the default is the type's own: 30 s of a
	// scheduler, 1 s of logs.
	Every time.Duration `yaml:"interval" was:"every" min:"100ms" max:"1h"`
	// Timeout is how long an answer may take.
	Timeout time.Duration `yaml:"timeout" default:"30s" min:"100ms" max:"10m"`
	// URL is where a scheduler answers: http, https, or unix:///path.
	URL string `yaml:"url"`
	// Version is slurmrestd's, such as v0.0.41; the default is the newest it has.
	Version string `yaml:"version"`
	// User is the Slurm user that the token is of.
	User string `yaml:"user" max:"120"`
	// Authorization is sent to a scheduler; its file holds a JWT of Slurm, or a token
	// of a service account.
	Authorization dial.Authorization `yaml:"authorization" was:"token_file=credentials_file"`
	// TLS is for https.
	TLS dial.TLS `yaml:"tls"`
	// Job names a job: a text in which {name} and {id} are replaced by the
	// scheduler's, or {file} by a log's name without its ending.
	Job string `yaml:"job" max:"120"`
	// Ranks defines whether places are numbered: "block" numbers a job's GPUs node
	// by node, "auto" does where there is a task for every GPU, "none" never.
	Ranks string `yaml:"ranks" oneof:"auto block none" default:"auto"`
	// CPUJobs also takes jobs without GPUs.
	CPUJobs bool `yaml:"cpu_jobs"`
	// MaxJobs is how many jobs are followed at once.
	MaxJobs int `yaml:"max_jobs" default:"16384" max:"131072"`
	// MaxBody is how long an answer may be in bytes. It is read as it comes and not
	// kept.
	MaxBody int `yaml:"max_body" default:"536870912" min:"1024" max:"2147483647"`
	// Paths are the files of logs; * matches anything but a slash.
	Paths []string `yaml:"paths"`
	// Address is where NCCL's RAS answers, such as 127.0.0.1:28028.
	Address string `yaml:"address"`
	// Hosts are the names of addresses: NCCL knows hosts by address.
	Hosts map[string]string `yaml:"hosts"`
	// Namespace is the only one that is read; the default is all.
	Namespace string `yaml:"namespace" max:"120"`
	// Zone is the time zone of a log's times, such as Europe/Berlin; the default is
	// this host's.
	Zone string `yaml:"zone"`
	// Devices is how many accelerators a log's job has: tokens are reported of one.
	Devices int `yaml:"devices" max:"1048576"`
	// Sequence is how many tokens a sample has: Megatron-LM reports samples only.
	Sequence int `yaml:"sequence" max:"1073741824"`
	// Peak is what a device can do, in TFLOP/s of the type trained in: it makes
	// throughput a utilisation.
	Peak int `yaml:"peak_tflops" max:"1048576"`
	// Whole reads a log from its beginning; without it, what was there before is
	// skipped.
	Whole bool `yaml:"whole"`

	set []string // keys that are set, for those that the type does not have
}

// DecodeConfig reads one entry of "collectors: jobs:". The error joins a
// *settings.Problem for everything that is wrong.
func DecodeConfig(n *yaml.Node) (Config, error) {
	c := Config{set: settings.Keys(n)}
	err := settings.Decode("jobs", n, &c)
	return c, err
}

func types() []string { return []string{typeFile, typeKube, typeLog, typeDumps, typeRAS, typeSlurm} }

// keysOf are the keys that a type has in addition to type, name and every.
func keysOf(kind string) string {
	switch kind {
	case typeSlurm:
		return "url timeout version user authorization tls job ranks cpu_jobs max_jobs max_body"
	case typeLog:
		return "paths zone devices sequence peak_tflops job whole max_jobs"
	case typeKube:
		return "url timeout authorization tls job cpu_jobs max_jobs max_body namespace"
	case typeFile, typeDumps:
		return "paths max_body"
	case typeRAS:
		return "address timeout job hosts max_body"
	}
	return ""
}

// needs is the key that a type cannot do without.
func needs(kind string) string {
	switch kind {
	case typeSlurm, typeKube:
		return "url"
	case typeRAS:
		return "address"
	}
	return "paths"
}

// Validate refuses keys of another type, and values that cannot be.
func (c Config) Validate() error {
	if c.Type == "" {
		return fmt.Errorf("type: required: one of %s", strings.Join(types(), ", "))
	}
	var wrong []error
	allowed := " type name interval " + keysOf(c.Type) + " "
	for _, key := range c.set {
		if !strings.Contains(allowed, " "+key+" ") {
			wrong = append(wrong, settings.Errorf(key, "not a key of type %s", c.Type))
		}
	}
	if !slices.Contains(c.set, needs(c.Type)) {
		wrong = append(wrong, fmt.Errorf("type %s: %s: required", c.Type, needs(c.Type)))
	}
	if c.Type == typeRAS && c.Job == "" {
		wrong = append(wrong, fmt.Errorf("type %s: job: required: NCCL does not know its name", c.Type))
	}
	if c.Job != "" && (c.Type == typeSlurm || c.Type == typeKube) && !strings.Contains(c.Job, "{name}") && !strings.Contains(c.Job, "{id}") {
		wrong = append(wrong, settings.Errorf("job", "want {name} or {id} in %.40q, or all jobs would be one", c.Job))
	}
	if _, err := time.LoadLocation(c.Zone); err != nil {
		wrong = append(wrong, settings.Errorf("zone", "%w", err))
	}
	if c.Version != "" && !slices.Contains(versions(), c.Version) {
		wrong = append(wrong, settings.Errorf("version", "want one of %s", strings.Join(versions(), ", ")))
	}
	if c.Address != "" {
		if _, _, err := net.SplitHostPort(c.Address); err != nil {
			wrong = append(wrong, &settings.KeyError{Key: "address", Err: err})
		}
	}
	return errors.Join(append(wrong, checkURL(c.URL))...)
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return &settings.KeyError{Key: "url", Err: err}
	case text == "", u.Scheme == "unix" && u.Path != "" && u.Host == "":
		return nil
	case u.User != nil:
		return settings.Errorf("url", "want no user in it: use user and authorization")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return settings.Errorf("url", "%.80q: want http:// or https:// and a host, or unix:///path", text)
	}
	return nil
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() Config {
	own := map[string]time.Duration{typeSlurm: 30 * time.Second, typeLog: time.Second, typeFile: time.Minute, typeRAS: 30 * time.Second,
		typeKube: 5 * time.Second, typeDumps: 30 * time.Second}
	c.Every = cmp.Or(c.Every, own[c.Type])
	settings.Default(&c)
	if c.Job == "" {
		c.Job = "{name}-{id}"
		switch c.Type {
		case typeLog:
			c.Job = "{file}"
		case typeKube:
			c.Job = "{namespace}.{name}"
		}
	}
	if c.Name == "" && c.URL != "" {
		if u, err := url.Parse(c.URL); err == nil {
			c.Name = cmp.Or(u.Host, u.Path)
		}
	}
	c.Name = cmp.Or(c.Name, c.Address)
	if c.Name == "" && len(c.Paths) > 0 {
		c.Name = c.Paths[0]
	}
	return c
}
