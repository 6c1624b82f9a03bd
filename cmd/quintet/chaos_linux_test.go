package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestChaos runs a site on several machines with addresses of their own: three
// servers of the log in a cluster, two engines, two notifiers, two collectors that
// read simulated devices over their protocols. It injects faults into machines,
// links, clocks and disks, singly and in pairs, while faults of the simulated site
// come and go, and then holds what was published and delivered against the promise.
//
// make chaos runs it, as root, in namespaces of its own, so that nothing of it is
// left. QUINTET_CHAOS is how long, QUINTET_CHAOS_SEED what decides the faults,
// QUINTET_CHAOS_DIR a folder for the transcript and the log.
func TestChaos(t *testing.T) {
	length := os.Getenv("QUINTET_CHAOS")
	if length == "" {
		t.Skip("half an hour, and root: make chaos")
	}
	lasts, err := time.ParseDuration(length)
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 || os.Getenv("QUINTET_CHAOS_NAMESPACE") == "" {
		t.Fatal("chaos: needs root and network and mount namespaces of its own: run make chaos as root")
	}
	if err := tools(); err != nil {
		t.Fatal(err)
	}
	seed := uint64(1)
	if s := os.Getenv("QUINTET_CHAOS_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatal(err)
		}
	}
	c := newChaos(t, seed, lasts)
	c.run(lasts)
	c.judge()
}

// chaos is a run of the test.
type chaos struct {
	t        *testing.T
	ctx      context.Context
	site     *site
	rand     *rand.Rand
	machines []*machine
	urls     []string
	wired    *wiredSite
	log      *bus.Bus
	began    time.Time

	mu         sync.Mutex
	transcript io.Writer
	struck     []struckFault
	acked      map[string]time.Time // records of the writer, by their bytes
	writes     []time.Time          // when each was stored
	injected   int
	stalled    time.Duration        // the longest time that the test itself had no processor, since it was asked last
	stallEnds  []time.Time          // of stalls that the simulated jobs were stalled by, too
	published  map[string]time.Time // revisions, by "id.revision"
	delivered  map[string]time.Time // likewise, when the receiver had them first
	wrong      []string             // promises that were not kept
}

const (
	chaosRound  = 12 * time.Second // of a fault, at most
	chaosCalm   = 12 * time.Second // after it
	chaosFirst  = 75 * time.Second // until the first fault of the site: what is usual must be known
	chaosStrike = 100 * time.Second
	chaosApart  = 80 * time.Second
	// Promises.
	writesAgain = 10 * time.Second
	tellsAgain  = 5 * time.Second
	// maxStall is how long the machine may stall in a round whose times are judged.
	maxStall = time.Second
	// jobsStall is the stall of the machine beyond which the simulated jobs are
	// assumed to have stalled with it.
	jobsStall = 4 * time.Second
)

