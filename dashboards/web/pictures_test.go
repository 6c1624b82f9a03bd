package web_test

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
	sim "github.com/quintet-dc/quintet/lab/sim/site"
)

// kept are the pictures that docs/page.md shows.
var kept = []string{"overview-1280-light", "incident-1280-dark", "coolant-1280-light", "overview-390-dark", "incident-390-light", "incidents-1280-light", "entity-1280-dark", "fabric-1280-light", "switch-390-light", "power-1280-dark", "rack-390-dark",
	"job-1280-light", "alert-1280-light", "alerts-390-dark", "coverage-1280-dark", "silences-1280-light", "replay-1280-light", "wall-2560-dark"}

// TestPictures takes pictures of the views at two widths in both themes, where
// QUINTET_PAGE_PICTURES names a folder for them; "docs" renews those of
// docs/img, and QUINTET_PAGE_PICTURE is a regular expression of the views to take.
func TestPictures(t *testing.T) {
	dir := os.Getenv("QUINTET_PAGE_PICTURES")
	if dir == "" {
		t.Skip("QUINTET_PAGE_PICTURES names no folder")
	}
	shots := dir
	if dir == "docs" {
		shots = t.TempDir()
	}
	alive := live(t)
	firing(alive)
	site := newSite(t, alive)
	list := alive["/api/v1/incidents"].(object)["incidents"].([]any)
	page := func(i int) string { return site.URL + "/incidents/" + list[i].(object)["id"].(string) }
	still := played(t) // paused
	still["/api/v1/replay"].(object)["paused"] = true
	maps.Copy(still["/api/v1/jobs"].(object)["jobs"].([]any)[0].(object), object{"state": "slow", "slowdown": 2.06})
	hall := mapped(t, sim.Reference())
	plan, paths := newSite(t, hall).URL, hall["/api/v1/paths"].(object)["paths"].([]string)
	pages := []object{
		{"name": "job", "url": site.URL + "/jobs/train", "wait": ".waiting tbody tr"}, {"name": "coverage", "url": site.URL + "/coverage", "wait": ".wanted tbody tr"},
		{"name": "silences", "url": site.URL + "/silences?root=nic:h9/nic0&signature=slow-receiver&comment=the+node+is+being+drained", "wait": ".preview p"},
		{"name": "incidents", "url": site.URL + "/incidents", "wait": ".strip .span"}, {"name": "entity", "url": site.URL + "/entity?of=nic:h9/nic0"},
		{"name": "explore", "url": site.URL + "/explore?" + url.Values{"q": {`nic_temperature_celsius{kind="nic",name="h9/nic0"}`, `rank_compute_seconds{job="train",rank="5"}`}, "peers": {"1"}, "before": {"1h"}}.Encode(), "wait": ".changes p", "press": "What else changed here?"},
		{"name": "overview", "url": site.URL}, {"name": "incident", "url": page(0), "hover": 0.732}, {"name": "compute", "url": page(2)}, {"name": "coolant", "url": page(3)},
		{"name": "fabric", "url": plan + paths[0]}, {"name": "switch", "url": plan + paths[2]}, {"name": "port", "url": plan + paths[3]},
		{"name": "power", "url": plan + paths[5]}, {"name": "rack", "url": plan + paths[6]},
		{"name": "alerts", "url": site.URL + "/alerts", "wait": ".alert-row"}, {"name": "alert", "url": site.URL + "/alerts/alert-000000000000000a", "wait": ".onealert .onerow"},
		{"name": "wall", "url": plan + "/wall", "wait": ".wallmaps canvas.cells", "width": 2560, "height": 1440},
		{"name": "replay", "url": newSite(t, still).URL}, {"name": "empty", "url": newSite(t, empty()).URL}, {"name": "jobs", "url": newSite(t, crowded(t, mostJobs)).URL + "/jobs"}, {"name": "diverged", "url": newSite(t, diverged(t)).URL},
	}
	only := regexp.MustCompile("^(" + cmp.Or(os.Getenv("QUINTET_PAGE_PICTURE"), ".*") + ")$")
	pages = slices.DeleteFunc(pages, func(p object) bool { return !only.MatchString(p["name"].(string)) })
	browsertest.Drive(t, browsertest.Job{Page: here, Shots: object{"dir": shots, "pages": pages}})
	if dir != "docs" {
		return
	}
	for _, name := range kept {
		if view, _, _ := strings.Cut(name, "-"); !only.MatchString(view) {
			continue
		}
		shrink(t, filepath.Join(shots, name+".png"), filepath.Join("..", "..", "docs", "img", "page-"+name+".png"))
	}
}

// shrink writes a picture with the 256 colours that it has most of: a third of
// the size, and no difference that one sees.
func shrink(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	full, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	small := image.NewPaletted(full.Bounds(), commonest(full, 256))
	draw.Draw(small, small.Bounds(), full, full.Bounds().Min, draw.Src)
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, small); err != nil {
		t.Fatal(err)
	}
}

// commonest returns the n colours that represent the image best: of nearly equal
// colours, the most frequent one.
func commonest(m image.Image, n int) color.Palette {
	type shade struct{ r, g, b uint8 }
	count, shades := map[color.RGBA]int{}, map[shade]int{}
	of := func(c color.RGBA) shade { return shade{c.R >> 3, c.G >> 3, c.B >> 3} }
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			c := color.RGBAModel.Convert(m.At(x, y)).(color.RGBA)
			count[c]++
			shades[of(c)]++
		}
	}
	best := map[shade]color.RGBA{}
	for c, k := range count {
		if old, ok := best[of(c)]; !ok || k > count[old] || k == count[old] && (c.R < old.R || c.R == old.R && c.G < old.G) {
			best[of(c)] = c
		}
	}
	var all []color.RGBA
	for _, c := range best {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(shades[of(b)], shades[of(a)]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var p color.Palette
	for _, c := range all[:min(n, len(all))] {
		p = append(p, c)
	}
	return p
}
