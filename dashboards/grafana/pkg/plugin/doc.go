// Package plugin is the data source's back end: it answers Grafana's queries,
// health checks, resource calls and streams by requests to one Quintet server. It
// owns the shape of a query and the meaning of an error for Grafana. It keeps
// nothing but the places of its streams, and changes nothing in Quintet.
package plugin
