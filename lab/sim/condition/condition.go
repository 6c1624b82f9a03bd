package condition

import "github.com/quintet-dc/quintet/lab/sim/site"

// Set is the condition of every part, by the site's numbers. Factors are 1 and
// everything else zero in health. Percentages are never used: shares are 0 to
// 1.
type Set struct {
	Links    []Link   // by site.Up and site.Down
	NICs     []NIC    // node·GPUs + nic
	GPUs     []GPU    // node·GPUs + gpu
	Nodes    []Node   // by node
	Switches []Switch // by site.Switch
	Racks    []Rack   // racks with nodes
	Loops    []Loop   // by rack
	CDUs     []CDU    // by coolant unit
	Rows     []Row    // by row
	PDUs     []Supply // row·2 + side
	UPSs     []Supply // hall·2 + side
	Feeds    []Supply // by side
	Jobs     []Job    // in the order of the run's jobs
	Storage  Storage
	Subnet   Subnet
}

// Link is one direction of a cable, owned by the port that sends on it.
type Link struct {
	Down    bool
	Speed   float64 // factor: of the nominal rate that it was trained to
	Drain   float64 // factor: of the nominal rate that its receiver takes off it
	Hold    bool    // its receiver takes nothing and keeps it paused: a storm, or a link of a deadlock
	Corrupt float64 // share of packets damaged on the way: counted by the receiver, dropped
	Loss    float64 // share of packets lost without a counter
	Reorder float64 // share of packets that come out of order
	Decades float64 // of pre-FEC bit error ratio above the healthy link's
	Heat    float64 // kelvins the module is too warm by
	// Hash is mixed into what chooses among equal ways for traffic from the
	// cable's lower end; a change of it re-hashes.
	Hash uint64
	// Pile is the share of flows at its lower end's switch that a hash puts on
	// this uplink instead of where they went: 0 to 1.
	Pile float64
}

// NIC is a host's RDMA port beyond its links.
type NIC struct {
	PCIe  float64 // factor: of the lanes that its slot trained to; below 1 its receiver takes less
	Heat  float64 // kelvins too warm
	Class bool    // its RDMA traffic goes in the wrong class: not lossless, not marked
	// Strict states that it takes packets out of order for lost ones and asks for
	// them again; in health it puts them in place.
	Strict bool
}

// GPU is one GPU.
type GPU struct {
	Clock  float64 // factor: of the top clock that firmware lets it reach, with no reason stated
	Limit  float64 // watts that a policy allows; 0 is the board's own
	Plate  float64 // factor: of the plate's thermal resistance (1 in health, 3 with dry paste)
	NVLink float64 // factor: of its NVLinks' bandwidth
	Broken string  // text of a fatal error ("79, GPU has fallen off the bus"): it computes nothing
	Delay  float64 // seconds by which its rank is late in every step, without a cause on the GPU
}

// Node is one host.
type Node struct {
	Down   bool
	Jitter float64 // seconds: mean of an exponential delay that strikes one of its ranks each step
	Input  float64 // seconds that its ranks wait for input in each step
	Fans   float64 // factor: of its fans' speed
	Fan    int     // which fan it is, from 1, where one; 0 all
	Limit  float64 // watts that a policy allows the node; 0 none
}

// Switch is one switch.
type Switch struct {
	Down     bool
	NoMarks  bool    // marking is off
	Eager    float64 // factor by which its marking begins too early (1 in health, 0.01 marks almost at once)
	Headroom float64 // factor: of the lossless headroom; below 1 it drops under pause
	Class    bool    // RDMA goes in the wrong class here
	Weight   float64 // factor: of the traffic that routing gives to its plane's switches
}

// Rack is a rack's power.
type Rack struct {
	Limit  float64    // watts that a policy allows the rack; 0 none
	Shelf  [2]float64 // factor: of each shelf's capacity; 0 has failed
	PSUs   [2]int     // supplies of each shelf that have failed
	Branch bool       // its branch breaker is open on one side: see Side
	Side   int
}

// Loop is a rack's coolant loop.
type Loop struct {
	Flow float64 // factor: of the nominal flow
	Leak bool
}

