package gnmi

import (
	"context"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Defaults of a subscription whose group states no others.
const (
	fallbackEvery = 10 * time.Second // a group of changes that is only to be had in samples
	refusedFor    = 10 * time.Minute // a group that the device refused is asked for again
)

// subscription is a group as one device has it: it is kept from session to
// session.
type subscription struct {
	*group
	sampled  bool // the device does not send its changes (no on-change)
	plain    bool // it knows no heartbeat
	until    time.Time
	onChange bool // the device sends only changes: the collector restates the rest
	synced   bool
}

// request is the message that asks for the group.
func (s *subscription) request(every time.Duration, enc gpb.Encoding) *gpb.SubscribeRequest {
	list := &gpb.SubscriptionList{Mode: gpb.SubscriptionList_STREAM, Encoding: enc}
	if s.Origin != "" || s.Target != "" {
		list.Prefix = &gpb.Path{Origin: s.Origin, Target: s.Target}
	}
	for _, p := range s.Paths {
		x := &gpb.Subscription{Path: p.Path, Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: uint64(max(s.Every, every))}
		switch {
		case s.changes() && !s.sampled:
			x.Mode, x.SampleInterval = gpb.SubscriptionMode_ON_CHANGE, 0
		case s.changes():
			x.SampleInterval = uint64(max(every, fallbackEvery))
		}
		if !s.plain && x.Mode == gpb.SubscriptionMode_ON_CHANGE {
			x.HeartbeatInterval = uint64(s.Heartbeat)
		}
		list.Subscription = append(list.Subscription, x)
	}
	s.onChange = s.changes() && !s.sampled
	return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}
}

// refused reports whether an error means that a device does not support what was
// asked of it, and asks for less: samples instead of changes, no heartbeat, at last
// nothing for a while. It reports too whether the same may be tried at once.
func (s *subscription) refused(err error, now time.Time) (refused, again bool) {
	c := status.Code(err)
	if !slices.Contains([]codes.Code{codes.InvalidArgument, codes.Unimplemented, codes.NotFound, codes.OutOfRange}, c) {
		return false, false
	}
	switch {
	case !s.plain && s.Heartbeat > 0 && s.changes():
		s.plain = true
	case s.changes() && !s.sampled:
		s.sampled = true
	default:
		s.plain, s.sampled, s.until = false, false, now.Add(refusedFor)
		return true, false
	}
	return true, true
}

// encoding chooses one that the device has: the profile's first.
func (p *Profile) encoding(ctx context.Context, c gpb.GNMIClient) (gpb.Encoding, error) {
	caps, err := c.Capabilities(ctx, &gpb.CapabilityRequest{})
	if err != nil {
		if status.Code(err) == codes.Unimplemented {
			return p.encodings[0], nil
		}
		return 0, err
	}
	for _, e := range p.encodings {
		if slices.Contains(caps.GetSupportedEncodings(), e) {
			return e, nil
		}
	}
	return p.encodings[0], nil
}
