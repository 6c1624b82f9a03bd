package load

import (
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// random is a small generator (xorshift64*, Vigna 2016): a site of millions of
// series wants a cheap one, and each source its own.
type random uint64

func (r *random) next() uint64 {
	x := uint64(*r)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = random(x)
	return x * 0x2545f4914f6cdd1d
}

// below returns a number from 0 to n-1, n < 2^32.
func (r *random) below(n uint64) uint64 { return r.next() >> 32 * n >> 32 }

// model is how a column's series go on.
type model struct {
	kind   behaviour
	level  uint64 // of a gauge, or a counter's rise per instant
	spread uint64
	rare   uint64 // one instant in so many has a rise
}

type behaviour uint8

const (
	constant  behaviour = iota
	rising              // by level and up to spread more
	bursting            // by up to spread, one instant in rare
	wandering           // around level, by up to spread, one instant in rare
)

// modelOf describes how a metric behaves on a healthy site. About a fifth of the
// series changes at each instant.
func modelOf(cat *telemetry.Catalogue, name telemetry.MetricName, noisy bool) model {
	m, ok := cat.Lookup(name)
	n := string(name)
	switch {
	case !ok:
		return model{kind: rising, level: 3, spread: 5}
	case m.Type == telemetry.StateOf:
		return model{level: 1}
	case m.Type == telemetry.Gauge:
		return gaugeModel(m, noisy)
	case strings.Contains(n, "_bytes_total") || strings.Contains(n, "energy"):
		return traffic(25e9, noisy)
	case strings.HasSuffix(n, "_packets_total") && m.Rise == telemetry.Neutral && !strings.Contains(n, "cast"):
		return traffic(6e6, noisy)
	case noisy && (strings.Contains(n, "pause") || strings.Contains(n, "marked") || strings.Contains(n, "cnp")):
		return model{kind: bursting, spread: 2000, rare: 30}
	}
	return model{} // errors and discards of a healthy site
}

func traffic(level uint64, noisy bool) model {
	if noisy {
		return model{kind: rising, level: level / 3, spread: level * 4 / 3}
	}
	return model{kind: rising, level: level * 19 / 20, spread: level / 10}
}

// gaugeModel: words are millionths but for bytes.
func gaugeModel(m *telemetry.Metric, noisy bool) model {
	switch {
	case strings.Contains(string(m.Name), "_limit_"):
		return model{level: 700e6}
	case m.Unit == "bytes" && noisy:
		return model{kind: wandering, level: 0, spread: 200_000, rare: 5}
	case m.Unit == "bytes":
		return model{}
	case m.Unit == "celsius":
		return model{kind: wandering, level: 55e6, spread: 3e6, rare: 8}
	case m.Unit == "watts":
		return model{kind: wandering, level: 600e6, spread: 80e6, rare: 1}
	case m.Unit == "1" && strings.HasPrefix(string(m.Name), "gpu_"):
		return model{kind: wandering, level: 800_000, spread: 150_000, rare: 1}
	}
	return model{level: 1e6}
}

// begin sets the words before the first instant.
func (s *source) begin() {
	n := len(s.schema.Entities)
	s.words = make([]uint64, s.schema.Len())
	for i := range s.words {
		switch m := s.models[i/n]; m.kind {
		case rising:
			s.words[i] = s.random.below(1<<31) * 1000
		case bursting:
			s.words[i] = s.random.below(1 << 20)
		default:
			s.words[i] = m.level
		}
	}
}

// advance goes on by one instant.
func (s *source) advance() {
	n := len(s.schema.Entities)
	for c, m := range s.models {
		if m.kind == constant {
			continue
		}
		words := s.words[c*n : (c+1)*n]
		for i := range words {
			switch {
			case m.kind == rising:
				words[i] += m.level + s.random.below(m.spread)
			case m.rare > 1 && s.random.below(m.rare) != 0:
			case m.kind == bursting:
				words[i] += s.random.below(m.spread)
			case m.kind == wandering:
				words[i] = m.level + s.random.below(m.spread)
			}
		}
	}
}
