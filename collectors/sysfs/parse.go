package sysfs

import (
	"bytes"

	"github.com/quintet-dc/quintet/collectors"
)

// good is the Reason of what is all right.
const good collectors.Reason = ""

// trim removes what surrounds an attribute's text: blanks, line ends, and the zero
// bytes that some drivers leave.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] <= ' ') {
		b = b[:len(b)-1]
	}
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	return b
}

// count reads a counter: a decimal number of 64 bits and nothing else. Kernels
// before 4.2 write "N/A (no PMA)" where there is no counter.
func count(b []byte) (uint64, collectors.Reason) {
	b = trim(b)
	if len(b) == 0 || b[0] > '9' || b[0] < '0' {
		if bytes.HasPrefix(b, []byte("N/A")) {
			return 0, collectors.Unsupported
		}
		return 0, collectors.Malformed
	}
	var v uint64
	for i, c := range b {
		d := uint64(c - '0')
		if d > 9 {
			return 0, collectors.Malformed
		}
		if i >= 19 && v > (1<<64-1-d)/10 {
			return 0, digitsOnly(b[i:])
		}
		v = v*10 + d
	}
	return v, good
}

// digitsOnly distinguishes a number that is too large from text that is not a
// number.
func digitsOnly(b []byte) collectors.Reason {
	for _, c := range b {
		if c < '0' || c > '9' {
			return collectors.Malformed
		}
	}
	return collectors.OutOfRange
}

// state reads "4: ACTIVE": a number, and a name that must be names[number]
// where both are known. A file of another kind put here by mistake does not
// pass.
func state(b []byte, names []string) (uint64, collectors.Reason) {
	b = firstLine(b)
	i := bytes.IndexByte(b, ':')
	if i < 0 {
		i = len(b)
	}
	v, why := count(b[:i])
	if why != good {
		return 0, why
	}
	if v >= uint64(len(names)) {
		return 0, collectors.Malformed
	}
	if i < len(b) {
		if text := trim(b[i+1:]); known(text, names) && string(text) != names[v] {
			return 0, collectors.Malformed
		}
	}
	return v, good
}

// known reports whether the kernel has such a name for a state of any kind.
func known(text []byte, names []string) bool {
	for _, list := range [...][]string{names, logicalStates, physicalStates} {
		for _, n := range list {
			if n != "" && string(text) == n {
				return true
			}
		}
	}
	return false
}

// The states of a port, by number, as the kernel writes them.
var (
	logicalStates  = []string{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"}
	physicalStates = []string{"", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "Phy Test"}
)

// stateActive is the state that this package acts on.
const stateActive = 4

func firstLine(b []byte) []byte {
	b = trim(b)
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = trim(b[:i])
	}
	return b
}

// rate is what a port reports of its speed.
type rate struct {
	tenths uint64 // of Gb/s, over all lanes
	slow   bool   // at SDR's pace, which is also what a kernel reports for a speed it does not know
}

// parseRate reads "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)" or, of early
// kernels, "10 Gb/sec (4X)".
func parseRate(b []byte) (rate, collectors.Reason) {
	b = firstLine(b)
	tenths, rest, ok := parseTenths(b)
	if !ok {
		return rate{}, collectors.Malformed
	}
	rest, ok = bytes.CutPrefix(trim(rest), []byte("Gb/sec"))
	if !ok || tenths == 0 || tenths > 1<<32 {
		return rate{}, collectors.Malformed
	}
	r := rate{tenths: tenths}
	rest = bytes.TrimSuffix(bytes.TrimPrefix(trim(rest), []byte("(")), []byte(")"))
	lanes, word, _ := bytes.Cut(rest, []byte("X"))
	if n, why := count(lanes); why == good && n > 0 {
		word = trim(word)
		r.slow = tenths == 25*n && (len(word) == 0 || string(word) == "SDR")
	}
	return r, good
}

// parseTenths reads an unsigned number with at most one decimal place.
func parseTenths(b []byte) (v uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && i < 18 && b[i] >= '0' && b[i] <= '9'; i++ {
		v = v*10 + uint64(b[i]-'0')
	}
	if i == 0 {
		return 0, b, false
	}
	v *= 10
	if i+1 < len(b) && b[i] == '.' && b[i+1] >= '0' && b[i+1] <= '9' {
		v += uint64(b[i+1] - '0')
		i += 2
	}
	if i < len(b) && b[i] >= '0' && b[i] <= '9' {
		return 0, b, false // more places than are known to be written
	}
	return v, b[i:], true
}

// parseTransfers reads the speed of a PCIe link, "16.0 GT/s PCIe", in tenths of
// 10^9 transfers a second.
func parseTransfers(b []byte) (uint64, collectors.Reason) {
	tenths, rest, ok := parseTenths(firstLine(b))
	switch {
	case bytes.HasPrefix(trim(b), []byte("Unknown")):
		return 0, collectors.Unsupported
	case !ok || tenths == 0 || tenths > 1<<20 || !bytes.HasPrefix(trim(rest), []byte("GT/s")):
		return 0, collectors.Malformed
	}
	return tenths, good
}

// parseLanes reads the width of a PCIe link. A device that has left the bus reports
// 63, a virtual function 0.
func parseLanes(b []byte) (uint64, collectors.Reason) {
	n, why := count(b)
	switch {
	case why != good:
		return 0, why
	case n == 0 || n == 63 || n == 255:
		return 0, collectors.Unsupported
	case n > 32:
		return 0, collectors.Malformed
	}
	return n, good
}