func newChaos(t *testing.T, seed uint64, lasts time.Duration) *chaos {
	s := newSite(t, seed)
	s.within(lasts + 15*time.Minute)
	c := &chaos{t: t, ctx: s.ctx, site: s, rand: rand.New(rand.NewPCG(seed, 21)), began: time.Now(), transcript: io.Discard, acked: map[string]time.Time{},
		published: map[string]time.Time{}, delivered: map[string]time.Time{}}
	if dir := os.Getenv("QUINTET_CHAOS_DIR"); dir != "" {
		f, err := os.Create(filepath.Join(dir, "transcript.txt"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		c.transcript = f
	}
	c.say("seed", "%d, for %s", seed, lasts)
	c.bridge()
	c.natsServers(os.Getenv("QUINTET_CHAOS_NATS"))
	c.connect()
	c.services()
	return c
}

// say writes a line of the transcript.
func (c *chaos) say(what, form string, words ...any) {
	line := fmt.Sprintf("%7.1f s  %-9s  %s\n", time.Since(c.began).Seconds(), what, fmt.Sprintf(form, words...))
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.transcript, line)
	fmt.Print(line)
}

// broken records a promise that was not kept.
func (c *chaos) broken(form string, words ...any) {
	c.say("BROKEN", form, words...)
	c.wrong = append(c.wrong, fmt.Sprintf(form, words...))
}

// connect connects the test itself to the cluster and makes its streams.
func (c *chaos) connect() {
	c.site.patiently(2*time.Minute, "the servers have made the streams", func() bool {
		ctx, stop := context.WithTimeout(c.ctx, 20*time.Second)
		defer stop()
		b, err := bus.Connect(ctx, bus.Config{Site: "site", Name: "test", Servers: c.urls, Copies: 3})
		if err != nil {
			return false
		}
		if err = b.Create(ctx); err != nil {
			c.say("seen", "streams: %v", err)
			b.Close()
			return false
		}
		c.log = b
		return true
	})
	c.t.Cleanup(c.log.Close)
	c.say("up", "three servers, streams of three copies; %s leads the log", c.leader().name)
}

// services starts the engines, the notifiers, the site and its collectors.
func (c *chaos) services() {
	s := c.site
	if err := os.WriteFile(s.path("secret"), []byte("whsec_Y2hhb3NjaGFvc2NoYW9zY2hhb3NjaGFvcw==\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	for _, name := range []string{"engine1", "engine2"} {
		m := c.machine(name, "engine")
		m.command = []string{s.program, "serve", "--config", c.config(m, nil), "--role", "engine,tick,web", "--log-level", "warn"}
		m.start()
	}
	hook := strings.Replace(s.receiver.url, "127.0.0.1", labAddress, 1)
	for _, name := range []string{"notify1", "notify2"} {
		m := c.machine(name, "notify")
		m.command = []string{s.program, "serve", "--config", c.config(m, map[string]any{"notify": map[string]any{"receivers": []any{map[string]any{
			"name": "ear", "figures": true, "webhook": map[string]any{"url": hook, "timeout": "5s", "secret_file": s.path("secret")}}}}}), "--role", "notify", "--log-level", "warn"}
		m.start()
	}
	var err error
	if c.wired, err = newWiredSite(16, 3, onSlurm, s.path("lab")); err != nil {
		c.t.Fatal(err)
	}
	entries := c.wired.entries()
	slow := map[string][]map[string]any{"redfish": entries["redfish"], "scrape": entries["scrape"]}
	delete(entries, "redfish")
	delete(entries, "scrape")
	one, two := c.machine("collect1", "collect"), c.machine("collect2", "collect")
	for _, m := range []*machine{one, two} {
		m.disk = c.smallDisk(m.name, 32<<20, false)
		m.reads()
	}
	one.takes("tcp", collectsPage)
	for _, e := range entries["logs"] {
		if listen, ok := e["listen"].([]string); ok {
			one.takes("udp", strings.TrimPrefix(listen[0], "udp://"))
		}
	}
	one.command = []string{s.program, "serve", "--config", c.config(one, map[string]any{"collectors": entries, "topology": map[string]any{"files": []string{c.wired.plan}}}), "--role", "collect,web", "--log-level", "warn"}
	two.command = []string{s.program, "serve", "--config", c.config(two, map[string]any{"collectors": slow}), "--role", "collect", "--log-level", "warn"}
	one.start()
	two.start()
}

// config writes the configuration of a machine's process.
func (c *chaos) config(m *machine, more map[string]any) string {
	data := c.site.path("data-" + m.name)
	if m.disk != nil {
		data = m.disk.dir
	}
	doc := map[string]any{"site": map[string]any{"name": "site"}, "listen": collectsPage, "data": data,
		"nats": map[string]any{"urls": c.urls, "replicas": 3, "process": m.name}}
	maps.Copy(doc, more)
	b, err := yaml.Marshal(doc)
	if err != nil {
		c.t.Fatal(err)
	}
	c.site.write(m.name+".yaml", string(b))
	return c.site.path(m.name + ".yaml")
}

// run injects faults for so long.
func (c *chaos) run(lasts time.Duration) {
	ctx, stop := context.WithTimeout(c.ctx, lasts)
	defer stop()
	var parts sync.WaitGroup
	defer parts.Wait()
	whole, end := context.WithCancel(c.ctx)
	c.t.Cleanup(end)
	go c.watchMachine(whole) // until the end: what is opened late is judged, too
	go func() { _ = c.wired.run(whole, "http://"+collectsPage) }()
	parts.Go(func() { c.write(ctx) })
	parts.Go(func() { c.watchIncidents(ctx) })
	parts.Go(func() { c.watchReceiver(ctx) })
	parts.Go(func() {
		c.wired.strike(ctx, c.schedule(lasts), func(d due, f fault.Fault, err error) {
			c.say("struck", "%s at %s for %s (%v)", f.Name, f.Entity, d.lasts, err)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.struck = append(c.struck, struckFault{d, time.Now(), f, err})
		})
	})
	for n := 0; ctx.Err() == nil; n++ {
		pause(ctx, chaosCalm)
		if ctx.Err() == nil {
			c.round(ctx, 1+n%2)
		}
	}
	c.again()
}

// schedule is one fault of the site after the other, each over before the end.
func (c *chaos) schedule(lasts time.Duration) (out []due) {
	order := []string{"gpu-slow", "link-errors", "power-cap", "host-jitter"}
	for at := chaosFirst; at+chaosStrike+30*time.Second < lasts; at += chaosStrike + chaosApart {
		d, err := parseFault(order[len(out)%len(order)])
		if err != nil {
			c.t.Fatal(err)
		}
		d.at, d.lasts = at, chaosStrike
		out = append(out, d)
	}
	return out
}

// round injects so many faults at once, into as many machines, and ends them. Of
// the servers of the log one at most is in trouble: two are more than it survives.
func (c *chaos) round(ctx context.Context, n int) {
	all, leader, whole := injections(), c.leader(), c.clusterIsWhole()
	if !whole {
		c.say("seen", "a server of the log is not whole: nothing is injected into another")
	}
	var names []string
	var ends []func()
	hit := map[string]bool{}
	c.stalls()
	leads, tells := false, false
	from := time.Now()
	for tries := 0; len(ends) < n && tries < 100; tries++ {
		m, i := c.machines[c.rand.IntN(len(c.machines))], all[c.rand.IntN(len(all))]
		if !i.fits(m) || hit[m.kind] || m.kind == "nats" && !whole {
			continue
		}
		what, end, err := i.inject(m, c.rand)
		if err != nil {
			c.say("injected", "%s: %s: not injected: %v", m.name, i.name, err)
			continue
		}
		hit[m.kind] = true
		names, ends = append(names, m.name+": "+i.name), append(ends, end)
		gone := slices.Contains([]string{"kill", "stop", "partition"}, i.name)
		leads, tells = leads || gone && m == leader, tells || gone && m.kind == "notify"
		c.injected++
		c.say("injected", "%s: %s: %s%s", m.name, i.name, what, map[bool]string{true: " (leads the log)"}[m == leader])
	}
	pause(ctx, chaosRound/2+time.Duration(c.rand.Int64N(int64(chaosRound/2))))
	for _, end := range ends {
		end()
	}
	c.say("ended", "%s", strings.Join(names, "; "))
	pause(ctx, 5*time.Second)
	c.again()
	gap := c.longestGap(from)
	now := "nobody"
	if m := c.leader(); m != nil {
		now = m.name
	}
	came, slowest := c.slowestDelivery(from)
	stalled := c.stalls()
	c.say("seen", "longest time without a stored write: %s; %s leads the log; %d deliveries, the slowest %s after it was published; the machine stalled for %s",
		gap.Round(10*time.Millisecond), now, came, slowest.Round(10*time.Millisecond), stalled.Round(10*time.Millisecond))
	if n > 1 || stalled > maxStall {
		return
	}
	if leads && gap > writesAgain {
		c.broken("the log lost its leader (%s) and wrote again after %s, want %s", names[0], gap.Round(10*time.Millisecond), writesAgain)
	}
	if tells && slowest > tellsAgain {
		c.broken("a notifier was gone (%s) and a message came %s after it was published, want %s", names[0], slowest.Round(10*time.Millisecond), tellsAgain)
	}
}

// write keeps writing records into the log and remembers which were acknowledged.
func (c *chaos) write(ctx context.Context) {
	feed, err := collectors.NewFeed(&telemetry.Schema{Source: telemetry.Source{Collector: "chaos", Target: "writer"}, Cadence: time.Second,
		Columns:  []telemetry.Column{{Metric: "of_nobody_total", Type: telemetry.Uint}},
		Entities: []telemetry.Entity{{Kind: telemetry.Node, Name: "writer"}}}, uint64(now()))
	if err != nil {
		c.t.Error(err)
		return
	}
	_ = c.log.Append(ctx, "writer", feed.Schema())
	for n := uint64(0); ctx.Err() == nil; n++ {
		r, err := feed.Frame(telemetry.Instant{Source: now(), Received: now()}, []uint64{n}, nil)
		if err != nil {
			c.t.Error(err)
			return
		}
		b, err := telemetry.AppendRecord(nil, r)
		if err == nil {
			err = c.log.Append(ctx, "writer", r)
		}
		if err == nil {
			c.mu.Lock()
			c.acked[string(b)] = time.Now()
			c.writes = append(c.writes, time.Now())
			c.mu.Unlock()
		}
		pause(ctx, 250*time.Millisecond)
	}
}

// longestGap is the longest time between two acknowledged writes since a time.
func (c *chaos) longestGap(from time.Time) (longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := from
	for _, at := range append(slices.Clone(c.writes), time.Now()) {
		if at.After(from) {
			longest, last = max(longest, at.Sub(last)), at
		}
	}
	return longest
}

// watchMachine records how late a timer is: times are not judged where the machine
// is overloaded.
func (c *chaos) watchMachine(ctx context.Context) {
	const every = 100 * time.Millisecond
	for last := time.Now(); ctx.Err() == nil; last = time.Now() {
		pause(ctx, every)
		c.mu.Lock()
		late := time.Since(last) - every
		c.stalled = max(c.stalled, late)
		if late > jobsStall {
			c.stallEnds = append(c.stallEnds, time.Now())
		}
		c.mu.Unlock()
	}
}

// stalls returns the longest stall since it was asked last.
func (c *chaos) stalls() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.stalled = 0 }()
	return c.stalled
}

