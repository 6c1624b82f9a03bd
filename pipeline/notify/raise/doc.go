// Package raise turns the alerts of the built-in rules into messages for receivers.
//
// It owns the grouping: the alerts of one rule and severity at one machine, switch
// or job are a group with one id, and each change of a group is a revision in the
// stream of alerts. It sends nothing: package notify does, as for incidents. It
// must never raise one change twice, whatever number of processes evaluate the
// rules: one of them holds the key `alerting` and raises, and the stream refuses a
// second revision of one number.
package raise
