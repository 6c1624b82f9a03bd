package telemetry

import "cmp"

// EventName is a closed name such as "xid" or "link_down"; an unknown one is
// carried and shown.
type EventName string

// The events that other programs may send and rely on.
const (
	EventXID                EventName = "xid"
	EventLinkDown           EventName = "link_down"
	EventLinkUp             EventName = "link_up"
	EventSMMasterChanged    EventName = "sm_master_changed"
	EventConfigChanged      EventName = "config_changed"
	EventCheckpointStarted  EventName = "checkpoint_started"
	EventCheckpointEnded    EventName = "checkpoint_ended"
	EventJobStarted         EventName = "job_started"
	EventJobFailed          EventName = "job_failed"
	EventJobRestarted       EventName = "job_restarted"
	EventJobEnded           EventName = "job_ended"
	EventMaintenanceStarted EventName = "maintenance_started"
	EventMaintenanceEnded   EventName = "maintenance_ended"
)

// Event is something that happened to an entity at an instant. Its identity is
// (Entity, At, Name, Text): a repeat is ignored.
type Event struct {
	Entity   Entity
	At       Time // when it happened, by its source's clock
	Received Time // when it reached us; zero if not stated
	Name     EventName
	Text     string
	Source   Source
}

// Compare orders events by time, entity, name and text.
func (e Event) Compare(o Event) int {
	if c := cmp.Compare(e.At, o.At); c != 0 {
		return c
	}
	if c := e.Entity.Compare(o.Entity); c != 0 {
		return c
	}
	if c := cmp.Compare(e.Name, o.Name); c != 0 {
		return c
	}
	return cmp.Compare(e.Text, o.Text)
}
