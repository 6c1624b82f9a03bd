package work

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
)

// ErlangC is the probability that a request has to wait where load (arrivals a
// second times seconds of service) meets so many servers: 1 at and beyond
// their capacity (Erlang 1917; by the recursion of Erlang B).
func ErlangC(servers int, load float64) float64 {
	if load >= float64(servers) {
		return 1
	}
	if load <= 0 {
		return 0
	}
	b := 1.0
	for i := 1; i <= servers; i++ {
		b = float64(load*b) / (float64(i) + float64(load*b))
	}
	return b / (1 - float64((load/float64(servers))*(1-b)))
}

// Wait is the mean seconds that a request waits in an M/M/c queue in its steady
// state, +Inf where it has none.
func Wait(servers int, arrivals, service float64) float64 {
	load := float64(arrivals * service)
	if load >= float64(servers) {
		return math.Inf(1)
	}
	return float64(ErlangC(servers, load)*service) / (float64(servers) - load)
}

// WaitQuantile is the time that a share q of the requests wait at most: the
// waiting time is 0 or exponential.
func WaitQuantile(servers int, arrivals, service, q float64) float64 {
	load := float64(arrivals * service)
	if load >= float64(servers) {
		return math.Inf(1)
	}
	c := ErlangC(servers, load)
	if 1-q >= c {
		return 0
	}
	return float64(stats.Log(c/(1-q))*service) / (float64(servers) - load)
}
