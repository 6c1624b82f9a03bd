//go:build unix

package sysfs

import (
	"path"
	"syscall"
)

// descriptor is an open file as the kernel numbers it. The runtime's poller
// knows nothing of it: reading an attribute runs the driver's code and never
// waits for more to come.
type descriptor int

func (d disk) open(name string) (openFile, error) {
	for {
		fd, err := syscall.Open(path.Join(d.root, name), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == nil {
			return descriptor(fd), nil
		}
		if err != syscall.EINTR {
			return nil, err
		}
	}
}

func (d descriptor) read(buf []byte) (int, error) {
	for {
		n, err := syscall.Pread(int(d), buf, 0)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

func (d descriptor) close() { _ = syscall.Close(int(d)) } // it was only read
