package explain

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// idleLoad is the share of its speed below which an end was idle, and a ratio
	// to it is no evidence.
	idleLoad = 0.005
	// ratioCap bounds ratios to a small past.
	ratioCap = 20.0
)

// fabricMeasures derives the measures of ends and neighbours.
type fabricMeasures struct {
	e              *Evidence
	m              *fabric.Map
	lost           float64 // share of its time that the job loses
	work           float64 // what the job's nics send per second, now over before
	steady         float64 // the same of the other job that kept its pace best, at most 1; 0 without one
	own            []float64
	topExplained   float64
	topErr         float64 // its standard error
	slack          float64 // how many times as long as it is waiting on the job's paths may be read
	speed          float64 // of the job's links, bytes per second
	neighbourLoads []neighbour
	// others is what all hosts that do not run the job send more than before, and ownRise
	// what the one NIC of the job does that rose most, in bytes per second.
	others, ownRise float64
	// strangers are the hosts that do not run the job, in identity order of their NICs; unread
	// is the part of their NICs of which it is not known what they send, now or before.
	strangers []telemetry.Entity
	unread    float64
	// foreign is what one other job sends more than before, all its NICs together,
	// in bytes per second: of the job with the largest rise.
	foreign, foreignErr float64
	oneWay, oneWayErr   float64 // the most that one of the job's nics gets beyond what it sends, or the other way, over its speed
	planes, switches    []shift // of the map's planes and switches
	down                float64 // the part of the time that a link on the job's paths was down, the worst of them
	losses              loss
	marked              []markings // of the map's switches
}

func newFabricMeasures(e *Evidence) *fabricMeasures {
	f := &fabricMeasures{e: e, m: e.Fabric.Now.Map, lost: e.LostShare()}
	f.work = 1
	if w, ok := work(e); ok && w.median > 0 {
		f.work = w.median
	}
	f.own = make([]float64, len(f.m.Ends))
	for i := range f.m.Ends {
		f.own[i] = e.Fabric.Now.Own(e.Fabric.Before, i)
		if explained := f.own[i] / f.lost; e.Fabric.Blame.Share(i) >= leastBlame && explained > f.topExplained {
			f.topExplained, f.topErr = explained, e.Fabric.Now.GainErr(e.Fabric.Before, i)/f.lost
		}
		if e.Fabric.OnPath[i] {
			f.slack = max(f.slack, e.Fabric.Now.Of[i].Slack)
		}
	}
	for _, node := range e.Nodes {
		for _, i := range f.m.Links(node) {
			f.speed = max(f.speed, f.m.Ends[i].Speed)
			f.ownRise = max(f.ownRise, float64((e.Fabric.Now.Of[i].Util-e.Fabric.Before.Of[i].Util)*f.m.Ends[i].Speed))
		}
	}
	for _, o := range e.Others {
		f.neighbourLoads = append(f.neighbourLoads, f.neighbour(o))
	}
	f.strangers = strangers(f.m, e.Nodes)
	f.others, f.unread = f.strangersRise(), f.unreadPart()
	f.planes, f.switches = f.shifts(f.m.Planes, nil), f.shifts(f.m.Switches, f.intoEach(f.m.Planes))
	f.losses, f.marked = f.loss(), f.markings()
	f.losses.around = f.mostAround()
	f.surroundings()
	return f
}

// surroundings measures what else on the job's paths would explain that one link
// carries more than another: other jobs, traffic that goes one way, NICs that are
// used otherwise, links that are gone.
func (f *fabricMeasures) surroundings() {
	for i := range f.neighbourLoads {
		b := &f.neighbourLoads[i]
		if w, ok := workOf(f.e.Fabric, b.Nodes); ok {
			f.steady = max(f.steady, min(w.median, 1))
		}
		if links, _ := f.net(b); float64(links*f.speed) > f.foreign {
			f.foreign, f.foreignErr = float64(links*f.speed), b.err
		}
	}
	for i, on := range f.e.Fabric.OnPath {
		if !on || !f.m.Ends[i].Main {
			continue
		}
		if f.m.FacesHost(i) {
			if x := math.Abs(f.lopsided(i)); x > f.oneWay {
				f.oneWay, f.oneWayErr = x, float64(math.Sqrt2*f.loadErr(i))
			}
		}
		if state, ok := f.state(i); ok {
			f.down = max(f.down, 1-state.up)
		}
	}
}

// ends measures the ends to which the job's waiting leads, and those on its paths
// whose link shows a fault of its own.
func (f *fabricMeasures) ends() []Candidate {
	var at []int
	for i := range f.m.Ends {
		if share, worst := f.e.Fabric.Blame.PortShare(f.m, i); worst && share >= leastBlame {
			at = append(at, i)
		}
	}
	byBlame(at, f.e.Fabric.Blame.At)
	at = at[:min(len(at), maxEnds)]
	for _, i := range slices.Concat(f.ailing(), f.loaded()) {
		if !slices.Contains(at, i) {
			at = append(at, i)
		}
	}
	var out []Candidate
	for _, i := range at {
		c := Candidate{Entity: f.m.Ends[i].Entity, Values: f.end(i)}
		if p := f.m.Ends[i].Peer; p >= 0 {
			c.Peer = f.m.Ends[p].Entity
		}
		out = append(out, c)
	}
	return out
}

