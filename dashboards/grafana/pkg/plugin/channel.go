package plugin

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/live"

	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/frames"
)

// streamed is the first part of the only paths that are streamed. What follows
// is the filter: incidents/severity=critical.warning/job=dHJhaW4. The alphabet
// of a path is small, so free texts are in URL-safe base64.
const streamed = "incidents"

// path writes a filter as the path of a channel.
func path(f frames.Filter) string {
	parts := []string{streamed}
	add := func(key string, values ...string) {
		if len(values) > 0 && values[0] != "" {
			parts = append(parts, key+"="+strings.Join(values, "."))
		}
	}
	add("severity", f.Severities...)
	add("domain", f.Domains...)
	add("kind", f.Kinds...)
	add("fault", f.Signature)
	add("entity", base64.RawURLEncoding.EncodeToString([]byte(f.Entity)))
	add("job", base64.RawURLEncoding.EncodeToString([]byte(f.Job)))
	return strings.Join(parts, "/")
}

// filter reads a path. It refuses what path does not write.
func filter(channelPath string) (frames.Filter, bool) {
	var f frames.Filter
	head, rest, more := strings.Cut(channelPath, "/")
	if head != streamed {
		return f, false
	}
	for more {
		var part string
		part, rest, more = strings.Cut(rest, "/")
		key, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return f, false
		}
		switch key {
		case "severity":
			f.Severities = strings.Split(value, ".")
		case "domain":
			f.Domains = strings.Split(value, ".")
		case "kind":
			f.Kinds = strings.Split(value, ".")
		case "fault":
			f.Signature = value
		case "entity", "job":
			b, err := base64.RawURLEncoding.DecodeString(value)
			if err != nil {
				return f, false
			}
			if key == "job" {
				f.Job = string(b)
			} else {
				f.Entity = string(b)
			}
		default:
			return f, false
		}
	}
	return f, path(f) == channelPath
}

// channel is where Grafana Live finds the stream of a filter.
func (d *Datasource) channel(f frames.Filter) (string, error) {
	c := live.Channel{Scope: live.ScopeDatasource, Namespace: d.uid, Path: path(f)}
	if id := c.String(); len(id) <= 160 && c.IsValid() {
		return id, nil
	}
	return "", &badQuery{"live", fmt.Sprintf("the filter does not fit into a channel of Grafana Live (%s): filter by less, or do not stream", c.String())}
}
