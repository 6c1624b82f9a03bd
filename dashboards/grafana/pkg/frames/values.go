package frames

import "github.com/grafana/grafana-plugin-sdk-go/data"

// Choice is something that may be chosen in an editor, or as the value of a
// dashboard's variable.
type Choice struct {
	Label string `json:"label"`
	Value string `json:"value"`
	About string `json:"description,omitempty"`
}

// Values makes the frame from which Grafana fills a variable.
func Values(list []Choice) *data.Frame {
	label, value := text("text", len(list)), text("value", len(list))
	for r, c := range list {
		label.Set(r, c.Label)
		value.Set(r, c.Value)
	}
	return table("values", label, value)
}
