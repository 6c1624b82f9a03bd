package ibsim

import (
	"strings"
	"testing"
)

// TestAFileOfASubnet: both ends of every cable are listed, as ibsim wants it.
func TestAFileOfASubnet(t *testing.T) {
	n := Tree(3, 2, 1)
	for i := range n.Nodes {
		n.Nodes[i].LID = uint16(i + 1)
	}
	var b strings.Builder
	if err := n.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `vendid=0x2c9
devid=0xd2f0
sysimgguid=0xc42a10300100000
switchguid=0xc42a10300100000(c42a10300100000)
Switch	3 "S-0c42a10300100000"		# "MF0;leaf00:MQM8700/U1" enhanced port 0 lid 1 lmc 0
[1]	"H-0c42a20300100300"[1](c42a20300100301) 		# "n0000 mlx5_0" lid 4 4xHDR
[2]	"H-0c42a20300100400"[1](c42a20300100401) 		# "n0000 mlx5_1" lid 5 4xHDR
[3]	"S-0c42a10300100200"[1]		# "MF0;spine00:MQM8700/U1" lid 3 4xHDR

vendid=0x2c9
devid=0xd2f0
sysimgguid=0xc42a10300100100
switchguid=0xc42a10300100100(c42a10300100100)
Switch	3 "S-0c42a10300100100"		# "MF0;leaf01:MQM8700/U1" enhanced port 0 lid 2 lmc 0
[1]	"H-0c42a20300100500"[1](c42a20300100501) 		# "n0000 mlx5_2" lid 6 4xHDR
[3]	"S-0c42a10300100200"[2]		# "MF0;spine00:MQM8700/U1" lid 3 4xHDR

`
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	const last = `caguid=0xc42a20300100500
Ca	1 "H-0c42a20300100500"		# "n0000 mlx5_2"
[1](c42a20300100501) 	"S-0c42a10300100100"[1]		# lid 6 lmc 0 "MF0;leaf01:MQM8700/U1" lid 2 4xHDR

`
	if !strings.HasSuffix(b.String(), last) {
		t.Errorf("got\n%s\nwant at the end\n%s", b.String(), last)
	}
}
