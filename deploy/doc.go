// Package deploy holds how Quintet is put into service: units for systemd, a
// container from scratch, and a compose file with the Prometheus, Alertmanager
// and Grafana beside it. It owns those files and the tests that hold them against
// the programs that read them; it has no code.
package deploy
