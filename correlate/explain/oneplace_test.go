package explain

import (
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// TestWhatCannotBeDistinguishedIsOnePlace: answers that score alike are one place where
// one contains, feeds or cools another, where three or more are parts of one machine,
// and where a fault has them together.
func TestWhatCannotBeDistinguishedIsOnePlace(t *testing.T) {
	at := func(s string) telemetry.Entity {
		e, err := telemetry.ParseEntity(s)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	var warm, other, loop = &Signature{Name: "warm"}, &Signature{Name: "other"}, &Signature{Name: "loop", Together: true}
	in := func(whole string, answers ...Answer) []Answer {
		for i := range answers {
			answers[i].In, answers[i].Above = at(whole), []telemetry.Entity{at(whole)}
		}
		return answers
	}
	fan := func(name string, score float64) Answer {
		return Answer{Entity: at("fan:" + name), Signature: warm, Score: score}
	}
	port := func(name string) Answer {
		return Answer{Entity: at("port:" + name), Peer: at("port:s/" + name[2:]), Signature: warm, Score: 3}
	}
	for name, c := range map[string]struct {
		answers []Answer
		alike   []string
	}{
		"a handler, its row and the hall of that": {[]Answer{
			{Entity: at("crah:c1"), Signature: warm, Score: 3},
			{Entity: at("hall:h1"), Signature: warm, Score: 2.9},
			{Entity: at("row:r1"), Above: []telemetry.Entity{at("crah:c1"), at("hall:h1")}, Signature: warm, Score: 2.8},
		}, []string{"row:r1", "hall:h1"}},
		"a row of which more is known": {[]Answer{
			{Entity: at("crah:c1"), Signature: warm, Score: 3},
			{Entity: at("row:r1"), Above: []telemetry.Entity{at("crah:c1")}, Signature: warm, Score: 2},
		}, nil},
		"another name there": {[]Answer{
			{Entity: at("crah:c1"), Signature: warm, Score: 3},
			{Entity: at("row:r1"), Above: []telemetry.Entity{at("crah:c1")}, Signature: other, Score: 3},
		}, nil},
		"two handlers":       {[]Answer{{Entity: at("crah:c1"), Signature: warm, Score: 3}, {Entity: at("crah:c2"), Signature: warm, Score: 3}}, nil},
		"three fans":         {in("node:n1", fan("n1/f1", 3), fan("n1/f2", 3), fan("n1/f3", 2.6)), []string{"fan:n1/f2", "fan:n1/f3"}},
		"two fans":           {in("node:n1", fan("n1/f1", 3), fan("n1/f2", 3)), nil},
		"fans of two hosts":  {append(in("node:n1", fan("n1/f1", 3)), in("node:n2", fan("n2/f1", 3), fan("n2/f2", 3))...), nil},
		"links of a switch":  {in("switch:l", port("l/1"), port("l/2"), port("l/3")), nil},
		"switches of a loop": {[]Answer{{Entity: at("switch:a"), Signature: loop, Score: 5}, {Entity: at("switch:b"), Signature: loop, Score: 5}}, []string{"switch:b"}},
		"unknown, anywhere":  {[]Answer{{Entity: at("switch:a")}, {Entity: at("switch:b")}}, nil},
	} {
		var got []string
		for _, a := range alikeTo(&c.answers[0], c.answers) {
			got = append(got, a.Entity.String())
		}
		if !slices.Equal(got, c.alike) {
			t.Errorf("%s: %v, want %v", name, got, c.alike)
		}
	}
}

func TestAPlaceIsSpoken(t *testing.T) {
	fan := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Fan, Name: name} }
	row := telemetry.Entity{Kind: telemetry.Row, Name: "r1"}
	for want, alike := range map[string][]telemetry.Entity{
		"fan n1/f1":                      nil,
		"fan n1/f1, f2 or f3":            {fan("n1/f2"), fan("n1/f3")},
		"fan n1/f1, n2/f1, row r1 or f9": {fan("n2/f1"), row, fan("n1/f9")},
	} {
		if got := placeText(fan("n1/f1"), alike); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestOneCauseIsLikelierThanTwo: the rack is as likely as each of two hosts in it, or of
// the two PDUs that feed it, and it is what they have in common.
func TestOneCauseIsLikelierThanTwo(t *testing.T) {
	s := &Signature{Name: "cap"}
	at := func(kind telemetry.Kind, name string, score float64, above ...telemetry.Entity) Answer {
		return Answer{Entity: telemetry.Entity{Kind: kind, Name: name}, Above: above, Signature: s, Score: score}
	}
	rack, a, b := telemetry.Entity{Kind: telemetry.Rack, Name: "r1"}, telemetry.Entity{Kind: telemetry.PDU, Name: "a"}, telemetry.Entity{Kind: telemetry.PDU, Name: "b"}
	for name, c := range map[string]struct {
		answers []Answer
		want    string
	}{
		"two hosts and their rack":    {[]Answer{at("node", "n1", 3, rack), at("node", "n2", 3, rack), at("rack", "r1", 2.8)}, "rack:r1"},
		"one host alone":              {[]Answer{at("node", "n1", 3, rack), at("node", "n2", 2, rack), at("rack", "r1", 2.8)}, "node:n1"},
		"a rack that is less likely":  {[]Answer{at("node", "n1", 3.4, rack), at("node", "n2", 3.4, rack), at("rack", "r1", 2.8)}, "node:n1"},
		"two PDUs and what both feed": {[]Answer{at("pdu", "a", 3), at("pdu", "b", 3), at("rack", "r1", 3, a, b)}, "rack:r1"},
		"one PDU and what it feeds":   {[]Answer{at("pdu", "a", 3), at("rack", "r1", 3, a)}, "pdu:a"},
	} {
		if got := sharedFirst(c.answers); got[0].Entity.String() != c.want || len(got) != len(c.answers) {
			t.Errorf("%s: first is %v of %d, want %s", name, got[0].Entity, len(got), c.want)
		}
	}
}
