//go:build !unix

package child

import (
	"net"
	"os"
)

func socketPair() (ours *net.UnixConn, theirs *os.File, err error) { return nil, nil, ErrUnsupported }

func sendFile(*net.UnixConn, *os.File) error { return ErrUnsupported }

func receiveFile(*net.UnixConn) (*os.File, error) { return nil, ErrUnsupported }
