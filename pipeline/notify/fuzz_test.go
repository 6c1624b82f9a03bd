package notify

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

func FuzzRevision(f *testing.F) {
	f.Add("inc-1", 1, []byte(`{"id":"inc-1","revision":1,"state":"open","updated":"2026-11-21T02:47:00Z","title":"\u2028"}`))
	f.Add("inc-1", 2, []byte(`{"id":"inc-1","revision":2,"state":"resolved","updated":"2026-11-21T02:47:00.000000001Z"} `))
	f.Add("inc.1", 0, []byte(`null`))
	f.Fuzz(func(t *testing.T, id string, number int, data []byte) {
		rev, err := parse(bus.Revision{Sequence: 7, ID: id, Number: number, Data: data}, nil)
		if err != nil {
			return
		}
		m := rev.message("ops", Delivery{Attempt: 1})
		var body struct {
			Type, Timestamp string
			Data            json.RawMessage
		}
		if err := json.Unmarshal(m.Body, &body); err != nil {
			t.Fatalf("the body is no JSON: %v: %s", err, m.Body)
		}
		if body.Type != m.Type || body.Timestamp != rev.Updated || string(body.Data) != string(rev.data) || strings.ContainsAny(m.ID, " \r\n") {
			t.Fatalf("%s: %s", m.ID, m.Body)
		}
	})
}

func FuzzDelivery(f *testing.F) {
	d := Delivery{Incident: "inc-1", Receiver: "ops"}.claim(pending{number: 3, sequence: 9}, 1, claimant{by: "me", at: time.Unix(1, 0).UTC(), lease: 20 * time.Second})
	for _, d := range []Delivery{d, d.fail(time.Unix(9, 0).UTC(), time.Unix(2, 0).UTC(), 4, Answer{Verdict: NoAnswer, Reason: strings.Repeat("ü", 400)}), d.settle(OutcomeDelivered, time.Unix(2, 0).UTC(), Answer{Status: 200})} {
		b, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	long := d
	for i := range 2 * maxLog {
		who := claimant{by: "me", at: time.Unix(int64(i), 0).UTC()}
		long = long.withhold(pending{number: i + 1, sequence: uint64(i + 1)}, StateHeld, muted{outcome: OutcomeSilenced, why: strings.Repeat("ü", 400)}, who)
		long = long.withhold(pending{number: i + 1, sequence: uint64(i + 1)}, StateHeld, muted{outcome: OutcomeSilenced, why: strings.Repeat("ü", 400)}, who) // said once
	}
	b, err := json.Marshal(long)
	if err != nil || len(long.Log) != maxLog || long.Log[0].Revision != maxLog+1 || len(b) > 16<<10 {
		f.Fatalf("%d decisions in %d bytes, %v", len(long.Log), len(b), err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parseDelivery(b)
		if err != nil {
			return
		}
		again, err := json.Marshal(d)
		if err != nil {
			return // a year beyond 9999 can be read and not written
		}
		back, err := parseDelivery(again)
		if err != nil || !reflect.DeepEqual(back, d) {
			t.Fatalf("%+v became %+v, %v", d, back, err)
		}
	})
}
