package rules

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

var update = flag.Bool("update", false, "write docs/signatures.md anew")

// good is a file with nothing wrong in it.
const good = `signature: slow-receiver
domain: network
expect: incident
roots: [nic]
prior: -3.5
doc: >
  It receives slower than
  it is sent data.
sentence: "{root} degrades {job}, pause {pause_sent|percent}, loss {explained}"
features:
  - name: sends-pause
    measure: pause_sent
    none: 0.005
    full: 0.05
    for: 4
    against: -8
    required: true
    why: "it sends pause {value} of the time"
  - {name: idle, measure: pause_sent_idle, none: 0.5, full: 0.1, for: 1.5, against: -4, why: "less is more"}
needs:
  - {metric: pcie_link_width, on: nic, would_tell: slow-receiver from pcie-downgrade}
actions:
  - {kind: drain, target: node, text: "Drain {node}, then look at {root} of {job}."}
`

// site is a root with the given text of slow-receiver and its scenarios.
func site(text string) fstest.MapFS {
	return fstest.MapFS{
		"slow-receiver/signature.yaml":    {Data: []byte(text)},
		"slow-receiver/fires-a.txtar":     {},
		"slow-receiver/silent-b.txtar":    {},
		"slow-receiver/notes/readme.text": {},
	}
}

func signaturesOf(roots ...fs.FS) ([]explain.Signature, error) {
	set, err := Load(roots...)
	return set.Signatures, err
}

func TestAGoodFileIsRead(t *testing.T) {
	sigs, err := signaturesOf(site(good))
	if err != nil {
		t.Fatal(err)
	}
	if ps := Check(site(good)); len(ps) != 0 {
		t.Errorf("problems: %v", ps)
	}
	want := explain.Signature{
		Name: "slow-receiver", Domain: telemetry.Network, Expect: explain.ExpectIncident, Roots: []telemetry.Kind{telemetry.NIC},
		Prior: -3.5, Doc: "It receives slower than it is sent data.", Sentence: "{root} degrades {job}, pause {pause_sent|percent}, loss {explained}",
		Features: []explain.Feature{
			{Name: "sends-pause", Measure: "pause_sent", None: 0.005, Full: 0.05, For: 4, Against: -8, Required: true,
				Why: "it sends pause {value} of the time"},
			{Name: "idle", Measure: "pause_sent_idle", None: 0.5, Full: 0.1, For: 1.5, Against: -4, Why: "less is more"},
		},
		Needs:   []explain.Need{{Metric: "pcie_link_width", On: telemetry.NIC, WouldTell: "slow-receiver from pcie-downgrade"}},
		Actions: []explain.ActionTemplate{{Kind: "drain", Target: "node", Text: "Drain {node}, then look at {root} of {job}."}},
	}
	if len(sigs) != 1 || Digest(sigs) != Digest([]explain.Signature{want}) {
		t.Errorf("got  %+v\nwant %+v", sigs, want)
	}
}