// watchIncidents remembers when each revision was published.
func (c *chaos) watchIncidents(ctx context.Context) {
	for from := uint64(0); ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		_ = c.log.FollowIncidents(ctx, from, func(r bus.Revision) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if key := fmt.Sprintf("%s.%d", r.ID, r.Number); c.published[key].IsZero() {
				c.published[key] = time.Now()
			}
			from = r.Sequence
			return nil
		})
	}
}

// watchReceiver remembers when each revision was delivered first.
func (c *chaos) watchReceiver(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		c.site.receiver.mu.Lock()
		ids := slices.Collect(maps.Keys(c.site.receiver.bodies))
		c.site.receiver.mu.Unlock()
		c.mu.Lock()
		for _, id := range ids {
			if key := strings.TrimSuffix(id, ".ear"); c.delivered[key].IsZero() {
				c.delivered[key] = time.Now()
			}
		}
		c.mu.Unlock()
	}
}

// slowestDelivery is how many revisions were delivered since a time, and the longest
// time that one of them took.
func (c *chaos) slowestDelivery(from time.Time) (n int, longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, at := range c.delivered {
		if was := c.published[key]; at.After(from) && !was.IsZero() {
			n, longest = n+1, max(longest, at.Sub(was))
		}
	}
	return n, longest
}

