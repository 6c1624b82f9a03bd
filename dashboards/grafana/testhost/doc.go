// Command testhost replaces Grafana's server in the tests of the plugin: it starts
// the built back end as Grafana does, communicates with it over gRPC, and serves a
// page that loads the built front end as Grafana's page does. It holds one data
// source, whose settings may be saved. It is not part of the plugin.
package main
