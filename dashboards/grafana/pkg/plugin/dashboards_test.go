package plugin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// dashboard has the fields of a dashboard that are checked.
type dashboard struct {
	Panels []struct {
		Title, Type string
		Targets     []json.RawMessage
	}
	Templating struct {
		List []struct{ Query json.RawMessage }
	}
	Annotations struct {
		List []struct{ Target json.RawMessage }
	}
}

// Every panel of the dashboards that come with the plugin is answered by frames
// that its kind of panel can draw.
func TestDashboardsAreAnswered(t *testing.T) {
	s := serve(t, newScript(t).URL)
	files, err := filepath.Glob("../../src/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				if why := drawn(p.Type, s.asked(t, p.Title, target)); why != "" {
					t.Errorf("%s: %s: a panel of type %s cannot draw it: %s", file, p.Title, p.Type, why)
				}
			}
		}
		for _, v := range d.Templating.List {
			f := s.asked(t, "a variable", v.Query)
			if len(f) != 1 || f[0].Rows() == 0 || texts(f[0]) != 2 {
				t.Errorf("%s: a variable: %s gives %d frames", file, v.Query, len(f))
			}
		}
		for _, a := range d.Annotations.List {
			for _, name := range []string{"time", "timeEnd", "title", "text", "tags", "id"} {
				if f := s.asked(t, "annotations", a.Target); len(f) != 1 || !has(f[0], name) {
					t.Errorf("%s: annotations: no field %s", file, name)
				}
			}
		}
	}
}

// asked sends a dashboard's query, with the values that its variables have at
// first.
func (s *served) asked(t *testing.T, title string, query json.RawMessage) data.Frames {
	t.Helper()
	text := strings.NewReplacer("$job", "", "$incident", "newest").Replace(string(query))
	got := s.ask(t, "", text)
	if got.Error != nil {
		t.Errorf("%s: %s: %v", title, text, got.Error)
	}
	return got.Frames
}

// drawn returns why a kind of panel cannot draw frames, by the requirements of
// Grafana's documentation.
func drawn(panel string, list data.Frames) string {
	if len(list) == 0 {
		return "no frames"
	}
	f := list[0]
	switch panel {
	case "nodeGraph":
		if len(list) != 2 || list[0].Name != "nodes" || list[1].Name != "edges" || !has(list[0], "id") || !has(list[1], "id") || !has(list[1], "source") || !has(list[1], "target") {
			return "want nodes with ids, and edges with an id, a source and a target"
		}
	case "timeseries":
		for _, f := range list {
			if f.TimeSeriesSchema().Type != data.TimeSeriesTypeWide {
				return "want a time and numbers"
			}
		}
	case "state-timeline":
		for _, f := range list {
			if len(f.Fields) != 2 || f.Fields[0].Type() != data.FieldTypeTime || f.Fields[1].Type() != data.FieldTypeString {
				return "want a time and a text"
			}
		}
	case "barchart":
		if k := f.Fields[0].Type(); numbersIn(f) == 0 || k != data.FieldTypeString && k != data.FieldTypeTime {
			return "want a text or a time first, and numbers"
		}
	case "stat", "bargauge":
		if numbersIn(f) == 0 {
			return "want numbers"
		}
	case "table":
		if f.Rows() == 0 {
			return "want rows"
		}
	default:
		return "nothing is known of this kind of panel"
	}
	return ""
}

func has(f *data.Frame, name string) bool {
	k, _ := f.FieldByName(name)
	return k != nil
}

func numbersIn(f *data.Frame) (n int) {
	for _, k := range f.Fields {
		if k.Type().Numeric() {
			n++
		}
	}
	return n
}

func texts(f *data.Frame) (n int) {
	for _, k := range f.Fields {
		if k.Type() == data.FieldTypeString {
			n++
		}
	}
	return n
}
