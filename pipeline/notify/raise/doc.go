// Package raise makes of the alerts of our own rules what receivers are told.
//
// It owns which alerts are one: those of one rule and severity at one machine,
// switch or job are a group with one id, and each change of a group is a
// revision in the stream of alerts. It tells nobody: package notify does, as it
// tells of incidents. It must never raise one change twice, whatever number of
// processes evaluate the rules: one of them holds the key `alerting` and raises,
// and the stream refuses a second revision of one number.
package raise
