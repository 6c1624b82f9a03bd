package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// formerOf are replacements that turn the good file into one of an earlier release.
var formerOf = strings.NewReplacer("features:", "witness: at-once\nclues:", "{pause_sent|percent}", "{tells|percent}",
	"{explained}", "{dose}", "measure: pause_sent_idle", "measure: tells_idle", "measure: pause_sent", "measure: tells")

// TestFormerKeysAreReadWithAWarning reads a file of an earlier release: it is the same
// signature, and each former name is a warning with its place and the present name.
func TestFormerKeysAreReadWithAWarning(t *testing.T) {
	former, present := site(formerOf.Replace(good)), site(strings.Replace(good, "features:", "corroborates: at-once\nfeatures:", 1))
	was, err := signaturesOf(former)
	if err != nil {
		t.Fatal(err)
	}
	now, err := signaturesOf(present)
	if err != nil {
		t.Fatal(err)
	}
	if Digest(was) != Digest(now) {
		t.Errorf("got  %+v\nwant %+v", was, now)
	}
	const file = "slow-receiver/signature.yaml"
	want := []string{
		file + `:9:11: warning: sentence: {dose} is now {explained}`,
		file + `:9:11: warning: sentence: {tells} is now {pause_sent}`,
		file + `:10:1: warning: signature: witness is now corroborates`,
		file + `:11:1: warning: signature: clues is now features`,
		file + `:13:14: warning: measure: tells is now pause_sent`,
		file + `:20:27: warning: measure: tells_idle is now pause_sent_idle`,
	}
	if got := strings.Split(Check(former).Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if set, err := Load(former); err != nil || len(set.Warnings) != len(want) {
		t.Errorf("%v: loaded with %d warnings, want %d", err, len(set.Warnings), len(want))
	}
	if ours, err := Standard(); err != nil || len(ours.Warnings) > 0 {
		t.Errorf("ours: %v\n%v", err, ours.Warnings)
	}
}

// TestFormerNamesHavePresentOnes: every former measure and take is the name of a present
// one, and of no present one itself.
func TestFormerNamesHavePresentOnes(t *testing.T) {
	v := vocabulary{measures: explain.Measures()}
	for _, name := range strings.Fields(`tells tells_idle told standing_stop stops_kept told_work_excess fell_silent dose sure_dose
		clock_dose fabric_dose group_dose idle_dose shared_dose covers late_covers idle_covers stale_covers
		fills late_fills idle_fills stage_fills expert_fills`) {
		if now := formerMeasure(name); !v.measure(now) || v.measure(explain.Measure(name)) {
			t.Errorf("%s: now %q", name, now)
		}
	}
	reading := strings.Replace(good, "measure: pause_sent_idle", "metric: pcie_link_width, take: silent", 1)
	if got := Check(site(reading)).Error(); got != "slow-receiver/signature.yaml:19:49: warning: take: silent is now no_data" {
		t.Errorf("take: %s", got)
	}
}

// TestAFeatureMayHaveAFormerName: a placeholder means the feature of its name first.
func TestAFeatureMayHaveAFormerName(t *testing.T) {
	text := strings.NewReplacer("{explained}", "{dose}", "name: idle", "name: dose").Replace(good)
	sigs, err := signaturesOf(site(text))
	if err != nil || !strings.Contains(sigs[0].Sentence, "{dose}") {
		t.Errorf("%v: %+v", err, sigs)
	}
}
