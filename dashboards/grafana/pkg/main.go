// Command gpx_quintet is the back end of the Quintet data source. Grafana starts it
// and communicates with it over gRPC.
package main

import (
	"os"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/datasource"

	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/plugin"
)

func main() {
	if err := datasource.Manage("quintet-quintet-datasource", plugin.New, datasource.ManageOpts{}); err != nil {
		backend.Logger.Error("The back end has ended", "error", err)
		os.Exit(1)
	}
}
