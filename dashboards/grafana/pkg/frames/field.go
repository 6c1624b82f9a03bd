package frames

import (
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// Units as Grafana names them.
const (
	unitSeconds = "s"
	unitShare   = "percentunit"
	unitPercent = "percent"
)

// domains returns the five domains, in the order in which Quintet lists them.
func domains() []string { return []string{"software", "computing", "network", "power", "cooling"} }

// colour is that of a domain on Quintet's own page, light enough for dark themes
// too; they differ for the colour-blind.
func colour(domain string) string {
	switch domain {
	case "software":
		return "#c76aa0"
	case "computing":
		return "#5b86e5"
	case "network":
		return "#1fa37e"
	case "power":
		return "#d08a1e"
	case "cooling":
		return "#3fa0cf"
	}
	return "#8a9099"
}

// column is one field of a table, filled row by row.
type column struct{ *data.Field }

// text, number and so on make a field of n rows. What is not known is null.
func text(name string, n int) column {
	return column{data.NewField(name, nil, make([]string, n))}
}

func optionalText(name string, n int) column {
	return column{data.NewField(name, nil, make([]*string, n))}
}

func moment(name string, n int) column {
	return column{data.NewField(name, nil, make([]time.Time, n))}
}

func optionalMoment(name string, n int) column {
	return column{data.NewField(name, nil, make([]*time.Time, n))}
}

func number(name string, n int) column {
	return column{data.NewField(name, nil, make([]*float64, n))}
}

func exact(name string, n int) column {
	return column{data.NewField(name, nil, make([]float64, n))}
}

func count(name string, n int) column {
	return column{data.NewField(name, nil, make([]int64, n))}
}

// config gives the field's own configuration, to be filled in.
func (c column) config() *data.FieldConfig {
	if c.Config == nil {
		c.Config = &data.FieldConfig{}
	}
	return c.Config
}

func (c column) unit(u string) column { c.config().Unit = u; return c }

func (c column) called(name string) column { c.config().DisplayNameFromDS = name; return c }

func (c column) about(description string) column { c.config().Description = description; return c }

func (c column) mapped(m data.ValueMappings) column { c.config().Mappings = m; return c }

// links makes each value lead to a view of Quintet's page.
func (c column) links(title, url string) column {
	if url != "" {
		c.config().Links = []data.DataLink{{Title: title, URL: url, TargetBlank: true}}
	}
	return c
}

// severityColours differ in brightness as well as in hue.
func severityColours() data.ValueMappings {
	return data.ValueMappings{data.ValueMapper{
		"critical": {Text: "critical", Color: "dark-red", Index: 0},
		"warning":  {Text: "warning", Color: "orange", Index: 1},
		"info":     {Text: "info", Color: "light-blue", Index: 2},
	}}
}

func domainColours() data.ValueMappings {
	m := data.ValueMapper{}
	for i, d := range domains() {
		m[d] = data.ValueMappingResult{Text: d, Color: colour(d), Index: i}
	}
	return data.ValueMappings{m}
}

// table makes a frame from columns.
func table(name string, columns ...column) *data.Frame {
	f := data.NewFrame(name)
	for _, c := range columns {
		f.Fields = append(f.Fields, c.Field)
	}
	f.Meta = &data.FrameMeta{Type: data.FrameTypeTable, TypeVersion: data.FrameTypeVersion{0, 1}, PreferredVisualization: data.VisTypeTable}
	return f
}

// numbers makes a frame that alerting reads as one number for each row, with the
// texts of the row as its labels.
func numbers(name string, columns ...column) *data.Frame {
	f := table(name, columns...)
	f.Meta = &data.FrameMeta{Type: data.FrameTypeNumericLong, TypeVersion: data.FrameTypeVersion{0, 1}}
	return f
}

// Say adds a notice to a frame, which Grafana shows at the panel's corner.
func Say(f *data.Frame, remark string) {
	f.AppendNotices(data.Notice{Severity: data.NoticeSeverityWarning, Text: remark})
}

// short takes the kind off an entity: "nic:h9/nic0" is "h9/nic0".
func short(entity string) string {
	if _, name, ok := strings.Cut(entity, ":"); ok {
		return name
	}
	return entity
}

// kindOf returns the part before the colon.
func kindOf(entity string) string {
	kind, _, _ := strings.Cut(entity, ":")
	return kind
}

// unless gives null for the empty text.
func unless(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
