package crosscheck

import "container/heap"

// appointment is something that happens at an instant.
type appointment struct {
	at    float64
	order int
	do    func()
}

// agenda is the queue of events; equal times keep the order of entry.
type agenda struct {
	items []appointment
	count int
}

func (a *agenda) Len() int { return len(a.items) }
func (a *agenda) Less(i, j int) bool {
	x, y := &a.items[i], &a.items[j]
	return x.at < y.at || x.at == y.at && x.order < y.order
}
func (a *agenda) Swap(i, j int) { a.items[i], a.items[j] = a.items[j], a.items[i] }
func (a *agenda) Push(x any)    { a.items = append(a.items, x.(appointment)) }
func (a *agenda) Pop() any {
	last := a.items[len(a.items)-1]
	a.items = a.items[:len(a.items)-1]
	return last
}

// add enters an event.
func (a *agenda) add(at float64, do func()) {
	a.count++
	heap.Push(a, appointment{at, a.count, do})
}

// next removes and returns the earliest event.
func (a *agenda) next() appointment { return heap.Pop(a).(appointment) }
