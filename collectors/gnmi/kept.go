package gnmi

import "github.com/quintet-dc/quintet/collectors"

// maxKept bounds the bytes that are kept of one device: the places of its tree, those
// that mean nothing too, its paths and its ports. A switch with 512 ports, each with
// 128 series and as many leaves that mean nothing, has room.
const maxKept = 128 << 20

// About what is kept of each, in bytes, without its name.
const (
	placeBytes = 128  // a place that means nothing, or a path
	nodeBytes  = 640  // one that means something, with its use
	portBytes  = 1024 // with its words
)

// keep charges n bytes to the device before they are allocated. Where there is no room
// for them that is counted, and nothing may be kept.
func (r *reader) keep(n int) bool {
	if n > maxKept-r.kept {
		r.drop(collectors.OverLimit)
		return false
	}
	r.kept += n
	return true
}
