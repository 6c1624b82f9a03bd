package recorded

import _ "embed" // for Trace

//go:embed slownic-2.qtrace
var trace []byte

// Name is what the recording is called.
const Name = "slownic-2"

// Trace returns the recording as the bytes of a trace file. They are not to be
// changed.
func Trace() []byte { return trace }
