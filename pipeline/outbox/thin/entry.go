package thin

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/quintet-dc/quintet/telemetry"
)

// Entry is one encoded record on its way to the log.
type Entry struct {
	Record  []byte // what telemetry.AppendRecord wrote
	Thinned bool   // it is a frame that replaces several
}

// KindOf returns the kind of an encoded record, zero if there is none.
func KindOf(record []byte) telemetry.RecordKind {
	if len(record) == 0 {
		return 0
	}
	return telemetry.RecordKind(record[0])
}

// FramePrint returns the schema of an encoded frame record: it is at a fixed offset
// (docs/format-frame.md). Zero is none.
func FramePrint(record []byte) telemetry.Fingerprint {
	const at = 1 + 6
	if len(record) < at+8 {
		return 0
	}
	return telemetry.Fingerprint(binary.LittleEndian.Uint64(record[at:]))
}

// SchemaPrint returns the fingerprint of an encoded schema record.
func SchemaPrint(record []byte) telemetry.Fingerprint {
	sum := sha256.Sum256(record[1:])
	return telemetry.Fingerprint(binary.LittleEndian.Uint64(sum[:]))
}

var errNoSchema = errors.New("schema not found")
