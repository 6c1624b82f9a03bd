// Package child runs a part of a service in a process of its own: a child, which
// the kernel can kill for memory without ending the rest.
//
// It owns the child's start, its restarts, its end, and the protocol between the
// two: lines of JSON over the child's standard input and output, and connections to
// the log over a socket that the child inherits. It knows nothing of what the child
// does.
//
// # The protocol
//
//	parent ──▶ child   {"hello": …}     once, first
//	parent ──▶ child   {"metrics": 7}   answered with {"metrics": 7, "text": …}
//	parent ──▶ child   {"stop": true}   the child stops in order and ends
//	parent ──▶ child   end of file      the parent is gone: the child ends at once
//	child ──▶ parent   a byte over the socket, answered with one that carries a
//	                   connection to the log
package child

import "errors"

// ErrUnsupported is returned where the system cannot pass a connection to another
// process.
var ErrUnsupported = errors.New("this system passes no connections between processes")

// Hello is the first message that a child receives.
type Hello struct {
	// Credentials are those with which the child connects to the log of its parent;
	// nil where it connects to one elsewhere.
	Credentials []byte `json:"credentials,omitempty"`
	// Ended is how the child before this one ended; "" for the first.
	Ended string `json:"ended,omitempty"`
}

// request is a line from the parent.
type request struct {
	Hello   *Hello `json:"hello,omitempty"`
	Metrics uint64 `json:"metrics,omitempty"`
	Stop    bool   `json:"stop,omitempty"`
}

// answer is a line from the child.
type answer struct {
	Metrics uint64 `json:"metrics"`
	Text    []byte `json:"text"`
}
