package worlds

import (
	"fmt"

	"github.com/quintet-dc/quintet/lab/sim/random"
)

// conventions are ten ways to name machines, after the documentation of the
// vendors and of public clusters that the comments name.
func conventions() []convention {
	tier := func(spine bool, leafName, spineName string) string {
		if spine {
			return spineName
		}
		return leafName
	}
	return []convention{
		{ // rack and slot; SONiC's lanes: every eighth number is a port
			node: func(n int) string { return fmt.Sprintf("gpu-a%02d-%02d", n/4+1, n%4+1) },
			nic:  func(_, i int) string { return fmt.Sprintf("mlx5_ib%d", i) },
			sw:   func(s bool, f, n int) string { return fmt.Sprintf("%s-%d-%d", tier(s, "t0", "t1"), f+1, n+1) },
			port: func(n int) string { return fmt.Sprintf("Ethernet%d", (n-1)*8) },
		},
		{ // fully qualified; Linux's predictable names; Cumulus
			node: func(n int) string { return fmt.Sprintf("node-%04d.dc1.example.net", n) },
			nic:  func(_, i int) string { return fmt.Sprintf("rocep%ds0f0", 25+i*16) },
			sw: func(s bool, f, n int) string {
				return fmt.Sprintf("%s%02d-pl%d.dc1.example.net", tier(s, "leaf", "spine"), n+1, f)
			},
			port: func(n int) string { return fmt.Sprintf("swp%d", n) },
		},
		{ // a cloud's addresses; EFA's names
			node: func(n int) string { return fmt.Sprintf("ip-10-0-%d-%d", n/200, n%200+10) },
			nic:  func(_, i int) string { return fmt.Sprintf("rdmap%ds0", 79+i) },
			sw:   func(s bool, f, n int) string { return fmt.Sprintf("%s%d-%d", tier(s, "br", "tor"), f, n) },
			port: func(n int) string { return fmt.Sprintf("et-0_0_%d", n-1) },
		},
		{ // DGX SuperPOD; Quantum switches number their ports
			node: func(n int) string { return fmt.Sprintf("dgx-%03d", n+1) },
			nic:  func(_, i int) string { return fmt.Sprintf("mlx5_%d", []int{0, 3, 4, 5, 6, 9, 10, 11}[i%8]+i/8*12) },
			sw:   func(s bool, f, n int) string { return fmt.Sprintf("IB-%s-%d-%02d", tier(s, "LEAF", "SPINE"), f+1, n+1) },
			port: func(n int) string { return fmt.Sprintf("%d", n) },
		},
		{ // rack units; Junos
			node: func(n int) string { return fmt.Sprintf("r%02du%02d", n/4+1, 4+8*(n%4)) },
			nic:  func(_, i int) string { return fmt.Sprintf("eth-rail%d", i) },
			sw:   func(s bool, f, n int) string { return fmt.Sprintf("qfx-%s%d-%c", tier(s, "l", "s"), n, 'a'+rune(f)) },
			port: func(n int) string { return fmt.Sprintf("et-0:0:%d", n-1) },
		},
		{ // Slurm on Kubernetes; SR-IOV; EOS
			node: func(n int) string { return fmt.Sprintf("slinky-%d", n) },
			nic:  func(_, i int) string { return fmt.Sprintf("ens%dnp0", 10+i) },
			sw:   func(s bool, f, n int) string { return fmt.Sprintf("su%d-%s%d", f/4, tier(s, "lf", "sp"), 10*f+n) },
			port: func(n int) string { return fmt.Sprintf("Et%d", n) },
		},
		{ // identities without an order: serial numbers and GUIDs
			node: func(n int) string { return fmt.Sprintf("host-%06x", hashed(1, n)&0xffffff) },
			nic:  func(n, i int) string { return fmt.Sprintf("0xb83fd203%08x", hashed(2, 64*n+i)&0xffffffff) },
			sw: func(s bool, f, n int) string {
				return fmt.Sprintf("0xfc6a1c03%08x", hashed(len(tier(s, "abc", "abcd")), 256*f+n)&0xffffffff)
			},
			port: func(n int) string { return fmt.Sprintf("p%d", n) },
		},
		{ // capitals; NX-OS
			node: func(n int) string { return fmt.Sprintf("HPCGPU%04d", n+101) },
			nic:  func(_, i int) string { return fmt.Sprintf("HCA-%d", i+1) },
			sw:   func(s bool, f, n int) string { return fmt.Sprintf("%s%02d%c", tier(s, "LF", "SP"), n+1, 'A'+rune(f)) },
			port: func(n int) string { return fmt.Sprintf("Eth1-%d", n) },
		},
		{ // addresses and interface indices, as SNMP has them
			node: func(n int) string { return fmt.Sprintf("10.12.%d.%d", n/250, n%250+1) },
			nic:  func(_, i int) string { return fmt.Sprintf("hca_%d", i) },
			sw:   func(s bool, f, n int) string { return fmt.Sprintf("10.255.%d.%d", f, n+len(tier(s, "", "spine"))*20+1) },
			port: func(n int) string { return fmt.Sprintf("%d", 1000+n) },
		},
		{ // numbers from one, no padding; bnxt
			node: func(n int) string { return fmt.Sprintf("worker%d", n+1) },
			nic:  func(_, i int) string { return fmt.Sprintf("bnxt_re%d", i) },
			sw:   func(s bool, f, n int) string { return fmt.Sprintf("rail%d%s%d", f+1, tier(s, "tor", "agg"), n+1) },
			port: func(n int) string { return fmt.Sprintf("xe%d", n) },
		},
	}
}

// hashed is a number without an order.
func hashed(of, n int) uint64 { return random.Mix(random.Mix(uint64(of)) + uint64(n)) }
