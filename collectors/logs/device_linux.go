package logs

import (
	"errors"
	"io/fs"
	"syscall"
)

// device is the kernel's own log: each reading gives one record.
type device struct{ fd int }

func openDevice(path string) (*device, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &device{fd}, nil
}

// errOverrun means that the kernel has overwritten the next record to be read.
var errOverrun = errors.New("records were overwritten before they were read")

// read returns the next record; 0 where there is none yet.
func (d *device) read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(d.fd, b)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		case errors.Is(err, syscall.EPIPE):
			return 0, errOverrun
		case err != nil:
			return 0, err
		default:
			return max(0, n), nil
		}
	}
}

func (d *device) close() { _ = syscall.Close(d.fd) }
