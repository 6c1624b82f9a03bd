package ethtool

import (
	"bytes"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// Constants of <linux/ethtool.h> and <linux/sockios.h>.
const (
	siocEthtool  = 0x8946
	cmdInfo      = 0x03 // ETHTOOL_GDRVINFO
	cmdStrings   = 0x1b // ETHTOOL_GSTRINGS
	cmdStats     = 0x1d // ETHTOOL_GSTATS
	setStats     = 1    // ETH_SS_STATS
	interfaceLen = 16   // IFNAMSIZ
)

// request is struct ifreq.
type request struct {
	name [interfaceLen]byte
	data unsafe.Pointer
	_    [16]byte
}

// driverInfo is struct ethtool_drvinfo.
type driverInfo struct {
	cmd      uint32
	driver   [32]byte
	_        [32 * 4]byte // version, firmware, bus, expansion ROM
	_        [12]byte
	_        uint32 // private flags
	stats    uint32
	_, _, _2 uint32
}

// nameTable is struct ethtool_gstrings with room for the longest.
type nameTable struct {
	cmd, set, count uint32
	data            [MaxNames * nameBytes]byte
}

// valueTable is struct ethtool_stats with room for the longest. The kernel
// writes as many values as the driver has at that moment, whatever was asked
// for: only room for the longest is enough.
type valueTable struct {
	cmd, count uint32
	data       [MaxNames]uint64
}

// kernel asks through a socket, which is only a way to the ioctl. Its tables
// are large, so they are shared by all interfaces; pages that no driver fills
// are never touched.
type kernel struct {
	fd      int
	strings *nameTable
	stats   *valueTable
}

func openKernel() (*kernel, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	return &kernel{fd: fd, strings: new(nameTable), stats: new(valueTable)}, nil
}

func (k *kernel) close() error { return syscall.Close(k.fd) }

// ask makes one request about an interface.
func (k *kernel) ask(name string, data unsafe.Pointer) error {
	if len(name) >= interfaceLen {
		return ErrGone
	}
	r := request{data: data}
	copy(r.name[:], name)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(k.fd), siocEthtool, uintptr(unsafe.Pointer(&r)))
	runtime.KeepAlive(k)
	switch errno {
	case 0:
		return nil
	case syscall.ENODEV:
		return ErrGone
	case syscall.EOPNOTSUPP:
		return ErrNone
	}
	return errno
}

// info is what the driver reports about itself.
type info struct {
	driver string
	count  int
}

func (k *kernel) info(name string) (info, error) {
	d := driverInfo{cmd: cmdInfo}
	if err := k.ask(name, unsafe.Pointer(&d)); err != nil {
		return info{}, err
	}
	switch {
	case d.stats == 0:
		return info{}, ErrNone
	case d.stats > MaxNames:
		return info{}, fmt.Errorf("%d statistics, at most %d", d.stats, MaxNames)
	}
	return info{driver: text(d.driver[:]), count: int(d.stats)}, nil
}

// table requests the names.
func (k *kernel) table(name string, count int) error {
	k.strings.cmd, k.strings.set, k.strings.count = cmdStrings, setStats, uint32(count)
	if err := k.ask(name, unsafe.Pointer(k.strings)); err != nil {
		return err
	}
	if int(k.strings.count) != count {
		return ErrChanged
	}
	return nil
}

func (k *kernel) entry(i int) []byte { return k.strings.data[i*nameBytes : (i+1)*nameBytes] }

func (k *kernel) names(name string, count int) ([]string, error) {
	if err := k.table(name, count); err != nil {
		return nil, err
	}
	out := make([]string, count)
	for i := range out {
		out[i] = text(k.entry(i))
	}
	return out, nil
}

// same reports whether the names are still these.
func (k *kernel) same(name string, names []string) (bool, error) {
	if err := k.table(name, len(names)); err != nil {
		return false, err
	}
	for i, n := range names {
		if string(trim(k.entry(i))) != n {
			return false, nil
		}
	}
	return true, nil
}

// values asks how many values there are, and for them.
func (k *kernel) values(name string, count int) ([]uint64, error) {
	d := driverInfo{cmd: cmdInfo}
	if err := k.ask(name, unsafe.Pointer(&d)); err != nil {
		return nil, err
	}
	if int(d.stats) != count {
		return nil, ErrChanged
	}
	k.stats.cmd, k.stats.count = cmdStats, uint32(count)
	if err := k.ask(name, unsafe.Pointer(k.stats)); err != nil {
		return nil, err
	}
	if int(k.stats.count) != count {
		return nil, ErrChanged
	}
	return k.stats.data[:count], nil
}

func trim(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return bytes.TrimSpace(b)
}

func text(b []byte) string { return string(trim(b)) }
