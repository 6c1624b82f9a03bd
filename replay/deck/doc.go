// Package deck steers a recording that is played into a log: pause, speed, and
// seeking forward and back.
//
// It owns the position of the recording and when its next tick may be given; package
// play gives it. A log only goes forward: what is asked to go back is played into
// a new one, from the beginning and without delay, up to the instant that was
// asked for. So what is shown at an instant is what a replay to that instant
// comes to, however one got there. It must never give a record in another order
// or at another time of the log than the recording has it.
package deck
