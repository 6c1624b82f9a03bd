package ibdiag

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Manager is a subnet manager as sminfo found it.
type Manager struct {
	LID      uint16
	GUID     uint64 // of its port
	Activity uint32 // rises while it is alive
	Priority int    // 0 to 15
	State    ManagerState
}

// ManagerState is what a subnet manager is.
type ManagerState uint8

// The states (IBTA, SMInfo).
const (
	NotActive ManagerState = iota
	Discovering
	Standby
	Master
)

var managerStates = [...]string{"not active", "discovering", "standby", "master"}

// String returns the state's name.
func (s ManagerState) String() string {
	if int(s) >= len(managerStates) {
		return "unknown"
	}
	return managerStates[s]
}

// ParseManager reads sminfo's line: sminfo: sm lid 1 sm guid 0x…, activity
// count 1496 priority 10 state 3 SMINFO_MASTER.
func ParseManager(text []byte) (m Manager, err error) {
	var lid, guid, activity, priority, state uint64
	for _, line := range strings.Split(string(text), "\n") {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "sminfo: sm ")
		if !ok {
			continue
		}
		words := strings.Fields(strings.ReplaceAll(rest, ",", " "))
		for _, x := range []struct {
			word string
			to   *uint64
			bits int
		}{{"lid", &lid, 16}, {"guid", &guid, 64}, {"count", &activity, 32}, {"priority", &priority, 4}, {"state", &state, 2}} {
			if *x.to, err = after(words, x.word, x.bits); err != nil {
				return Manager{}, fmt.Errorf("sminfo: %w", err)
			}
		}
		return Manager{LID: uint16(lid), GUID: guid, Activity: uint32(activity), Priority: int(priority), State: ManagerState(state)}, nil
	}
	return Manager{}, another(text, "the subnet manager's state (sminfo)")
}

// after reads the number behind a word.
func after(words []string, word string, bits int) (uint64, error) {
	for i := 0; i+1 < len(words); i++ {
		if words[i] == word {
			n, err := strconv.ParseUint(words[i+1], 0, bits)
			if err != nil {
				return 0, fmt.Errorf("%s: %.30q, want a number of %d bits", word, words[i+1], bits)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("no %s", word)
}

// Timeouts counts unanswered requests in a program's error output: one line for
// each request that was given up.
func Timeouts(complaints []byte) int {
	n := 0
	for _, line := range bytes.Split(complaints, []byte("\n")) {
		// libibnetdisc prints the first form for a request, libibmad the second.
		if bytes.Contains(line, []byte("bad status 110")) || bytes.Contains(line, []byte("_do_madrpc failed")) {
			n++
		}
	}
	return n
}
