package state

import "github.com/quintet-dc/quintet/telemetry"

// State is the site Second seconds after its start. Slices are by the site's
// numbers, as in package condition. Names that end in Total count since the
// start; the others hold for the second that has just passed (means) or its end.
type State struct {
	Second   int
	Links    []Link
	NICs     []NIC
	GPUs     []GPU
	Nodes    []Node
	Switches []Switch
	Racks    []Rack
	Loops    []Loop
	CDUs     []CDU
	Rows     []Row
	PDUs     []Supply
	UPSs     []Supply
	Feeds    []Supply
	Jobs     []Job
	Storage  Storage
	Events   []Event // of the second that has just passed, in order
}

// Link is one direction of a cable. The counts of the sender and of the receiver
// are separate where they differ.
type Link struct {
	Up           bool
	Speed        float64 // bits per second it was trained to
	SentTotal    float64 // bytes by the sender
	TakenTotal   float64 // bytes by the receiver: less what was lost on the way
	StoppedTotal float64 // seconds that the receiver paused the sender
	FramesTotal  float64 // pause frames by which it did
	WaitTotal    float64 // seconds that the sender had data and could not send: no credit, or stopped
	MarkedTotal  float64 // packets that the sender's queue marked
	DroppedTotal float64 // packets that the sender's queue dropped
	DamagedTotal float64 // packets that the receiver found damaged
	UncorrectableTotal,
	CorrectedTotal float64 // codewords the receiver could not mend; bits it mended
	DownsTotal float64
	Queue      float64 // bytes waiting at the sender at the end of the second
	QueueMost  float64 // most in the second
	BER        float64 // before correction
	Celsius    float64 // of the sender's module
}

// NIC is a host's RDMA port beyond its two links.
type NIC struct {
	MarkedTotal     float64 // ECN-marked packets that came
	CNPSentTotal    float64
	CNPHandledTotal float64
	CNPIgnoredTotal float64
	OutOfOrderTotal float64 // packets that came out of sequence
	SequenceTotal   float64 // NAKs for a sequence error that came back: something was lost, or taken for lost
	TimeoutTotal    float64 // acknowledgements that never came
	Stalled         float64 // share of time its PCIe side could take no more
	Width           float64 // lanes
	Transfers       float64 // per second and lane: 32e9 is generation 5
	Celsius         float64
}

// GPU is one GPU.
type GPU struct {
	Engine, SM, Tensor, DRAM float64 // shares of the second
	Clock                    float64 // hertz, mean
	Celsius, MemoryCelsius   float64
	Watts                    float64
	EnergyTotal              float64 // joules
	Limit                    float64 // watts enforced
	Reasons                  uint64  // clock event reasons that held at the end of the second
	PowerTotal, HeatTotal,
	BrakeTotal float64 // seconds slowed by power, heat, brake
	NVLinkTotal       float64 // bytes sent; as many received
	NVLinkReplayTotal float64
	NVLinksUp         int
	XIDs              float64 // fatal errors so far
}

// Node is one host.
type Node struct {
	Up      bool
	Watts   float64
	Limit   float64 // watts, 0 none
	Inlet   float64 // °C of the air it takes in
	Exhaust float64
	Supply  float64   // °C of the coolant it gets; NaN-free: 0 where it is cooled by air
	Fans    []float64 // speed of each fan, 0 to 1
}

// Switch is one switch.
type Switch struct {
	Up    bool
	Inlet float64
}

// Rack is a rack's power.
type Rack struct {
	Watts float64
	Limit float64 // watts; its provisioned power where no policy lowered it
	Shelf [2]Shelf
}

// Shelf is a power shelf.
type Shelf struct {
	Watts    float64
	Capacity float64 // watts it can deliver now
	PSUs     []bool  // which deliver
}

// Loop is a rack's coolant loop.
type Loop struct {
	Flow           float64 // litres per minute
	Supply, Return float64 // °C
	Pressure       float64 // pascals that drive it
	Leak           bool
}

// CDU is one coolant unit.
type CDU struct {
	Flow           float64
	Supply, Return float64
	Pressure       float64
	Facility       float64    // °C of the facility water it gets
	Pump           [2]float64 // litres per minute of each
}

// Row is a row's air.
type Row struct {
	Supply float64 // °C
	Inlet  float64 // °C, mean before its racks
	Fan    float64 // the air handler's, 0 to 1
	Watts  float64
}

// Supply is a feed, UPS or PDU.
type Supply struct {
	Up     bool
	Watts  float64
	Limit  float64 // watts it can deliver
	Charge float64 // of a UPS's battery, 0 to 1
}

// Job is one job. Steps are those that ended in the second that has just passed.
type Job struct {
	Running bool
	Steps   []Step
	// Begun is how many collectives each rank of a training job has begun since
	// the job started or started again, one a step: who has begun fewer than the
	// others is waited for.
	Begun []uint32
	// Collective is how long the one of the last step took for each rank, in
	// seconds: blocked, moving data in the open, and behind computing.
	Collective []float32
	Serving    Serving // of a serving job
}

// Step is one step that ended. Rank slices are by the job's rank.
type Step struct {
	Number                  int
	End                     float64 // seconds since the start, exact
	Seconds                 float64
	DataWait, Checkpoint    float64 // seconds of it; Checkpoint is 0 in a step without one
	Tokens                  float64
	MFU                     float64 // by the PaLM convention
	Evaluates               bool
	Compute, Wait, Transfer []float32 // seconds, by rank: computing, blocked before data moves, data moving
}

// Serving is how an inference job did in the second.
type Serving struct {
	TTFT50, TTFT99, ITL50, ITL99 float64 // seconds
	Queue                        float64 // requests
	Cache                        float64 // share of the key-value cache in use
	Tokens                       float64 // per second
}

// Storage is the storage system.
type Storage struct {
	ReadTotal, WrittenTotal   float64 // bytes
	ReadLatency, WriteLatency float64 // seconds
}

// Event is something that happened, as the site's logs would report it.
type Event struct {
	At     float64 // seconds since the start
	Entity telemetry.Entity
	Name   string // as in telemetry.EventName
	Text   string
}
