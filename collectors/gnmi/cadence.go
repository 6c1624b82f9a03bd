package gnmi

import (
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/telemetry"
)

// slower is the series of a device that are asked for more rarely than the others.
// They are parts of their own: a source's cadence defines after how long it is
// stale.
type slower struct {
	every time.Duration
	book  *book.Book
}

// bookOf returns the book for series of the group that is being read.
func (r *reader) bookOf() *book.Book {
	g := r.group
	if g == nil || g.onChange || g.Every <= r.every {
		return r.book
	}
	for _, s := range r.slower {
		if s.every == g.Every {
			return s.book
		}
	}
	b := book.New(book.Config{Collector: sourceName, Target: r.target, Part: g.Every.String(), Cadence: telemetry.Duration(g.Every), Limit: maxSeries})
	r.slower = append(r.slower, slower{g.Every, b})
	return b
}

// emit states what was noted, at the time of what is being read.
func (r *reader) emit() {
	n, err := r.book.Emit(r.sink, r.batch)
	for i := 0; i < len(r.slower) && err == nil; i++ {
		var more int
		more, err = r.slower[i].book.Emit(r.sink, r.batch)
		n += more
	}
	r.readings += n
	if err != nil {
		r.drop(collectors.Other)
	}
}
