// Command testhost stands in for Grafana's server in the tests of the plugin: it
// starts the built back end as Grafana does, speaks gRPC to it, and serves a
// page that loads the built front end as Grafana's page does. It holds one data
// source, whose settings may be saved. It is no part of the plugin.
package main