// judge holds the promises against what is there in the end.
func (c *chaos) judge() {
	c.t.Helper()
	s := c.site
	log := c.log
	s.patiently(4*time.Minute, "every incident has ended", func() bool {
		defer pause(c.ctx, time.Second)
		for _, body := range newestOf(s.told(log)) {
			if !strings.Contains(body, `"state":"resolved"`) {
				return false
			}
		}
		return true
	})
	entries := s.entries(log)
	c.record(entries)
	want := s.settled(log)
	c.say("judged", "replay of %d entries: %d revisions, equal to what was published: %v", len(entries), len(want), !c.t.Failed())
	lost := c.lost(s.entries(log))
	c.say("judged", "%d acknowledged writes, %d lost", len(c.acked), lost)
	if lost > 0 {
		c.broken("%d of %d acknowledged writes are not in the log", lost, len(c.acked))
	}
	c.received(want)
	c.faults(want)
	for _, w := range c.wrong {
		c.t.Error(w)
	}
}

// lost counts acknowledged records that the log does not hold.
func (c *chaos) lost(entries []bus.Entry) int {
	left := maps.Clone(c.acked)
	for _, e := range entries {
		if b, err := telemetry.AppendRecord(nil, e.Record); err == nil {
			delete(left, string(b))
		}
	}
	return len(left)
}

// received checks that the receiver has had each newest revision, and each of all
// of them once but for repeats of what a fault interrupted.
func (c *chaos) received(want published) {
	s := c.site
	c.site.patiently(2*time.Minute, "the receiver has the newest revisions", func() bool { return s.receiver.complete(want) })
	s.receiver.mu.Lock()
	for id := range s.receiver.bodies {
		if strings.HasPrefix(id, "alert") { // raised by the notifiers, not published by the engines
			delete(s.receiver.bodies, id)
		}
	}
	n := len(s.receiver.bodies)
	s.receiver.mu.Unlock()
	c.say("judged", "%d revisions delivered, %d repeats", n, s.receiver.judge(c.t, want, c.injected))
}

