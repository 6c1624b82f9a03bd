// Package agent runs the collectors of a process and sends their records to the
// site's log: alone in quintet-collect, and as the role collect of the service.
//
// It links neither the engine, nor the server of the log, nor the history.
package agent