// loaded lists the ports of switches on the job's paths at which nothing would show that
// traffic waits, and which surely carry more of it than they did: those that carry most
// more, at most maxLoaded.
func (f *fabricMeasures) loaded() []int {
	var at []int
	more := make([]float64, len(f.m.Ends))
	work := max(f.work, f.steady)
	for i, on := range f.e.Fabric.OnPath {
		if !on || !f.m.Ends[i].Main || f.m.Ends[i].IsNIC() || f.m.Ends[i].Shows() {
			continue
		}
		more[i] = f.e.Fabric.Now.Of[i].Util - f.e.Fabric.Before.Of[i].Util
		if more[i] > float64(leastMore*f.loadErr(i)) && f.loadRatio(i, work)-float64(leastMore*f.loadRatioErr(i, work)) > 1 {
			at = append(at, i)
		}
	}
	byBlame(at, more)
	return at[:min(len(at), maxLoaded)]
}

const (
	// leastMore is by how many standard errors an end must carry more than before.
	leastMore = 3.0
	// maxLoaded bounds how many ends are weighed because of that alone.
	maxLoaded = 8
)

func (f *fabricMeasures) end(i int) Values {
	n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
	share, _ := f.e.Fabric.Blame.PortShare(f.m, i)
	v := Values{
		BlameShare:          share,
		Explained:           f.own[i] / f.lost,
		ExplainedLowerBound: f.e.Fabric.Now.Surely(f.e.Fabric.Before, i) / f.lost,
		Waiting:             f.own[i],
		FacesHost:           boolValue(f.m.FacesHost(i)),
		Between:             boolValue(f.m.Between(i)),
		LoadRatio:           f.loadRatio(i, max(f.work, f.steady)),
		OneWay:              f.oneWay,
		PathDown:            f.down,
		Lopsided:            f.lopsided(i),
		Grown:               n.Util - b.Util,
	}
	if share == 0 && !f.m.Ends[i].Shows() {
		for _, unseen := range []Measure{BlameShare, Explained, ExplainedLowerBound, Waiting} {
			delete(v, unseen)
		}
	}
	if at, ok := f.e.began(endFact(f.e, i)); ok {
		v[TooLate] = tooLate(f.e, at)
	}
	f.stops(v, i)
	f.health(v, i)
	f.ceilings(v, n, b)
	if f.m.Between(i) {
		alone, seen := f.hotAlone(i)
		put(v, HotAlone, alone, seen)
		f.brought(v, i)
	}
	v[LoadRatio.Err()], v[Grown.Err()] = f.loadRatioErr(i, max(f.work, f.steady)), f.loadErr(i)
	v[OneWay.Err()] = f.oneWayErr
	largestOwn(f.planes, f.switches).putOwn(v)
	if f.m.Between(i) {
		f.parallelRise(v, i)
	}
	if rise, seen := f.othersRise(f.m.Ends[i].Speed); seen {
		v[NeighbourUp] = rise
		f.sentByOthers(v, i, rise)
	}
	if more := float64(v[Grown] * f.m.Ends[i].Speed); more > 0 {
		v[ForeignPart] = min(f.foreign/max(more, f.others), ratioCap)
		v[ForeignPart.Err()] = f.foreignErr / max(more, f.others)
	}
	return v
}

// doubts notes the standard errors of what candidates explain of the loss by waiting.
func (f *fabricMeasures) doubts(cands []Candidate) {
	for _, c := range cands {
		chance := f.topErr
		if i, ok := f.m.Index(c.Entity); ok {
			chance = f.e.Fabric.Now.GainErr(f.e.Fabric.Before, i) / f.lost
		}
		for _, m := range []Measure{Explained, ExplainedLowerBound} {
			f.doubt(c.Values, m, chance)
		}
		for _, m := range []Measure{GroupExplained, SharedExplained, FabricExplained, ShareExplained} {
			f.doubt(c.Values, m, f.topErr)
		}
	}
}

// doubt notes the standard error of a measure of waiting: the given one by chance,
// and in addition that the estimate of waiting may be too long.
func (f *fabricMeasures) doubt(v Values, m Measure, chance float64) {
	x, seen := v[m]
	if vague := float64(x * (1 - 1/max(1, f.slack))); seen && (vague > 0 || chance > 0) {
		v[m.Err()] = stats.Quadrature(vague, chance)
	}
}

// lopsided is what end i sends less what it receives, beyond before.
func (f *fabricMeasures) lopsided(i int) float64 {
	n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
	return (n.Util - n.RUtil) - (b.Util - b.RUtil)
}

