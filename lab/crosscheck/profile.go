package crosscheck

// profile states which instruments a site has, and how often they are read.
type profile struct {
	pauseFrames, pauseSeconds, marks, notifications, queueNow, queueMax bool
	waitSeconds, waitTicks                                              bool
	ber, optics, speed, errors, stall, lanes                            bool
	reasons, throttled, sm, tensor, nvlink, limit, averaged             bool
	ranks, mfu, tokens, dataWait, saveTime, counts                      bool
	nodePower, supplies, fans, inlet, racks, feeds                      bool
	loops, coolant, pumps, leak, storage, received, linkEvents          bool

	gpuEvery, nicEvery, switchEvery, boardEvery, plantEvery float64
	tick                                                    float64 // ticks of the wait counter a second
	miss                                                    float64 // share of readings that fail
}

// newProfile draws the instruments of a site.
func newProfile(s *site, d dice, length float64) profile {
	p := profile{
		queueMax: d.chance(.6), queueNow: d.chance(.4), notifications: d.chance(.7), ber: d.chance(.6), optics: d.chance(.6), speed: d.chance(.8),
		errors: d.chance(.85), stall: d.chance(.5), lanes: d.chance(.5), reasons: d.chance(.75), throttled: d.chance(.4), sm: d.chance(.6), tensor: d.chance(.4),
		nvlink: d.chance(.5), limit: d.chance(.7), averaged: d.chance(.5), ranks: d.chance(.35), mfu: d.chance(.4), tokens: d.chance(.5), dataWait: d.chance(.5),
		saveTime: d.chance(.6), counts: d.chance(.8), nodePower: d.chance(.75), supplies: d.chance(.7), fans: d.chance(.65), inlet: d.chance(.7), racks: d.chance(.6),
		feeds: d.chance(.6), loops: d.chance(.8), coolant: d.chance(.8), pumps: d.chance(.6), leak: d.chance(.7), storage: d.chance(.6), received: d.chance(.7), linkEvents: d.chance(.7),
		boardEvery: choose(d, 10.0, 15, 20, 30), plantEvery: choose(d, 15.0, 30), tick: choose(d, 1e5, 1e6), miss: choose(d, 0, .005, .02),
	}
	if s.kind == RoCE {
		switch d.IntN(4) {
		case 0:
			p.pauseFrames = true
		case 1:
			p.pauseSeconds = true
		default:
			p.pauseFrames, p.pauseSeconds = true, true
		}
		p.marks = s.ecn && d.chance(.7)
		p.notifications = p.notifications && s.ecn
	} else {
		p.waitTicks = d.chance(.6)
		p.waitSeconds = !p.waitTicks
		p.notifications = false
	}
	p.pace(s, d, length)
	return p
}

// pace chooses how often devices are read: at most about 330,000 samples.
func (p *profile) pace(s *site, d dice, length float64) {
	nics := float64(len(s.nodes) * s.rails)
	switches := float64(len(s.ports)) - nics
	least := choose(d, 5.0, 5, 10)
	if s.kind == RoCE {
		least = choose(d, 2.0, 5, 5)
	}
	cadence := func(series, budget float64) float64 {
		for _, every := range []float64{2, 5, 10, 15, 20} {
			if every >= least && series*length/every <= budget {
				return every
			}
		}
		return 30
	}
	p.gpuEvery = cadence(float64(len(s.nodes)*gpusPerNode)*8, 130e3)
	p.nicEvery = cadence(nics*7, 100e3)
	p.switchEvery = cadence(switches*6, 110e3)
}
