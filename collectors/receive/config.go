package receive

import (
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

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
		entry.Key{Name: "otlp_grpc", Read: func(v *yaml.Node) { c.OTLP = decodeListener(r, v, "otlp_grpc") }},
		entry.Key{Name: "http", Read: func(v *yaml.Node) { c.HTTP = decodeListener(r, v, "http") }},
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
