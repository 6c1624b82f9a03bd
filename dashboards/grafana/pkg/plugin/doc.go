// Package plugin is the data source's back end: it answers Grafana's queries,
// health checks, resource calls and streams by asking one Quintet server. It
// owns the shape of a query and what an error means to Grafana. It keeps nothing
// but where its streams are, and changes nothing in Quintet.
package plugin
