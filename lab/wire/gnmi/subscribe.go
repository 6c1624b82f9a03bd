package gnmi

import (
	"context"
	"errors"
	"io"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fastest is how often a sample is sent where the client leaves it to us: that
// is how often the site's time moves.
const fastest = time.Second

// feed is one subscription of a list.
type feed struct {
	leaves  []leaf
	last    []value
	sent    []bool // last was sent
	changes bool   // ON_CHANGE
	sparse  bool   // only what has changed
	every   time.Duration
	beat    time.Duration // everything is sent so often
	due     time.Time
	beatDue time.Time
}

// Subscribe answers in the mode that is asked for.
func (s *device) Subscribe(st gpb.GNMI_SubscribeServer) error {
	r, err := st.Recv()
	if err != nil {
		return err
	}
	list := r.GetSubscribe()
	if list == nil {
		return status.Error(codes.InvalidArgument, "want a subscription first")
	}
	if err := s.encodes(list.GetEncoding()); err != nil {
		return err
	}
	feeds, err := s.feeds(list)
	if err != nil {
		return err
	}
	a := &answer{device: s, st: st, list: list, feeds: feeds}
	if err := a.all(!list.GetUpdatesOnly()); err != nil {
		return err
	}
	switch list.GetMode() {
	case gpb.SubscriptionList_ONCE:
		return nil
	case gpb.SubscriptionList_POLL:
		return a.poll()
	}
	return a.stream()
}

// feeds checks what is asked for.
func (s *device) feeds(list *gpb.SubscriptionList) (out []*feed, err error) {
	for _, x := range list.GetSubscription() {
		f := &feed{changes: x.GetMode() == gpb.SubscriptionMode_ON_CHANGE, sparse: x.GetSuppressRedundant(),
			every: time.Duration(x.GetSampleInterval()), beat: time.Duration(x.GetHeartbeatInterval())}
		if list.GetMode() == gpb.SubscriptionList_STREAM {
			if err := s.speaks.may(x); err != nil {
				return nil, err
			}
		}
		if f.every <= 0 {
			f.every = fastest
		}
		if f.leaves, err = s.speaks.leaves(s, list.GetPrefix(), x.GetPath()); err != nil {
			return nil, err
		}
		f.last, f.sent = make([]value, len(f.leaves)), make([]bool, len(f.leaves))
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, status.Error(codes.InvalidArgument, "nothing is subscribed to")
	}
	return out, nil
}

// answer is one Subscribe.
type answer struct {
	*device
	st    gpb.GNMI_SubscribeServer
	list  *gpb.SubscriptionList
	feeds []*feed
}

// all sends everything there is, where that is wanted, and that this was all.
func (a *answer) all(wanted bool) error {
	for _, f := range a.feeds {
		if err := a.update(f, true, wanted); err != nil {
			return err
		}
	}
	return a.st.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

// update reads a subscription's leaves and sends them: everything, or what has
// changed. Where it is not to be sent it is remembered.
func (a *answer) update(f *feed, everything, send bool) error {
	c := cut{enc: a.list.GetEncoding(), target: a.list.GetPrefix().GetTarget(), subtrees: a.subtrees, now: time.Now()}
	for i := range f.leaves {
		v, at, ok := f.leaves[i].read()
		switch {
		case !ok && f.sent[i]:
			f.sent[i] = false
			c.remove(&f.leaves[i])
		case ok && (everything || !f.sent[i] || v != f.last[i]):
			f.last[i], f.sent[i] = v, true
			c.add(&f.leaves[i], v, at)
		}
	}
	if !send {
		return nil
	}
	for _, n := range c.done() {
		if err := a.st.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}}); err != nil {
			return err
		}
	}
	return nil
}

// poll sends everything whenever it is asked to.
func (a *answer) poll() error {
	for {
		r, err := a.st.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case r.GetPoll() == nil:
			return status.Error(codes.InvalidArgument, "want a poll")
		}
		if err := a.all(true); err != nil {
			return err
		}
	}
}

// stream sends samples when they are due and changes as they come.
func (a *answer) stream() error {
	ctx, cancel := context.WithCancel(a.st.Context())
	defer cancel()
	changed := make(chan struct{}, 1)
	go func() {
		for a.board.Wait(ctx) == nil {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	now := time.Now()
	for _, f := range a.feeds {
		f.due = now.Add(f.every)
		f.beatDue = now.Add(f.beat)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(a.next()))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			for _, f := range a.feeds {
				if !f.changes {
					continue
				}
				if err := a.update(f, false, true); err != nil {
					return err
				}
			}
		case <-timer.C:
			if err := a.dues(time.Now()); err != nil {
				return err
			}
		}
	}
}

// next is when something is due.
func (a *answer) next() time.Time {
	at := time.Now().Add(time.Hour)
	for _, f := range a.feeds {
		if !f.changes && f.due.Before(at) {
			at = f.due
		}
		if f.beats() && f.beatDue.Before(at) {
			at = f.beatDue
		}
	}
	return at
}

// beats states that everything is sent now and then.
func (f *feed) beats() bool { return f.beat > 0 && (f.changes || f.sparse) }

func (a *answer) dues(now time.Time) error {
	for _, f := range a.feeds {
		everything := !f.changes && !f.sparse
		due := !f.changes && !now.Before(f.due)
		if f.beats() && !now.Before(f.beatDue) {
			everything, due = true, true
			f.beatDue = now.Add(f.beat)
		}
		if !due {
			continue
		}
		if !f.changes {
			f.due = f.due.Add(f.every)
			if f.due.Before(now) {
				f.due = now.Add(f.every)
			}
		}
		if err := a.update(f, everything, true); err != nil {
			return err
		}
	}
	return nil
}
