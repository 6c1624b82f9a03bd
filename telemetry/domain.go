package telemetry

import "fmt"

// Domain is one of the five parts of the machine. It belongs to a metric, not
// to an entity: one GPU computes, draws power and makes heat.
type Domain uint8

// The five domains. The zero Domain is invalid.
const (
	Software Domain = iota + 1
	Computing
	Network
	Power
	Cooling
)

var domainNames = [...]string{"", "software", "computing", "network", "power", "cooling"}

// Domains lists the five in their usual order.
func Domains() []Domain { return []Domain{Software, Computing, Network, Power, Cooling} }

// String returns the domain's name, or "" for the invalid zero.
func (d Domain) String() string {
	if int(d) >= len(domainNames) {
		return fmt.Sprintf("domain(%d)", uint8(d))
	}
	return domainNames[d]
}

// ParseDomain reads a domain's name.
func ParseDomain(s string) (Domain, error) {
	for i, n := range domainNames[1:] {
		if n == s {
			return Domain(i + 1), nil
		}
	}
	return 0, fmt.Errorf("domain %q: want software, computing, network, power or cooling", s)
}

// MarshalText implements encoding.TextMarshaler.
func (d Domain) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; an empty text is the zero
// Domain, as MarshalText writes it.
func (d *Domain) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*d = 0
		return nil
	}
	*d, err = ParseDomain(string(b))
	return err
}
