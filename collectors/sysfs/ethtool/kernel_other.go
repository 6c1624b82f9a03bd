//go:build !linux

package ethtool

import "errors"

// kernel is of Linux; elsewhere only listings can be read.
type kernel struct{}

type info struct {
	driver string
	count  int
}

func openKernel() (*kernel, error) { return nil, errors.ErrUnsupported }

func (*kernel) close() error                         { return nil }
func (*kernel) info(string) (info, error)            { return info{}, errors.ErrUnsupported }
func (*kernel) names(string, int) ([]string, error)  { return nil, errors.ErrUnsupported }
func (*kernel) same(string, []string) (bool, error)  { return false, errors.ErrUnsupported }
func (*kernel) values(string, int) ([]uint64, error) { return nil, errors.ErrUnsupported }