// TestWhatIsWrongIsNamed changes one thing in the good file.
func TestWhatIsWrongIsNamed(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"prior: -3.5", "prior: -3.5\ncolour: red", `slow-receiver/signature.yaml:6:1: signature: unknown key "colour"; want one of signature, domain`},
		{"    none: 0.005\n", "    none: 0.005\n    nnoe: 1\n", `slow-receiver/signature.yaml:14:5: feature: unknown key "nnoe"; want one of name, measure, none`},
		{"would_tell:", "wuold_tell:", `:21:40: need: unknown key "wuold_tell"`},
		{"would_tell:", "wuold_tell:", `:21:5: need: key "would_tell" is missing`},
		{"prior: -3.5", "prior: high", `:5:8: prior: want a finite decimal number, found text "high"`},
		{"prior: -3.5", "prior: .inf", `:5:8: prior: want a finite decimal number, found ".inf"`},
		{"prior: -3.5", "prior: .nan", `:5:8: prior: want a finite`},
		{"prior: -3.5", "prior:", `:5:7: prior: want a finite decimal number, found nothing`},
		{"prior: -3.5", "prior: -3.5\ncorroborates: ended", `:6:15: corroborates: want true, false or at-once, found text "ended"`},
		{"for: 1.5, against: -4", "against: -4", `:19:5: feature idle: one of "for" and "against" without the other`},
		{"for: 1.5, against: -4, ", "", `:19:5: feature idle: keys "for" and "against" are missing`},
		{"prior: -3.5", "prior: 1\nprior: 2", `:6:1: signature: key "prior" twice`},
		{"required: true", "required: maybe", `:17:15: required: want true, false or either, found text "maybe"`},
		{"roots: [nic]", "roots: nic", `:4:8: roots: want a list, found text "nic"`},
		{"roots: [nic]", "roots: [nik]", `:4:9: roots: unknown kind "nik"`},
		{"roots: [nic]", "roots: [nic, nic]", `:4:14: roots: kind "nic" twice`},
		{"roots: [nic]", "roots: []", `:1:12: roots: none`},
		{"domain: network", "domain: networking", `:2:9: domain: want software, computing, network, power or cooling, found text "networking"`},
		{"expect: incident", "expect: disaster", `:3:9: expect: want incident, risk or benign, found text "disaster"`},
		{"name: idle", "name: sends-pause", `:19:5: feature sends-pause: this name twice`},
		{"measure: pause_sent_idle", "measure: tells_idly", `:19:5: feature idle: measure: unknown "tells_idly"`},
		{"none: 0.5, full: 0.1", "none: 0.5, full: 0.5", `:19:5: feature idle: none and full are both 0.5`},
		{"for: 1.5, against: -4", "for: -4, against: 1.5", `:19:5: feature idle: for -4 is below against 1.5`},
		{"for: 1.5, against: -4", "for: 1, against: 1", `:19:5: warning: feature idle: for and against are alike`},
		{"metric: pcie_link_width", "metric: pcie_width", `:21:5: need: metric: unknown "pcie_width"`},
		{"on: nic", "on: crah", `:21:5: need: metric pcie_link_width is not one of kind crah`},
		{"on: nic", "on: nick", `:21:5: need: on: unknown kind "nick"`},
		{"{root} degrades", "{roott} hurts", `:9:11: sentence: unknown placeholder {roott}; want root, node, job, a measure or a feature's name`},
		{"{pause_sent|percent}", "{pause_sent|permille}", `:9:11: sentence: unknown format in {pause_sent|permille}`},
		{"loss {explained}", "loss {explained", `:9:11: sentence: a '{' is not closed`},
		{"{value} of", "{values} of", `:18:10: why: unknown placeholder {values}`},
		{"Drain {node}", "Drain {host}", `:23:39: text: unknown placeholder {host}`},
		{"kind: drain", "kind: drian", `:23:12: kind: unknown "drian"; want one of drain, reseat`},
		{"target: node", "target: rack", `:23:27: target: unknown "rack"`},
		{"signature: slow-receiver", "signature: fast-receiver", `:1:12: signature: "fast-receiver" lies in a folder named "slow-receiver"`},
		{"signature: slow-receiver", "signature: Slow", `:1:12: signature: "Slow" is no name`},
		{"signature: slow-receiver", "signature: [slow]", `:1:12: signature: want text, found a list`},
		{"prior: -3.5", "prior: -3.5\nfamily: [pfc-storm, slow-receivr]", `:6:9: family: slow-receiver does not name itself`},
		{"prior: -3.5", "prior: -3.5\nfamily: [slow-receiver, odd]", `:6:9: warning: family: no signature is named "odd"`},
		{"prior: -3.5", "prior: -3.5\nfamily: [slow-receiver, slow-receiver]", `:6:9: family: slow-receiver twice`},
		{"loss {explained}\"", "loss {explained}\"\n---\nmore: 1", `:10:1: a second document`},
		{"prior: -3.5", "prior: &a -3.5\nfamily: *a", `:6:9: family: want a list, found an alias`},
		{"prior: -3.5", "prior: 'a", `:5:1: not YAML: found unexpected end of stream`},
		{"prior: -3.5", "prior: 1\n   x: 1", `:6:1: not YAML: mapping values are not allowed`},
		{"prior: -3.5", "prior: -3.5\nprecursor: {features: [busy], sentence: x}", `:6:12: precursor: no feature "busy"`},
		{"prior: -3.5", "prior: -3.5\nprecursor: {features: [idle], lasts: soon, sentence: x}", `:6:38: lasts: want a length of time such as 60s, found text`},
		{"prior: -3.5", "prior: -3.5\nprecursor: {features: [idle], while: [busy], sentence: x}", `:6:12: precursor: no feature "busy"`},
		{"prior: -3.5", "prior: -3.5\nprecursor: {features: [idle], while: [sends-pause], sentence: x}", `:6:12: precursor: feature sends-pause of while must read now, shift, ratio or bits of a metric of the root`},
		{"domain: network", "domain: [network]", `:2:9: domain: want software`},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%q is not in the good file", c.old)
		}
		if got := Check(site(text)).Error(); !strings.Contains(got, c.want) {
			t.Errorf("%q for %q:\ngot  %s\nwant %s", c.new, c.old, got, c.want)
		}
		_, err := Load(site(text))
		var ps Problems
		if warning := strings.Contains(c.want, "warning"); warning != (err == nil) || !warning && !errors.As(err, &ps) {
			t.Errorf("%q: Load says %v", c.new, err)
		}
	}
}

