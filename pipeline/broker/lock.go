package broker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lock holds a directory for this process: the server itself lets two open one,
// and they would ruin it. The lock goes with the process, however it ends.
func lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = sign(f)
	}
	if err != nil {
		holder, _ := os.ReadFile(path)
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock: %s is in use by process %s", dir, strings.TrimSpace(string(holder)))
		}
		return nil, fmt.Errorf("lock: %s: %w", dir, err)
	}
	return f, nil
}

// sign writes the id of the process that holds the lock, for processes that fail to
// acquire it.
func sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// Locked reports whether a process that is alive has locked a directory. It does not try
// the lock: a server that starts meanwhile would take that for another one.
func Locked(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "lock"))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return false
	}
	err = syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
