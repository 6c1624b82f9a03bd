// Package api asks Quintet's HTTP API, by the project's generated client, what the
// data source needs. It owns the errors that Grafana's users see, in which a refusal,
// no answer, and another program's answer are distinguished. It knows nothing of Grafana,
// holds no state between requests and never changes anything in Quintet.
package api
