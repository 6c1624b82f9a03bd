package crosscheck

import "fmt"

// convention is how a site names its parts.
type convention struct {
	node   func(rack, slot, i int) string
	nic    func(i int) string
	leaf   func(i int) string
	spine  func(i int) string
	port   func(i int) string
	rack   func(i int) string
	models []string
}

// conventions returns those that a site may follow.
func conventions() []convention {
	return []convention{
		{
			node: func(r, s, i int) string { return fmt.Sprintf("r%02ds%02d", r+3, 2+4*s) },
			nic:  func(i int) string { return fmt.Sprintf("ib%d", i) },
			leaf: func(i int) string { return fmt.Sprintf("su1-lf%02d", i+1) }, spine: func(i int) string { return fmt.Sprintf("su1-sp%02d", i+1) },
			port: func(i int) string { return fmt.Sprintf("sw%dp%d", i/2+1, i%2+1) },
			rack: func(i int) string { return fmt.Sprintf("r%02d", i+3) }, models: []string{"pretrain-xl", "dpo-70b", "code-34b"},
		},
		{
			node: func(r, s, i int) string { return fmt.Sprintf("cn%04d.hpc.local", 400+7*i) },
			nic:  func(i int) string { return fmt.Sprintf("mlx5_%d", i+i/4) },
			leaf: func(i int) string { return fmt.Sprintf("qm-l%03d", 11*i+4) }, spine: func(i int) string { return fmt.Sprintf("qm-s%03d", 11*i+2) },
			port: func(i int) string { return fmt.Sprintf("1%%2F%d%%2F%d", i/2+1, i%2+1) },
			rack: func(i int) string { return fmt.Sprintf("B%d", 20+i) }, models: []string{"mixtral-cont", "falcon-lm", "vision-tower"},
		},
		{
			node: func(r, s, i int) string { return fmt.Sprintf("aw-%c%d-gpu%02d", 'a'+rune(r%6), r, s) },
			nic:  func(i int) string { return fmt.Sprintf("rocep%ds0f0", 26+17*i) },
			leaf: func(i int) string { return fmt.Sprintf("T0-%c-%d", 'A'+rune(i%20), i) }, spine: func(i int) string { return fmt.Sprintf("T1-%d", i) },
			port: func(i int) string { return fmt.Sprintf("Ethernet%d", 8*i) },
			rack: func(i int) string { return fmt.Sprintf("aw-%c%d", 'a'+rune(i%6), i) }, models: []string{"recsys-v9", "speech-ctc", "chat-sft"},
		},
		{
			node: func(r, s, i int) string { return fmt.Sprintf("worker-%x", 0xa3c1+i*0x1357) },
			nic:  func(i int) string { return fmt.Sprintf("enp%ds0np0", 12+13*i) },
			leaf: func(i int) string { return fmt.Sprintf("ld%d.fab2", i+101) }, spine: func(i int) string { return fmt.Sprintf("lc%d.fab2", i+1) },
			port: func(i int) string { return fmt.Sprintf("et-0%%2F%d%%2F%d", i/32, i%32) },
			rack: func(i int) string { return fmt.Sprintf("row7-%02d", 2*i+1) }, models: []string{"gemma-ft", "video-dit", "rlhf-actor"},
		},
	}
}