// reads is a feature of the good file that reads telemetry.
const reads = `{name: idle, metric: pcie_link_width, take: ratio, none: 0.9, full: 0.5, for: 1.5, against: -4, why: "less is more"}`

// TestAReadingIsRead reads each form of it.
func TestAReadingIsRead(t *testing.T) {
	half := 0.5
	for text, want := range map[string]explain.Reading{
		"metric: pcie_link_width, take: ratio":                                                {Metric: "pcie_link_width", Of: explain.OfRoot, Take: explain.TakeRatio},
		"metric: inlet_celsius, of: node, take: shift":                                        {Metric: "inlet_celsius", Of: explain.OfNode, Take: explain.TakeShift},
		"metric: gpu_power_watts, of: under, kind: gpu, take: peers":                          {Metric: "gpu_power_watts", Of: explain.OfUnder, Kind: telemetry.GPU, Take: explain.TakePeers, Among: explain.AmongMedian},
		"metric: gpu_power_watts, of: beside, kind: gpu, take: now, among: share, above: 0.5": {Metric: "gpu_power_watts", Of: explain.OfBeside, Kind: telemetry.GPU, Take: explain.TakeNow, Among: explain.AmongShare, Above: &half},
		"metric: job_data_wait_seconds, of: job, take: explained":                             {Metric: "job_data_wait_seconds", Of: explain.OfJob, Take: explain.TakeExplained},
		"metric: gpu_clock_event_reasons, of: under, kind: gpu, take: bits, bits: 0x60":       {Metric: "gpu_clock_event_reasons", Of: explain.OfUnder, Kind: telemetry.GPU, Take: explain.TakeBits, Bits: 96, Among: explain.AmongMedian},
		"metric: rank_comm_wait_seconds, of: ranks, take: ratio, among: least":                {Metric: "rank_comm_wait_seconds", Of: explain.OfRanks, Kind: telemetry.Rank, Take: explain.TakeRatio, Among: explain.AmongLeast},
		`event: xid, text: "79", of: under, kind: gpu, among: sum`:                            {Event: "xid", Text: "79", Of: explain.OfUnder, Kind: telemetry.GPU, Take: explain.TakeNow, Among: explain.AmongSum},
		"metric: port_up, of: facing, take: least":                                            {Metric: "port_up", Of: explain.OfFacing, Take: explain.TakeLeast, Among: explain.AmongMedian},
		"metric: job_data_wait_seconds, of: job, take: shift":                                 {Metric: "job_data_wait_seconds", Of: explain.OfJob, Take: explain.TakeShift},
	} {
		sigs, err := signaturesOf(site(strings.Replace(good, "measure: pause_sent_idle", text, 1)))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := sigs[0].Features[1]
		if got.Measure != "" || !reflect.DeepEqual(got.Reading, &want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", text, got.Reading, want)
		}
	}
}

