// Package recorded holds the recording that the demo plays where it is given
// none: a training job on twelve hosts, one of which begins to take less than
// it is sent.
//
// It owns the file, which is testdata/roce/slownic-2 as a trace.
package recorded
