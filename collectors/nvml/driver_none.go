//go:build !nvml

package nvml

import "time"

// absent replaces the library in a program that was built without it.
type absent struct{}

func driver() library { return absent{} }

func (absent) open() ([]card, error)          { return nil, ErrNotBuilt }
func (absent) close()                         {}
func (absent) wait(time.Duration) (xid, bool) { return xid{}, false }