// TestWhatIsWrongInAReadingIsNamed changes one thing in a reading.
func TestWhatIsWrongInAReadingIsNamed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"measure: pause_sent_idle, take: ratio", `:19:5: feature: a measure and "take"`},
		{"metric: port_up, event: xid, take: now", `:19:5: feature: both metric and event`},
		{"take: now", `:19:5: feature: neither "measure" nor "metric" nor "event"`},
		{"metric: port_upp, take: now", `:19:26: feature idle: metric: unknown "port_upp"`},
		{"metric: gpu_energy_joules_total, of: under, kind: gpu, take: now", `:19:26: feature idle: metric gpu_energy_joules_total: its past is not kept`},
		{"metric: feed_up, take: now", `:19:26: feature idle: metric feed_up is not one of kind nic`},
		{"metric: feed_up, of: over, kind: cdu, take: now", `:19:26: feature idle: metric feed_up is not one of kind cdu`},
		{"metric: port_up, take: nought", `:19:41: feature idle: take: unknown "nought"; want one of now, before`},
		{"metric: port_up", `:19:5: feature idle: take: unknown ""; want one of now`},
		{"metric: port_up, of: below, take: now", `:19:39: feature idle: of: unknown "below"; want one of root, node`},
		{"metric: port_up, of: under, take: now", `:19:39: feature idle: of under needs a kind`},
		{"metric: port_up, of: under, kind: nick, take: now", `:19:52: feature idle: kind: unknown "nick"`},
		{"metric: port_up, kind: nic, take: now", `:19:41: feature idle: kind: of root is one entity`},
		{"metric: rank_step_seconds, of: ranks, kind: nic, take: now", `:19:62: feature idle: kind: ranks are of kind rank`},
		{"metric: port_up, take: now, among: most", `:19:53: feature idle: among: there is only one entity of root`},
		{"metric: port_up, of: under, kind: nic, take: now, among: mean", `:19:75: feature idle: among: unknown "mean"`},
		{"metric: port_up, of: under, kind: nic, take: now, among: share", `:19:75: feature idle: among share needs either above or below`},
		{"metric: port_up, of: under, kind: nic, take: now, among: share, above: 1, below: 2", `:19:75: feature idle: among share needs`},
		{"metric: port_up, of: under, kind: nic, take: now, above: 1", `:19:75: feature idle: above and below belong to among share`},
		{"metric: port_up, take: bits", `:19:5: feature idle: take bits needs bits`},
		{"metric: port_up, take: now, bits: 4", `:19:52: feature idle: take bits needs bits`},
		{"metric: port_up, take: bits, bits: many", `:19:53: bits: want a whole number such as 96 or 0x60, found text "many"`},
		{"metric: port_up, take: bits, bits: -1", `:19:53: bits: want a whole number`},
		{"metric: port_tx_bytes_total, take: bits, bits: 1", `:19:53: feature idle: take bits: port_tx_bytes_total is no state`},
		{"metric: job_data_wait_seconds, of: job, take: no_data", `:19:64: feature idle: take no_data: job_data_wait_seconds is reported once a step`},
		{"metric: pcie_link_width, take: explained", `:19:49: feature idle: take explained: pcie_link_width is not seconds of a step`},
		{"metric: port_up, text: x, take: now", `:19:26: feature idle: text belongs to an event`},
		{"event: kid, of: node", `:19:25: feature idle: event: unknown "kid"; want one of xid, link_down`},
		{"event: xid, of: node, take: most", `:19:46: feature idle: take: events are counted`},
	} {
		text := strings.Replace(good, "measure: pause_sent_idle", c.text, 1)
		if got := Check(site(text)).Error(); !strings.Contains(got, c.want) {
			t.Errorf("%q:\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
	share := strings.Replace(good, "measure: pause_sent_idle, none: 0.5", "metric: port_up, of: under, kind: nic, take: now, among: share, above: 1, none: 5", 1)
	if got := Check(site(share)).Error(); !strings.Contains(got, "a share is between 0 and 1") {
		t.Errorf("a share of 5: got %s", got)
	}
}

// Texts may name the signature's own features, and what one of the root read.
func TestTextsNameFeatures(t *testing.T) {
	with := func(sentence string) string {
		return strings.Replace(strings.Replace(good, "{name: idle, measure: pause_sent_idle, none: 0.5, full: 0.1, for: 1.5, against: -4, why: \"less is more\"}", reads, 1),
			"{root} degrades {job}", sentence, 1)
	}
	for sentence, want := range map[string]string{
		"{idle} {idle|percent} {idle.before} {idle.now} {sends-pause}": "",
		"{idle.then}":          `unknown placeholder {idle.then}`,
		"{sends-pause.before}": `unknown placeholder {sends-pause.before}`,
		"{idler}":              `unknown placeholder {idler}`,
	} {
		if got := Check(site(with(sentence))).Error(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", sentence, got, want)
		}
	}
}

func TestWholeFilesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "slow-receiver/signature.yaml:1:1: empty file",
		"- a\n- b\n":                   ":1:1: signature: want keys and values, found a list",
		"just words":                   `:1:1: signature: want keys and values, found text "just words"`,
		"\x00\x01":                     "not YAML",
		"a: &x [*x, *x]":               `unknown key "a"`,
		strings.Repeat("#", maxFile+1): "at most 1048576",
	} {
		if got := Check(site(text)).Error(); !strings.Contains(got, want) {
			t.Errorf("%.20q: got %q, want %q", text, got, want)
		}
	}
	if got := Check(fstest.MapFS{"x/other.yaml": {}}).Error(); !strings.Contains(got, "no signature.yaml in it") {
		t.Errorf("an empty root: %q", got)
	}
}

