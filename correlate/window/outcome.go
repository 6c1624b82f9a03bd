package window

// Outcome is what became of a record.
type Outcome uint8

// The outcomes of AddSchema and AddFrame.
const (
	Accepted      Outcome = iota
	Duplicate             // the same frame waits already, or the schema is known
	Late                  // every instant is older than its class's closed grid; kept for what it is worth
	Future                // further ahead of the closed grids than the class's lateness and Config.Ahead
	UnknownSchema         // waits for its schema, bounded
	Corrupt               // the bytes are not a frame, or the schema is not valid
	Full                  // refused: Config.MaxPending bytes wait already, or 8,192 frames of the source
	TooMany               // refused: Config.MaxSeries are known already
)

var outcomeNames = [...]string{"accepted", "duplicate", "late", "future", "unknown_schema", "corrupt", "full", "too_many"}

// String returns the outcome's name as it appears in metrics.
func (o Outcome) String() string {
	if int(o) >= len(outcomeNames) {
		return ""
	}
	return outcomeNames[o]
}

// Counts counts the outcomes since the beginning. Nothing is dropped without being
// counted here.
type Counts struct {
	Frames  [TooMany + 1]uint64 // by Outcome
	Schemas [TooMany + 1]uint64 // by Outcome

	Samples        uint64 // present samples taken in their grid
	LateSamples    uint64 // present samples taken after their grid was closed
	Gaps           uint64 // explicit gaps
	Contradictions uint64 // samples of one identity with different values
	Resets         uint64 // counters that began anew
	Wraps          uint64 // counters that went round
	CorruptLate    uint64 // frames whose header was sound and whose samples were not
	Expired        uint64 // frames whose schema did not come in time
	Switches       uint64 // series that changed the source they are judged from
}

// add adds what a slice counted.
func (c *Counts) add(d *Counts) {
	c.Samples += d.Samples
	c.LateSamples += d.LateSamples
	c.Gaps += d.Gaps
	c.Contradictions += d.Contradictions
	c.Resets += d.Resets
	c.Wraps += d.Wraps
	c.CorruptLate += d.CorruptLate
}

// Flag is the quality of a value.
type Flag uint8

// The flags of Value.
const (
	Missing Flag = iota // no sample for more than three cadences, or none ever: the value is NaN
	Fresh               // a sample in this grid
	Held                // no sample in this grid, but one within three cadences: the last value
	Gapped              // a sample in this grid after more than three cadences without: a rate is the mean over the gap, not to be judged
	First               // the first sample of a counter: no rate yet, NaN
	Reset               // the counter began anew in this grid: no rate, NaN
	Stuck               // the counter is at its maximum and counts no more: NaN
)

var flagNames = [...]string{"missing", "fresh", "held", "gapped", "first", "reset", "stuck"}

// String returns the flag's name.
func (f Flag) String() string {
	if int(f) >= len(flagNames) {
		return ""
	}
	return flagNames[f]
}
