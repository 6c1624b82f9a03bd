//go:build unix

package child

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// socketPair returns two connected sockets: ours, and one for a child.
func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no child may inherit them by chance
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "theirs")
	f := os.NewFile(uintptr(fds[0]), "ours")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	return c.(*net.UnixConn), theirs, nil
}

// sendFile sends an open file over a socket, with one byte.
func sendFile(over *net.UnixConn, f *os.File) error {
	_, _, err := over.WriteMsgUnix([]byte{1}, syscall.UnixRights(int(f.Fd())), nil)
	return err
}

// receiveFile receives what sendFile sends. It returns an error where the other
// side sent a byte without a file.
func receiveFile(over *net.UnixConn) (*os.File, error) {
	one, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := over.ReadMsgUnix(one, rights)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if fds, err := syscall.ParseUnixRights(&m); err == nil && len(fds) == 1 {
			syscall.CloseOnExec(fds[0])
			return os.NewFile(uintptr(fds[0]), "connection"), nil
		}
	}
	return nil, errors.New("refused")
}