// CDU is one coolant unit.
type CDU struct {
	Pump     [2]float64 // factor: of each pump's flow
	Facility float64    // kelvins its facility water is too warm
	Exchange float64    // factor: of its exchanger's effectiveness
}

// Row is a row's air.
type Row struct {
	Supply float64 // kelvins the air handler's supply is too warm
}

// Supply is a feed, UPS or PDU.
type Supply struct {
	Down bool
	// Sag is the share of its capacity that is missing: what is over makes the
	// machines behind it brake.
	Sag float64
}

// Job is what is out of order in a job's own work.
type Job struct {
	Input      float64 // seconds that the whole job waits for input in each step
	Checkpoint float64 // factor: of the time a checkpoint takes
	Stage      int     // pipeline stage that has more to do …
	StageMore  float64 // … by this share
	Experts    float64 // share of tokens beyond its due that goes to the fullest expert
	Work       float64 // factor: of the work in a step (a longer sequence, a bigger batch): a change of the work
	Traffic    float64 // factor: of the bytes that it sends
	Load       float64 // factor: of the requests a serving job gets
	Stopped    bool    // it does not run (yet, or any more)
	Evaluates  bool    // it evaluates instead of training
	// Incast makes all its nodes send to one NIC (node·GPUs + nic) at Rate of
	// the NIC's speed altogether; Rate 0 is none.
	Incast int
	Rate   float64
}

// Storage is the storage that jobs read from and write to.
type Storage struct {
	Read, Write float64 // factors: of its bandwidth
}

// Subnet is InfiniBand management.
type Subnet struct {
	Failover bool // the master of Fabric's subnet is being replaced: forwarding goes on, no new path is set up
	Fabric   int
}

// New returns the condition of a site in health with so many jobs.
func New(s *site.Site, jobs int) *Set {
	c := &Set{
		Links: make([]Link, s.Links()), NICs: make([]NIC, s.Nodes*s.GPUs), GPUs: make([]GPU, s.Nodes*s.GPUs),
		Nodes: make([]Node, s.Nodes), Switches: make([]Switch, s.Switches()), Racks: make([]Rack, s.Racks),
		Loops: make([]Loop, s.Racks), CDUs: make([]CDU, s.CDUs()), Rows: make([]Row, s.Rows()),
		PDUs: make([]Supply, 2*s.Rows()), UPSs: make([]Supply, 2*s.Halls()), Feeds: make([]Supply, 2),
		Jobs: make([]Job, jobs),
	}
	c.Heal()
	return c
}

// Heal puts everything in order.
func (c *Set) Heal() {
	fill(c.Links, Link{Speed: 1, Drain: 1})
	fill(c.NICs, NIC{PCIe: 1})
	fill(c.GPUs, GPU{Clock: 1, Plate: 1, NVLink: 1})
	fill(c.Nodes, Node{Fans: 1})
	fill(c.Switches, Switch{Eager: 1, Headroom: 1, Weight: 1})
	fill(c.Racks, Rack{Shelf: [2]float64{1, 1}})
	fill(c.Loops, Loop{Flow: 1})
	fill(c.CDUs, CDU{Pump: [2]float64{1, 1}, Exchange: 1})
	clear(c.Rows)
	clear(c.PDUs)
	clear(c.UPSs)
	clear(c.Feeds)
	fill(c.Jobs, Job{Checkpoint: 1, Work: 1, Traffic: 1, Load: 1})
	c.Storage, c.Subnet = Storage{Read: 1, Write: 1}, Subnet{}
}

func fill[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

// Take makes c a copy of another condition of the same site and jobs, in c's
// own memory.
func (c *Set) Take(o *Set) {
	copy(c.Links, o.Links)
	copy(c.NICs, o.NICs)
	copy(c.GPUs, o.GPUs)
	copy(c.Nodes, o.Nodes)
	copy(c.Switches, o.Switches)
	copy(c.Racks, o.Racks)
	copy(c.Loops, o.Loops)
	copy(c.CDUs, o.CDUs)
	copy(c.Rows, o.Rows)
	copy(c.PDUs, o.PDUs)
	copy(c.UPSs, o.UPSs)
	copy(c.Feeds, o.Feeds)
	copy(c.Jobs, o.Jobs)
	c.Storage, c.Subnet = o.Storage, o.Subnet
}
