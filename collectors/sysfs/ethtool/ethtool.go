package ethtool

import (
	"errors"
	"fmt"
	"slices"
)

// MaxNames is how many statistics of an interface are read at most; a driver
// with more is refused.
const MaxNames = 1 << 15

// nameBytes is the length of a name in the kernel's table.
const nameBytes = 32

// Errors of asking. Others are the system's own.
var (
	// ErrChanged means that the names are no longer those of Open: open again.
	ErrChanged = errors.New("the table of names has changed")
	// ErrNone means that the interface has no statistics of its own.
	ErrNone = errors.New("no statistics")
	// ErrGone means that there is no such interface (any more).
	ErrGone = errors.New("no such interface")
	// ErrListing means that a file is not what ethtool -S prints.
	ErrListing = errors.New("not a listing of ethtool -S")
)

// Source is where statistics are had from. It is used by one goroutine.
type Source struct {
	kernel *kernel // nil for recorded listings
	dir    string
}

// Kernel returns the source that asks this host's kernel. Close it.
func Kernel() (*Source, error) {
	k, err := openKernel()
	if err != nil {
		return nil, fmt.Errorf("ethtool: %w", err)
	}
	return &Source{kernel: k}, nil
}

// Recorded returns the source of recorded listings in a folder: what "ethtool -S
// eth0" prints, in eth0/statistics, eth0.txt, eth0 or ethtool_S_eth0.txt. They are
// read again at every Read.
func Recorded(dir string) *Source { return &Source{dir: dir} }

// Close gives back what the source holds.
func (s *Source) Close() error {
	if s.kernel != nil {
		return s.kernel.close()
	}
	return nil
}

// Open reads the names of an interface's statistics. The interface holds nothing
// open, and is used by the source's goroutine.
func (s *Source) Open(name string) (*Interface, error) {
	i := &Interface{source: s, name: name}
	err := i.open()
	if err != nil {
		return nil, fmt.Errorf("ethtool: open %s: %w", name, err)
	}
	return i, nil
}

// Interface is the statistics of one network interface.
type Interface struct {
	source *Source
	name   string
	driver string
	names  []string
	file   string // of a recorded listing
	text   []byte
	parsed Listing
}

// Reading is what was read at once.
type Reading struct {
	// Words are the values in the order of Names, until the source is asked
	// again.
	Words []uint64
	// Malformed are the places of Words whose text is not a number. Only recorded
	// listings have any.
	Malformed []int
}

// Names returns the names in the driver's order. Some may be empty, some equal.
// They are the interface's own: read them only.
func (i *Interface) Names() []string { return i.names }

// Driver returns what the driver calls itself, "" if that is not known.
func (i *Interface) Driver() string { return i.driver }

func (i *Interface) open() error {
	if k := i.source.kernel; k != nil {
		info, err := k.info(i.name)
		if err != nil {
			return err
		}
		i.driver = info.driver
		i.names, err = k.names(i.name, info.count)
		return err
	}
	file, err := i.source.find(i.name)
	if err != nil {
		return err
	}
	i.file = file
	if err := i.parse(); err != nil {
		return err
	}
	i.names = slices.Clone(i.parsed.Names)
	return nil
}

// Read reads every value. It does not allocate, and asks the driver once more how
// many there are: ErrChanged means that the names of Open no longer hold.
func (i *Interface) Read() (Reading, error) {
	r, err := i.read()
	if err != nil {
		return Reading{}, fmt.Errorf("ethtool: read %s: %w", i.name, err)
	}
	return r, nil
}

func (i *Interface) read() (Reading, error) {
	if k := i.source.kernel; k != nil {
		words, err := k.values(i.name, len(i.names))
		return Reading{Words: words}, err
	}
	if err := i.parse(); err != nil {
		return Reading{}, err
	}
	if !slices.Equal(i.names, i.parsed.Names) {
		return Reading{}, ErrChanged
	}
	return Reading{Words: i.parsed.Words, Malformed: i.parsed.Malformed}, nil
}

// Verify reads the names again: a table may change and keep its length. It returns
// ErrChanged if one has changed.
func (i *Interface) Verify() error {
	k := i.source.kernel
	if k == nil {
		return nil // Read compares them
	}
	same, err := k.same(i.name, i.names)
	if err == nil && !same {
		err = ErrChanged
	}
	if err != nil {
		return fmt.Errorf("ethtool: verify %s: %w", i.name, err)
	}
	return nil
}
