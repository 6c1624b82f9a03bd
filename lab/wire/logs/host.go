package logs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// host writes one host's kernel messages.
type host struct {
	name, path string
	boot       time.Time
	file       *os.File
	size       int64
	largest    int64
	seq        uint64
	gpus       map[string]int    // number by PCI address
	nics       map[string]string // device by PCI address
	bus        map[telemetry.Entity]string
	face       map[telemetry.Entity]string // network interface; none over InfiniBand
}

// booted is how long before the lab its hosts have booted.
const booted = 26 * time.Hour

func newHost(b *board.Board, n telemetry.Entity, dir string, largest int64) (*host, error) {
	h := &host{name: n.Name, path: filepath.Join(dir, "kmsg"), boot: wall(b.Now()).Add(-booted), seq: 1417, largest: largest,
		gpus: map[string]int{}, nics: map[string]string{}, bus: map[telemetry.Entity]string{}, face: map[telemetry.Entity]string{}}
	for _, x := range b.Inside(n) {
		last := x.Name[strings.LastIndexByte(x.Name, '/')+1:]
		switch x.Kind {
		case telemetry.GPU:
			i, err := strconv.Atoi(last)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", x, err)
			}
			h.bus[x] = fmt.Sprintf("0000:%02x:00", 0x0f+0x1d*i%0xf0)
			h.gpus[h.bus[x]] = i
		case telemetry.NIC:
			i := len(h.nics)
			h.bus[x] = fmt.Sprintf("0001:%02x:00.0", 0x18+8*i%0xe0)
			h.nics[h.bus[x]] = last
			if _, ok := b.Read(x, "port_xmit_wait_ticks_total"); !ok {
				h.face[x] = fmt.Sprintf("rdma%d", i)
			}
		}
	}
	if len(h.bus) == 0 {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return h, errors.Join(h.open(), h.put(6, h.boot.Add(time.Second), "Linux version 6.8.0-60-generic"))
}

func (h *host) open() error {
	var err error
	h.file, err = os.Create(h.path)
	h.size = 0
	return err
}

func (h *host) close() {
	if h.file != nil {
		_ = h.file.Close()
	}
}

// log writes what the kernel logs for an event.
func (h *host) log(e *telemetry.Event) error {
	at, face := wall(e.At), h.face[e.Entity]
	switch e.Name {
	case telemetry.EventXID:
		code, text, _ := strings.Cut(e.Text, ", ")
		return h.put(4, at, fmt.Sprintf("NVRM: Xid (PCI:%s): %s, pid='<unknown>', name=<unknown>, %s", h.bus[e.Entity], code, text))
	case telemetry.EventLinkDown, telemetry.EventLinkUp:
		if e.Entity.Kind != telemetry.NIC {
			return nil
		}
		up := e.Name == telemetry.EventLinkUp
		switch {
		case face == "" && up:
			return h.put(6, at, fmt.Sprintf("mlx5_core %s: Port: 1 Link ACTIVE", h.bus[e.Entity]))
		case face == "":
			return h.put(6, at, fmt.Sprintf("mlx5_core %s: Port: 1 Link DOWN", h.bus[e.Entity]))
		case up:
			return errors.Join(h.put(6, at, fmt.Sprintf("mlx5_core %s %s: Link up", h.bus[e.Entity], face)),
				h.put(6, at, fmt.Sprintf("IPv6: ADDRCONF(NETDEV_CHANGE): %s: link becomes ready", face)))
		}
		return h.put(6, at, fmt.Sprintf("mlx5_core %s %s: Link down", h.bus[e.Entity], face))
	}
	return nil
}

// chatter writes what every kernel logs now and then.
func (h *host) chatter(now telemetry.Time) error {
	return h.put(6, wall(now), "perf: interrupt took too long (2509 > 2500), lowering kernel.perf_event_max_sample_rate to 79500")
}

// put writes one record: "level,number,microseconds since boot,flags;text".
func (h *host) put(level int, at time.Time, text string) error {
	if h.size > h.largest {
		h.close()
		if err := errors.Join(os.Rename(h.path, h.path+".1"), h.open()); err != nil {
			return err
		}
	}
	h.seq++
	n, err := fmt.Fprintf(h.file, "%d,%d,%d,-;%s\n", level, h.seq, at.Sub(h.boot).Microseconds(), text)
	h.size += int64(n)
	return err
}
