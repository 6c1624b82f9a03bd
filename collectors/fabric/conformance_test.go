package fabric

import (
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/lab/wire/ibsim"
)

func TestItConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(t *testing.T) collectorstest.Subject {
		b := newBench(ibsim.Tree(8, 2, 2))
		return collectorstest.Subject{
			Collector: on(t, b, Config{Ports: 100, Adapters: true}),
			Sever:     func() { b.do(func() { b.cut = true }) },
			Restore:   func() { b.do(func() { b.cut = false }) },
			Spoil:     func() { b.do(func() { b.rubbish = true }) },
			SpoiltAs:  collectors.Malformed,
			Swell: func() {
				b.do(func() { b.net = newBench(ibsim.Tree(2000, 50, 20)).net })
			},
		}
	}})
}