// sentByOthers measures whether hosts outside the job, which send rise links more than before,
// send what end i sends more than it receives. If they do not, its own hosts do: they send
// packets again, with each that is counted the rest of its window, or send to one host what
// they sent to others. Which it is, is known only where they count what they send again, or,
// where none does, where one of them sends more.
func (f *fabricMeasures) sentByOthers(v Values, i int, rise float64) {
	more, err := v[Lopsided], float64(math.Sqrt2*f.loadErr(i))
	if more <= err {
		return
	}
	part := min(max(rise, 0)/more, ratioCap)
	if part < 1 && f.losses.most < leastAgain && (f.losses.counted || f.ownRise < float64(more*f.m.Ends[i].Speed)/2) {
		return
	}
	v[SentByOthers] = part
	v[SentByOthers.Err()] = stats.Quadrature(float64(v[SentByOthers]*err/more), f.unread)
}

// stops measures pause sent and received; credits are reported separately.
func (f *fabricMeasures) stops(v Values, i int) {
	n, b := &f.e.Fabric.Now.Of[i], &f.e.Fabric.Before.Of[i]
	if !n.Credits {
		v[PauseReceived] = n.PauseReceived - b.PauseReceived
	}
	if p := f.m.Ends[i].Peer; p >= 0 && f.e.Fabric.Now.Of[p].Credits {
		return
	}
	if !n.Stops {
		return
	}
	v[PauseSent] = n.PauseSent - b.PauseSent
	if n.Idle > 0 {
		v[PauseSentIdle] = n.PauseSentIdle
	}
}

// ceilings measures the most an end sent and received. A sample that averages
// over a step shows no ceiling, only the mean: then they are not seen.
func (f *fabricMeasures) ceilings(v Values, n, b *fabric.Reading) {
	if !f.fine(n) || !f.fine(b) {
		return
	}
	if n.Ceiling > 0 {
		v[Ceiling] = n.Ceiling
	}
	if b.Peak > idleLoad {
		v[CeilingRatio] = n.Peak / b.Peak
	}
	if b.RPeak > max(idleLoad, n.Ceiling) { // what a slow link would have passed is not known
		v[ReverseRatio] = n.RPeak / b.RPeak
	}
}

// fine reports whether an end is sampled at least about once a step.
func (f *fabricMeasures) fine(r *fabric.Reading) bool {
	return r.Cadence <= float64(1.2*f.e.Degradation.Usual)
}

// loadRatio is what end i carries now over before, per unit of work.
func (f *fabricMeasures) loadRatio(i int, work float64) float64 {
	n, b := f.e.Fabric.Now.Of[i].Util, f.e.Fabric.Before.Of[i].Util
	if b < idleLoad {
		if n < float64(4*idleLoad) {
			return 1
		}
		return ratioCap
	}
	return min(n/b/work, ratioCap)
}

// loadErr is the standard error of what end i carries now against before, in shares
// of its speed.
func (f *fabricMeasures) loadErr(i int) float64 {
	return f.e.Fabric.Now.LoadErr(f.e.Fabric.Before, i)
}

// loadRatioErr is the standard error of loadRatio.
func (f *fabricMeasures) loadRatioErr(i int, work float64) float64 {
	return f.loadErr(i) / max(f.e.Fabric.Before.Of[i].Util, idleLoad) / work
}

// hotAlone is the end's part of the waiting of its siblings: the other uplinks
// of its access switch, or the other ways into the switch it leads to. It is not seen
// where nothing shows that any of them waits.
func (f *fabricMeasures) hotAlone(i int) (part float64, seen bool) {
	peer := f.m.Ends[i].Peer
	up := f.anyHost(f.m.Ends[i].Owner)
	owner := f.m.Ends[i].Owner
	if !up {
		owner = f.m.Ends[peer].Owner
	}
	var all float64
	for _, s := range f.m.Of(owner) {
		if !f.m.Between(s) {
			continue
		}
		if !up {
			s = f.m.Ends[s].Peer
		}
		all += f.own[s]
	}
	if all <= 0 {
		return 0, f.m.Ends[i].Shows()
	}
	return f.own[i] / all, true
}

// brought measures which part of what end i sends more came into its switch through
// one other end: nearly all where flows met before they came there, and what the end
// carries is what the link before it lets through.
func (f *fabricMeasures) brought(v Values, i int) {
	more := float64((f.e.Fabric.Now.Of[i].Util - f.e.Fabric.Before.Of[i].Util) * f.m.Ends[i].Speed)
	if more <= 0 {
		return
	}
	own := float64(f.loadErr(i) * f.m.Ends[i].Speed)
	most, err := 0.0, own
	for _, j := range f.m.Of(f.m.Ends[i].Owner) {
		end := &f.m.Ends[j]
		if came := float64((f.e.Fabric.Now.Of[j].RUtil - f.e.Fabric.Before.Of[j].RUtil) * end.Speed); j != i && end.Main && came > most {
			most, err = came, float64(f.loadErr(j)*end.Speed)
		}
	}
	v[Brought] = min(most/more, ratioCap)
	v[Brought.Err()] = stats.Quadrature(err, float64(v[Brought]*own)) / more
}

func (f *fabricMeasures) anyHost(sw telemetry.Entity) bool {
	for _, i := range f.m.Of(sw) {
		if f.m.FacesHost(i) {
			return true
		}
	}
	return false
}
