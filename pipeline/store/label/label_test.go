package label_test

import (
	"strings"
	"testing"

	"github.com/prometheus/common/model"

	"github.com/quintet-dc/quintet/pipeline/store/label"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestSeries shows the labels of a series of each form.
func TestSeries(t *testing.T) {
	for series, want := range map[string]string{
		`node:n1 node_power_watts`:                   `{__name__="node_power_watts", kind="node", name="n1", node="n1"}`,
		`gpu:n1/3 gpu_power_watts`:                   `{__name__="gpu_power_watts", gpu="3", kind="gpu", name="n1/3", node="n1"}`,
		`nic:n1/mlx5_3 port_up`:                      `{__name__="port_up", kind="nic", name="n1/mlx5_3", nic="mlx5_3", node="n1"}`,
		`nvlink:n1/3/7 nvlink_up`:                    `{__name__="nvlink_up", gpu="3", kind="nvlink", name="n1/3/7", node="n1", nvlink="7"}`,
		`port:leaf3/Ethernet1%2F1 port_up`:           `{__name__="port_up", kind="port", name="leaf3/Ethernet1%2F1", port="Ethernet1/1", switch="leaf3"}`,
		`queue:leaf3/eth12/3 port_queue_bytes`:       `{__name__="port_queue_bytes", kind="queue", name="leaf3/eth12/3", port="eth12", queue="3", switch="leaf3"}`,
		`rank:llama.481/17 rank_compute_seconds`:     `{__name__="rank_compute_seconds", job="llama.481", kind="rank", name="llama.481/17", rank="17"}`,
		`job:llama.481 job_step_seconds`:             `{__name__="job_step_seconds", job="llama.481", kind="job", name="llama.481"}`,
		`psu:pdu1/2 psu_up`:                          `{__name__="psu_up", kind="psu", name="pdu1/2", parent="pdu1", psu="2"}`,
		`cdu:c1 inlet_celsius`:                       `{__name__="inlet_celsius", cdu="c1", kind="cdu", name="c1"}`,
		`fan:r1/c2/3 fan_speed_ratio`:                `{__name__="fan_speed_ratio", fan="3", kind="fan", name="r1/c2/3", parent="r1/c2"}`,
		`gpu:alone gpu_power_watts`:                  `{__name__="gpu_power_watts", gpu="alone", kind="gpu", name="alone"}`,
		`collector:push up{a="b",kind="x",z="1\"2"}`: `{__name__="up", a="b", collector="push", exported_kind="x", kind="collector", name="push", z="1\"2"}`,
		`collector:push odd{name}`:                   `{__name__="odd{name}", collector="push", kind="collector", name="push"}`,
	} {
		entity, metric, _ := strings.Cut(series, " ")
		e, err := telemetry.ParseEntity(entity)
		if err != nil {
			t.Fatal(err)
		}
		if got := label.Of(telemetry.Series{Entity: e, Metric: telemetry.MetricName(metric)}).String(); got != want {
			t.Errorf("%s\n got %s\nwant %s", series, got, want)
		}
	}
}

// TestAbout finds whom an alert is about in what its rule left of the labels.
func TestAbout(t *testing.T) {
	for text, want := range map[string]string{
		`kind=port name=leaf3/Ethernet1%2F1 switch=x node=n9`: "port:leaf3/Ethernet1%2F1",
		`switch=leaf3 port=Ethernet1/1`:                       "port:leaf3/Ethernet1%2F1",
		`node=n1 gpu=3 job=train`:                             "gpu:n1/3",
		`node=n1 gpu=3 nvlink=7`:                              "nvlink:n1/3/7",
		`switch=leaf3 alertname=SwitchDown`:                   "switch:leaf3",
		`node=n1 rack=r1`:                                     "node:n1",
		`rack=r1 job=train`:                                   "rack:r1",
		`job=train`:                                           "job:train",
		`job=train rank=17`:                                   "rank:train/17",
		`job=quintet instance=q1 receiver=ops`:                "collector:q1",
		`kind=nonsense name=x storage=lustre`:                 "storage:lustre",
		`alertname=QuintetWatchdog`:                           "collector:quintet",
	} {
		l := map[string]string{}
		for _, f := range strings.Fields(text) {
			n, v, _ := strings.Cut(f, "=")
			l[n] = v
		}
		if got := label.About(l).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzThereAndBack holds the law that the labels of an entity name that entity
// and no other, whatever its name, its kind and its metric are.
func FuzzThereAndBack(f *testing.F) {
	for i, k := range telemetry.Kinds() {
		f.Add(uint8(i), "a/b%2Fc/d", "port_up")
		f.Add(uint8(i), string(k), `m{kind="gpu",name="x"}`)
	}
	f.Fuzz(func(t *testing.T, kind uint8, name, metric string) {
		e := telemetry.Entity{Kind: telemetry.Kinds()[int(kind)%len(telemetry.Kinds())], Name: name}
		if e.Validate() != nil || (telemetry.Column{Metric: telemetry.MetricName(metric), Type: telemetry.Uint}).Validate() != nil {
			return
		}
		l := label.Of(telemetry.Series{Entity: e, Metric: telemetry.MetricName(metric)})
		if got := label.About(l.Map()); got != e {
			t.Fatalf("%s: back comes %s", l, got)
		}
		if n, twice := l.HasDuplicateLabelNames(); twice || !l.IsValid(model.UTF8Validation) {
			t.Fatalf("%s: label %s is there twice, or no name", l, n)
		}
		if e.Kind != telemetry.Job && e.Kind != telemetry.Rank && !strings.Contains(metric, `job="`) && l.Has("job") {
			t.Fatalf("%s: a job on a device", l)
		}
	})
}