func TestWhatIsMissingIsAWarning(t *testing.T) {
	text := good[:strings.Index(good, "actions:")]
	text = strings.Replace(text, "doc: >\n  It receives slower than\n  it is sent data.\n", "", 1)
	text = strings.Replace(text, `, why: "less is more"`, "", 1)
	root := fstest.MapFS{"slow-receiver/signature.yaml": {Data: []byte(text)}}
	var got []string
	for _, p := range Check(root) {
		if p.Severity != Warning {
			t.Errorf("not a warning: %v", p)
		}
		got = append(got, strings.Fields(p.Text)[0]+" "+strings.Fields(p.Text)[1])
	}
	if want := []string{"actions: none;", "doc: missing;", "no scenario", "no scenario", "feature idle:"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := Load(root); err != nil {
		t.Errorf("warnings refuse a set: %v", err)
	}
}

func TestFamiliesAreMutual(t *testing.T) {
	one := strings.Replace(good, "prior:", "family: [slow-receiver, pfc-storm, pcie-downgrade]\nprior:", 1)
	two := strings.Replace(one, "signature: slow-receiver", "signature: pfc-storm", 1)
	root := site(one)
	root["pfc-storm/signature.yaml"] = &fstest.MapFile{Data: []byte(two)}
	if _, err := Load(root); err != nil {
		t.Errorf("mutual: %v", err)
	}
	root["pfc-storm/signature.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(two, "[slow-receiver, pfc-storm,", "[pfc-storm, slow-receiver,", 1))}
	_, err := Load(root)
	if err == nil || !strings.Contains(err.Error(), "slow-receiver/signature.yaml:5:9: family: not mutual: slow-receiver lists [slow-receiver pfc-storm pcie-downgrade], pfc-storm lists") {
		t.Errorf("not mutual: %v", err)
	}
}

func TestALaterRootReplaces(t *testing.T) {
	changed := strings.Replace(good, "prior: -3.5", "prior: -1", 1)
	sigs, err := signaturesOf(site(good), site(changed))
	if err != nil || len(sigs) != 1 || sigs[0].Prior != -1 {
		t.Errorf("got %+v, %v", sigs, err)
	}
	twice := site(good)
	twice["more/slow-receiver/signature.yaml"] = &fstest.MapFile{Data: []byte(good)}
	if _, err := Load(twice); err == nil || !strings.Contains(err.Error(), `"slow-receiver" is in more/slow-receiver/signature.yaml too`) {
		t.Errorf("twice in one root: %v", err)
	}
}

func TestDirNamesFilesAsTheUserDid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine", "slow-receiver")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, FileName)
	if err := os.WriteFile(file, []byte(strings.Replace(good, "domain:", "domian:", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, dir, filepath.Dir(dir)} {
		root, err := Dir(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := Check(root)[0].String(); !strings.HasPrefix(got, filepath.ToSlash(file)+":1:1: ") {
			t.Errorf("Dir(%s): %s", name, got)
		}
	}
	if _, err := Dir(filepath.Join(dir, "none")); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

func TestDigestKnowsContentsAndNotOrder(t *testing.T) {
	a := []explain.Signature{{Name: "a"}, {Name: "b", Prior: 1}}
	b := []explain.Signature{a[1], a[0]}
	if Digest(a) != Digest(b) || a[0].Name != "a" {
		t.Error("order matters")
	}
	b[0].Prior = 1.5
	if Digest(a) == Digest(b) || len(Digest(a)) != 16 {
		t.Errorf("%s and %s", Digest(a), Digest(b))
	}
}

func TestTheStandardSetIsSound(t *testing.T) {
	for _, p := range Check(Files()) {
		if p.Severity == Error {
			t.Error(p)
		} else {
			t.Log(p)
		}
	}
	set, err := Standard()
	if err != nil || len(set.Signatures) == 0 || set.Digest != Digest(set.Signatures) {
		t.Errorf("%d signatures, digest %q, %v", len(set.Signatures), set.Digest, err)
	}
}

func TestTheDocIsCurrent(t *testing.T) {
	sigs, err := signaturesOf(Files())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteDoc(&b, sigs); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("..", "docs", "signatures.md")
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s is not what the files say; run: make generate", name)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(good)
	f.Add("a: &x [*x]")
	f.Add("signature: a\nfeatures: [{}, [], 1]\nneeds: {}\nactions: [{kind: 1}]")
	f.Fuzz(func(t *testing.T, text string) {
		sigs, err := signaturesOf(site(text))
		if err == nil && len(sigs) != 1 {
			t.Errorf("%d signatures and no error", len(sigs))
		}
		var ps Problems
		if err != nil && (!errors.As(err, &ps) || len(ps) == 0) {
			t.Errorf("an error of another sort: %v", err)
		}
	})
}
