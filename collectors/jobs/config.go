package jobs

import (
	"cmp"
	"net"
	"net/url"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/entry"
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

// Bounds of a configuration.
const (
	maxLabel       = 120
	defaultTimeout = 30 * time.Second
	defaultJobs    = 1 << 14
	defaultBody    = 512 << 20
)

// Config is one entry of "collectors: jobs:".
type Config struct {
	// Type says what is read: slurm, kubernetes, log, file, nccl_ras or
	// nccl_inspector.
	Type string
	// Name is the source's; "" is its host or its first path.
	Name string
	// Every is the time between two readings; zero is the type's own: 30 s of a
	// scheduler, 1 s of logs.
	Every time.Duration
	// Timeout is how long an answer may take; zero means 30 s.
	Timeout time.Duration
	// URL is where a scheduler answers: http, https, or unix:///path.
	URL string
	// Version is slurmrestd's, such as v0.0.41; "" asks for the newest it has.
	Version string
	// User and TokenFile are shown to a scheduler; the file, a JWT, is read anew
	// for every reading.
	User, TokenFile string
	// TLS is for https.
	TLS dial.TLS
	// Job names a job: a text in which {name} and {id} stand for the
	// scheduler's, or {file} for a log's name without its ending.
	Job string
	// Ranks says whether places are numbered: "block" numbers a job's GPUs node
	// by node, "auto" does where there is a task for every GPU, "none" never.
	Ranks string
	// CPUJobs also takes jobs without GPUs.
	CPUJobs bool
	// MaxJobs is how many jobs are followed at once; zero means 16,384.
	MaxJobs int
	// MaxBody is how long an answer may be in bytes; zero means 512 MiB. It is
	// read as it comes and not kept.
	MaxBody int
	// Paths are the files of logs; a * stands for anything but a slash.
	Paths []string
	// Address is where NCCL's RAS answers, such as 127.0.0.1:28028.
	Address string
	// Hosts are the names of addresses: NCCL knows hosts by address.
	Hosts map[string]string
	// Namespace is the only one that is read; "" is all.
	Namespace string
	// Zone is where a log's times are of, such as Europe/Berlin; "" is the zone
	// of this host.
	Zone string
	// Devices is how many accelerators a log's job has: tokens are told of one.
	Devices int
	// Sequence is how many tokens a sample has: Megatron-LM tells samples only.
	Sequence int
	// Peak is what a device can do, in FLOP/s of the type trained in: it makes
	// throughput a utilisation.
	Peak float64
	// Whole reads a log from its beginning; without it, what was there before is
	// passed over.
	Whole bool
}

// DecodeConfig reads one entry of "collectors: jobs:". The error joins an
// *entry.Fault for everything that is wrong.
func DecodeConfig(n *yaml.Node) (Config, error) {
	r := entry.NewReader("jobs")
	var c Config
	given := map[string]*yaml.Node{}
	key := func(name string, read func(*yaml.Node)) entry.Key {
		return entry.Key{Name: name, Read: func(v *yaml.Node) { given[name] = v; read(v) }}
	}
	r.Entry(n,
		key("type", func(v *yaml.Node) { c.Type = r.OneOf(v, "type", types()...) }),
		key("name", func(v *yaml.Node) { c.Name = r.Name(v, "name", maxLabel) }),
		key("every", func(v *yaml.Node) {
			c.Every = r.Duration(v, "every", entry.Span{Least: 100 * time.Millisecond, Most: time.Hour})
		}),
		key("timeout", func(v *yaml.Node) {
			c.Timeout = r.Duration(v, "timeout", entry.Span{Least: 100 * time.Millisecond, Most: 10 * time.Minute})
		}),
		key("url", func(v *yaml.Node) { c.URL = r.Text(v, "url"); checkURL(r, v) }),
		key("version", func(v *yaml.Node) { c.Version = r.OneOf(v, "version", versions()...) }),
		key("user", func(v *yaml.Node) { c.User = r.Name(v, "user", maxLabel) }),
		key("token_file", func(v *yaml.Node) { c.TokenFile = r.Text(v, "token_file") }),
		key("tls", func(v *yaml.Node) { c.TLS = dial.DecodeTLS(r, v) }),
		key("job", func(v *yaml.Node) { c.Job = r.Name(v, "job", maxLabel) }),
		key("ranks", func(v *yaml.Node) { c.Ranks = r.OneOf(v, "ranks", "auto", "block", "none") }),
		key("cpu_jobs", func(v *yaml.Node) { c.CPUJobs = r.Flag(v, "cpu_jobs") }),
		key("max_jobs", func(v *yaml.Node) { c.MaxJobs = r.Whole(v, "max_jobs", 1, 1<<17) }),
		key("max_body", func(v *yaml.Node) { c.MaxBody = r.Whole(v, "max_body", 1<<10, 1<<31-1) }),
		key("address", func(v *yaml.Node) { c.Address = r.Text(v, "address"); checkAddress(r, v) }),
		key("hosts", func(v *yaml.Node) { c.Hosts = decodeHosts(r, v) }),
		key("namespace", func(v *yaml.Node) { c.Namespace = r.Name(v, "namespace", maxLabel) }),
		key("paths", func(v *yaml.Node) {
			r.List(v, "paths", func(x *yaml.Node) { c.Paths = append(c.Paths, r.Text(x, "paths")) })
		}),
		key("zone", func(v *yaml.Node) {
			c.Zone = r.Text(v, "zone")
			if _, err := time.LoadLocation(c.Zone); err != nil {
				r.Fail(v, "zone: %v", err)
			}
		}),
		key("devices", func(v *yaml.Node) { c.Devices = r.Whole(v, "devices", 1, 1<<20) }),
		key("sequence", func(v *yaml.Node) { c.Sequence = r.Whole(v, "sequence", 1, 1<<30) }),
		key("peak_tflops", func(v *yaml.Node) { c.Peak = float64(r.Whole(v, "peak_tflops", 1, 1<<20)) * 1e12 }),
		key("whole", func(v *yaml.Node) { c.Whole = r.Flag(v, "whole") }),
	)
	if err := r.Err(); err != nil {
		return Config{}, err
	}
	c.fits(r, n, given)
	if err := r.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

func types() []string { return []string{typeFile, typeKube, typeLog, typeDumps, typeRAS, typeSlurm} }

// keysOf are the keys that a type has beside type, name and every.
func keysOf(kind string) string {
	switch kind {
	case typeSlurm:
		return "url timeout version user token_file tls job ranks cpu_jobs max_jobs max_body"
	case typeLog:
		return "paths zone devices sequence peak_tflops job whole max_jobs"
	case typeKube:
		return "url timeout token_file tls job cpu_jobs max_jobs max_body namespace"
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

// fits refuses keys of another type.
func (c *Config) fits(r *entry.Reader, n *yaml.Node, given map[string]*yaml.Node) {
	if c.Type == "" {
		if n == nil {
			n = &yaml.Node{}
		}
		r.Fail(n, "want a type: one of %s", strings.Join(types(), ", "))
		return
	}
	allowed := " type name every " + keysOf(c.Type) + " "
	for name, v := range given { // order-independent: faults are told by place
		if !strings.Contains(allowed, " "+name+" ") {
			r.Fail(v, "%s: not a key of type %s", name, c.Type)
		}
	}
	if given[needs(c.Type)] == nil {
		r.Fail(n, "type %s: want %s", c.Type, needs(c.Type))
	}
	if c.Type == typeRAS && c.Job == "" {
		r.Fail(n, "type %s: want job: NCCL does not know its name", c.Type)
	}
	if v := given["job"]; v != nil && (c.Type == typeSlurm || c.Type == typeKube) && !strings.Contains(c.Job, "{name}") && !strings.Contains(c.Job, "{id}") {
		r.Fail(v, "job: want {name} or {id} in %.40q, or all jobs would be one", c.Job)
	}
}

// decodeHosts reads addresses and the names of their hosts.
func decodeHosts(r *entry.Reader, n *yaml.Node) map[string]string {
	if n.Kind != yaml.MappingNode {
		r.Fail(n, "hosts: want addresses and names, found %s", entry.KindOf(n))
		return nil
	}
	out := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		out[n.Content[i].Value] = r.Name(n.Content[i+1], "hosts", maxLabel)
	}
	return out
}

func checkAddress(r *entry.Reader, n *yaml.Node) {
	if _, _, err := net.SplitHostPort(n.Value); err != nil {
		r.Fail(n, "address: %v", err)
	}
}

func checkURL(r *entry.Reader, n *yaml.Node) {
	u, err := url.Parse(n.Value)
	switch {
	case err != nil:
		r.Fail(n, "url: %v", err)
	case u.User != nil:
		r.Fail(n, "url: want no user in it: user and token_file are for that")
	case u.Scheme == "unix" && u.Path != "" && u.Host == "":
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		r.Fail(n, "url: %.80q: want http:// or https:// and a host, or unix:///path", n.Value)
	}
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() Config {
	own := map[string]time.Duration{typeSlurm: 30 * time.Second, typeLog: time.Second, typeFile: time.Minute, typeRAS: 30 * time.Second,
		typeKube: 5 * time.Second, typeDumps: 30 * time.Second}
	c.Every = cmp.Or(c.Every, own[c.Type])
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.MaxJobs = cmp.Or(c.MaxJobs, defaultJobs)
	c.MaxBody = cmp.Or(c.MaxBody, defaultBody)
	c.Ranks = cmp.Or(c.Ranks, "auto")
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
	if c.Name == "" {
		c.Name = c.Address
	}
	if c.Name == "" && len(c.Paths) > 0 {
		c.Name = c.Paths[0]
	}
	return c
}