// faults checks that each fault of the site was one incident of its own with the
// right root: what was open in its time is judged as it was then, so that neither a
// later fault can spoil the answer nor an earlier incident lend its own.
func (c *chaos) faults(want published) {
	left := episodesOf(c.t, want)
	owner := map[string]fault.Fault{} // the fault that an incident is about, by the incident
	for i, f := range c.struck {
		if f.err != nil {
			continue
		}
		end := f.at.Add(f.due.lasts + late)
		if i+1 < len(c.struck) && c.struck[i+1].at.Before(end) { // what opens after the next fault is that one's
			end = c.struck[i+1].at
		}
		answer, err := c.wired.site.Answer(f.fault)
		if err != nil {
			c.t.Fatal(err)
		}
		name := fmt.Sprintf("%s at %s", f.fault.Name, f.fault.Entity)
		newest := map[string]*opened{} // by incident
		left = slices.DeleteFunc(left, func(x episode) bool {
			if x.began.Before(f.at.Add(-5*time.Second)) || x.began.After(end) {
				return false
			}
			newest[x.last.ID] = &x.last
			return true
		})
		var verdicts []string
		rights := 0
		for _, id := range slices.Sorted(maps.Keys(newest)) {
			verdict := judged(f.fault, answer, newest[id])
			verdicts = append(verdicts, fmt.Sprintf("%s: %s", verdict, newest[id]))
			if verdict == right {
				rights++
			}
			if was, ok := owner[id]; ok && !onePlace(was.Entity, f.fault.Entity) {
				c.broken("%s reopened %s, the incident of %s at %s", name, id, was.Name, was.Entity)
			}
			owner[id] = f.fault
		}
		c.say("judged", "%s: %s", name, strings.Join(verdicts, "; "))
		if rights != 1 || len(verdicts) != 1 {
			c.broken("%s ended as %d incidents, %d with the right root", name, len(verdicts), rights)
		}
	}
	for _, x := range left {
		if slices.ContainsFunc(c.stallEnds, func(end time.Time) bool { return x.began.Sub(end).Abs() < time.Minute }) {
			c.say("judged", "not judged, the machine stalled: %s", &x.last)
			continue
		}
		c.broken("an incident without a fault: %s", &x.last)
	}
}

// onePlace reports whether two faults are at one place, of which relapses within ten
// minutes are one incident, whatever they are called (docs/decisions/0043): the same
// entity, or a host and what is in it.
func onePlace(a, b telemetry.Entity) bool {
	host := func(x telemetry.Entity) string { name, _, _ := strings.Cut(x.Name, "/"); return name }
	return a == b || (a.Kind == telemetry.Node || b.Kind == telemetry.Node) && host(a) == host(b)
}

// episode is the time between one opening of an incident, or reopening, and its end.
type episode struct {
	began time.Time
	last  opened // as it was published last in that time
}

// episodesOf lists the episodes of all incidents by their beginning.
func episodesOf(t *testing.T, all published) (out []episode) {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		idA, a1 := revisionOf(a)
		idB, b1 := revisionOf(b)
		return cmp.Or(strings.Compare(idA, idB), cmp.Compare(a1, b1))
	})
	over := true
	for _, key := range keys {
		var x struct {
			opened
			Updated time.Time
		}
		if err := json.Unmarshal([]byte(all[key]), &x); err != nil {
			t.Fatal(err)
		}
		if n := len(out) - 1; over || out[n].last.ID != x.ID {
			out = append(out, episode{began: x.Updated})
		}
		n := len(out) - 1
		if !x.Root.Entity.IsZero() || out[n].last.ID == "" {
			out[n].last = x.opened
		}
		over = x.State == "resolved"
	}
	slices.SortStableFunc(out, func(a, b episode) int { return a.began.Compare(b.began) })
	return out
}

// record writes the log and the injected faults beside the transcript, so that what
// was found can be replayed.
func (c *chaos) record(entries []bus.Entry) {
	dir := os.Getenv("QUINTET_CHAOS_DIR")
	if dir == "" {
		return
	}
	f, err := os.Create(filepath.Join(dir, "log.qtrace"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	w, err := trace.NewWriter(f, trace.Header{Site: "site", Writer: program()})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Append(e.Position, e.Record); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		c.t.Fatal(err)
	}
}
