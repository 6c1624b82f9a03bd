package serve

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/pipeline/replica"
)

// spot is where an answer's list ends: the key of its last item, and how many items
// precede the next one. If the item is gone by the time of the next request, the
// number is where to go on.
type spot struct {
	key  string
	done int
}

// cursor returns a spot as an answer states it. Its form is not for clients to
// read.
func (p spot) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(p.done) + " " + p.key))
}

// cursor reads the parameter of that name; the zero spot is the beginning.
func (q *query) cursor() (p spot) {
	text := q.text("cursor")
	if text == "" {
		return spot{}
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	done, key, ok := strings.Cut(string(b), " ")
	if err == nil && ok {
		p.key = key
		p.done, err = strconv.Atoi(done)
	}
	if err != nil || !ok || p.done <= 0 {
		q.fail("cursor", "want the next of an earlier answer")
		return spot{}
	}
	return p
}

// excerpt is the part of a list that one answer has, and the cursor of the next
// part; empty where there is none.
type excerpt[T any] struct {
	items []T
	next  string
}

// pageOf returns the first limit items of a list behind a spot. Keys are unique
// within the list.
func pageOf[T any](all []T, key func(T) string, from spot, limit int) excerpt[T] {
	begin := 0
	if from.done > 0 {
		begin = min(from.done, len(all))
		if i := slices.IndexFunc(all, func(x T) bool { return key(x) == from.key }); i >= 0 {
			begin = i + 1
		}
	}
	end := min(begin+limit, len(all))
	p := excerpt[T]{items: all[begin:end]}
	if end < len(all) && end > begin {
		p.next = spot{key(all[end-1]), end}.cursor()
	}
	return p
}

// jobList is the answer to GET /api/v1/jobs, and sourceList that to GET
// /api/v1/coverage. Next is the cursor of the next part.
type (
	jobList struct {
		replica.Jobs
		Next string `json:"next,omitempty"`
	}
	sourceList struct {
		replica.Coverage
		Next string `json:"next,omitempty"`
	}
)

// maxPart is how many items a part of an answer has at most that the engine gives
// whole.
const maxPart = 100_000

// listed answers with the engine's answer to a question, or with a part of its
// list where limit or cursor is given. The first of lists is the list's key in the
// answer, and identity the members that identify an item; the other lists, whose
// items have the same members, are cut to the items of the part.
func (s *server) listed(what, question string, lists []string, identity ...string) handler {
	return func(r *http.Request) (any, error) {
		q := parameters(r, "limit", "cursor")
		limit, from := q.number("limit", maxPart, 1, maxPart), q.cursor()
		if q.err != nil {
			return nil, q.err
		}
		whole, err := s.questions.ask(r.Context(), what, []byte(question))
		if err != nil || q.text("limit") == "" && q.text("cursor") == "" {
			return whole, err
		}
		return part(whole, lists, identity, from, limit)
	}
}

// item is an element of a list, with what identifies it.
type item struct {
	json.RawMessage
	key string
}

// part cuts the lists of an answer.
func part(whole []byte, lists, identity []string, from spot, limit int) (any, error) {
	var out map[string]json.RawMessage
	if err := json.Unmarshal(whole, &out); err != nil {
		return nil, err
	}
	all, err := itemsOf(out[lists[0]], identity)
	if err != nil {
		return nil, err
	}
	p := pageOf(all, func(x item) string { return x.key }, from, limit)
	within := map[string]bool{}
	for _, x := range p.items {
		within[x.key] = true
	}
	for _, name := range lists {
		items, err := itemsOf(out[name], identity)
		if err != nil {
			return nil, err
		}
		items = slices.DeleteFunc(items, func(x item) bool { return !within[x.key] })
		if out[name], err = json.Marshal(items); err != nil {
			return nil, err
		}
	}
	if p.next != "" {
		out["next"] = json.RawMessage(strconv.Quote(p.next))
	}
	return out, nil
}

// itemsOf reads a list of objects.
func itemsOf(list json.RawMessage, identity []string) ([]item, error) {
	var raws []json.RawMessage
	if err := json.Unmarshal(list, &raws); err != nil {
		return nil, err
	}
	out := make([]item, len(raws))
	for i, one := range raws {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(one, &members); err != nil {
			return nil, err
		}
		key := ""
		for _, m := range identity {
			key += string(members[m]) + "\x00"
		}
		out[i] = item{one, key}
	}
	return out, nil
}
