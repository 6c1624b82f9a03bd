//lint:file-ignore SA1019 what is deprecated is still sent

package gnmi

import (
	"errors"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"github.com/quintet-dc/quintet/collectors"
)

// TestOldForms: what devices of before gNMI 0.4 send is read too: paths of
// strings, values as JSON beside their type, an error instead of a status.
func TestOldForms(t *testing.T) {
	d := newDesk(t, "openconfig")
	at := &gpb.Path{Element: []string{"interfaces", "interface[name=Ethernet1/1]", "state", "counters"}}
	d.say(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: &gpb.Notification{Timestamp: int64(noon), Prefix: at, Update: []*gpb.Update{
		{Path: &gpb.Path{Element: []string{"in-octets"}}, Value: &gpb.Value{Type: gpb.Encoding_JSON, Value: []byte(` 77 `)}},
		{Path: &gpb.Path{Element: []string{"out-octets"}}, Value: &gpb.Value{Type: gpb.Encoding_BYTES, Value: []byte(`77`)}},
	}}}})
	d.told("old", "port:leaf1/Ethernet1%2F1 port_rx_bytes_total 77")
	d.lost("old", map[collectors.Reason]int{collectors.Malformed: 1})
	b, err := proto.Marshal(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Error{Error: &gpb.Error{Code: 3, Message: "too many clients"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.message(b, noon); !errors.Is(err, errStream) || !strings.Contains(err.Error(), "too many clients") {
		t.Errorf("an error of the old form: %v", err)
	}
}
