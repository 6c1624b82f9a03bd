package scrape

import (
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// played is pages, one after another, and the latest values that come of them.
type played struct {
	name, form string
	labels     map[string]string
	pages      []string
	want       string
}

// TestPages plays pages and compares the output.
func TestPages(t *testing.T) {
	for _, c := range slices.Concat(gpuPages(), forms(), systems(), vendors()) {
		e := onceAs(t, Config{}, c.labels, c.form, c.pages...)
		if got := "\n" + e.golden(); got != c.want || e.Err() != nil {
			t.Errorf("%s: %v, got %s\nwant %s", c.name, e.Err(), got, c.want)
		}
	}
}

// gpuPages are dcgm-exporter's quirks.
func gpuPages() []played {
	return []played{
		{"both names of a field on one page: the newer one counts", "", nil, []string{
			"DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",Hostname=\"n1\"} 400.1\nDCGM_FI_DEV_BOARD_POWER_WATTS{gpu=\"0\",hostname=\"n1\"} 400.2\n"}, `
gpu:n1/0 gpu_power_watts 400.2
dropped duplicate 1
`},
		{"a job each: every series twice", "", nil, []string{
			"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"n1\",hpc_job=\"7\"} 61\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"n1\",hpc_job=\"8\"} 61\n"}, `
gpu:n1/0 gpu_temperature_celsius 61
dropped duplicate 1
`},
		{"the target's own word comes before the page's", "", map[string]string{"node": "h7"}, []string{"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"dcgm-exporter-x7k2\"} 61\n"}, `
gpu:h7/0 gpu_temperature_celsius 61
`},
		{"every sentinel, and a mask", "", map[string]string{"node": "n1"}, []string{`DCGM_FI_DEV_GPU_TEMP{gpu="0"} 2147483632
DCGM_FI_DEV_MEMORY_TEMP{gpu="0"} 9.223372036854776e+18
DCGM_FI_DEV_POWER_USAGE{gpu="0"} 140737488355330.000000
DCGM_FI_DEV_SM_CLOCK{gpu="0"} 9223372036854775793
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="0"} 72
`}, `
gpu:n1/0 gpu_clock_event_reasons 72
gpu:n1/0 gpu_memory_temperature_celsius gap
gpu:n1/0 gpu_power_watts gap
gpu:n1/0 gpu_sm_clock_hertz gap
gpu:n1/0 gpu_temperature_celsius gap
dropped unsupported 4
`},
		{"links are told from GPUs", "", map[string]string{"node": "n1"}, []string{`DCGM_FI_DEV_NVLINK_COUNT_TX_BYTES{gpu="0"} 18446744073709551615
DCGM_FI_DEV_NVLINK_COUNT_TX_BYTES{gpu="0",nvlink="3"} 9007199254740993
DCGM_FI_PROF_NVLINK_L17_TX_BYTES{gpu="0"} 5
`}, `
gpu:n1/0 nvlink_tx_bytes_total 18446744073709551615
nvlink:n1/0/17 nvlink_tx_bytes_per_second 5
nvlink:n1/0/3 nvlink_tx_bytes_total 9007199254740993
`},
	}
}

// forms are the forms of a page, of all exporters.
func forms() []played {
	return []played{
		{"a counter beyond what a float holds, and one beyond what anything holds", "", map[string]string{"node": "n1"}, []string{`node_infiniband_port_data_received_bytes_total{device="mlx5_0",port="1"} 18446744073709551614
node_infiniband_port_data_transmitted_bytes_total{device="mlx5_0",port="1"} 18446744073709551616
node_infiniband_link_downed_total{device="mlx5_0",port="1"} -1
`}, `
nic:n1/mlx5_0 rdma_rx_bytes_total 18446744073709551614
dropped out_of_range 2
`},
		{"on InfiniBand RDMA is all that is on the wire", "", map[string]string{"node": "n1", "fabric": "infiniband"}, []string{`node_infiniband_port_data_received_bytes_total{device="mlx5_0",port="1"} 7
`}, `
nic:n1/mlx5_0 port_rx_bytes_total 7
nic:n1/mlx5_0 rdma_rx_bytes_total 7
`},
		{"a series that is gone is absent, NaN is a gap", "", map[string]string{"node": "n1"}, []string{
			"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 60\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 61\n", "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} NaN\n"}, `
gpu:n1/0 gpu_temperature_celsius gap
gpu:n1/1 gpu_temperature_celsius 61
dropped vanished 1
`},
		{"lines that are none, anywhere", "", map[string]string{"node": "n1"}, []string{"rubbish here\n\n# HELP x\n# TYPE y wrong\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 60\n<<<\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 61 17 18\nDCGM_FI_DEV_GPU_TEMP{gpu=\"2\"} 62\nDCGM_FI_DEV_GPU_TEMP{gpu=\"3\""}, `
gpu:n1/0 gpu_temperature_celsius 60
gpu:n1/2 gpu_temperature_celsius 62
dropped malformed 5
`},
		{"OpenMetrics", "application/openmetrics-text; version=1.0.0; charset=utf-8", nil, []string{`# HELP requests How many.
# TYPE requests counter
requests_total{path="/a b"} 9007199254740993 # {trace="1"} 1
requests_created{path="/a b"} 1.7e9
# TYPE temperature_celsius gauge
# UNIT temperature_celsius celsius
temperature_celsius 21.5
# EOF
`}, `
collector:scrape/page requests_total{path="/a b"} 9007199254740993
collector:scrape/page temperature_celsius 21.5
`},
		{"labels are sorted", "", nil, []string{"thing{b=\"2\",a=\"1\"} 3\nthing{a=\"1\", b=\"2\"} 4\n"}, `
collector:scrape/page thing{a="1",b="2"} 3
dropped duplicate 1
`},
	}
}

// systems are what is of an interval: histograms and means.
func systems() []played {
	return []played{
		{"a histogram of nobody's: counts, and quantiles of the interval", "", nil, []string{
			"# TYPE d histogram\nd_bucket{le=\"1\"} 10\nd_bucket{le=\"2\"} 10\nd_bucket{le=\"+Inf\"} 10\nd_sum 5\nd_count 10\n",
			"# TYPE d histogram\nd_bucket{le=\"1\"} 10\nd_bucket{le=\"2\"} 110\nd_bucket{le=\"+Inf\"} 110\nd_sum 155\nd_count 110\n"}, `
collector:scrape/page d_count 110
collector:scrape/page d_p50 1.5
collector:scrape/page d_p99 1.99
collector:scrape/page d_sum 155
`},
		{"engines are added, the fuller cache stands", "", map[string]string{"job": "chat"}, []string{`vllm:num_requests_waiting{engine="0",model_name="m"} 3
vllm:num_requests_waiting{engine="1",model_name="m"} 4
vllm:kv_cache_usage_perc{engine="0"} 0.5
vllm:kv_cache_usage_perc{engine="1"} 0.75
`}, `
job:chat job_kv_cache_ratio 0.75
job:chat job_queue_requests 7
`},
		{"an older name counts only while there is no newer one", "", map[string]string{"job": "chat"}, []string{
			buckets("vllm:time_per_output_token_seconds", 0, 0, 0) + buckets("vllm:inter_token_latency_seconds", 0, 0, 0),
			buckets("vllm:time_per_output_token_seconds", 100, 100, 100) + buckets("vllm:inter_token_latency_seconds", 0, 100, 100)}, `
job:chat job_itl_seconds_count 100
job:chat job_itl_seconds_p50 0.375
job:chat job_itl_seconds_p99 0.4975
dropped duplicate 5
`},
		{"without a job it is nobody's", "", nil, []string{"vllm:num_requests_waiting 3\n"}, `
collector:scrape/page vllm:num_requests_waiting 3
`},
		{"SGLang: rank 0 speaks for all", "", map[string]string{"job": "chat"}, []string{"sglang:num_queue_reqs{tp_rank=\"0\"} 2826\nsglang:num_queue_reqs{tp_rank=\"1\"} 2826\nsglang:token_usage 0.28\n"}, `
job:chat job_kv_cache_ratio 0.28
job:chat job_queue_requests 2826
dropped duplicate 1
`},
		{"means of an interval, parts of a file system", "", map[string]string{"storage": "fs1"}, []string{
			nfs(100, 1) + "lustre_read_bytes_total{target=\"fs1-OST0000\"} 5\nlustre_read_bytes_total{target=\"fs1-OST0001\"} 7\n", nfs(300, 2) + "lustre_read_bytes_total{target=\"fs1-OST0000\"} 6\nlustre_read_bytes_total{target=\"fs1-OST0001\"} 9\n"}, `
storage:fs1 storage_read_bytes_total 15
storage:fs1 storage_read_latency_seconds 0.005
`},
	}
}

// vendors are the pages of others.
func vendors() []played {
	return []played{
		{"AMD", "", nil, []string{`gpu_package_power{gpu_id="0",hostname="m1",gpu_partition_id="0"} 748
gpu_package_power{gpu_id="0",hostname="m1",gpu_partition_id="1"} 0
gpu_energy_consumed{gpu_id="0",hostname="m1"} 1.4e17
gpu_clock{gpu_id="0",hostname="m1",clock_type="GPU_CLOCK_TYPE_SYSTEM",clock_index="0"} 1533
gpu_clock{gpu_id="0",hostname="m1",clock_type="GPU_CLOCK_TYPE_SYSTEM",clock_index="1"} 1540
gpu_gfx_activity{gpu_id="0",hostname="m1"} 97
`}, `
gpu:m1/0 gpu_energy_joules_total 1.4e+11
gpu:m1/0 gpu_engine_active_ratio 0.97
gpu:m1/0 gpu_power_watts 748
gpu:m1/0 gpu_sm_clock_hertz 1540000000
dropped unsupported 1
`},
		{"infiniband_exporter, with names and without", "", nil, []string{`infiniband_switch_port_transmit_wait_total{guid="0x506b",port="1"} 41864608
infiniband_switch_port_transmit_wait_total{guid="0x7cfe",port="2",switch="ib-i1l1s01"} 3.6510964e+07
infiniband_hca_port_transmit_data_bytes_total{guid="0x7cfe90",hca="o0001 mlx5_2",port="1",switch="ib-i1l1s01"} 3.6198369975904e+13
infiniband_hca_port_transmit_data_bytes_total{guid="0x7cfe91",port="1"} 5
`}, `
collector:scrape/page infiniband_hca_port_transmit_data_bytes_total{guid="0x7cfe91",port="1"} 5
nic:o0001/mlx5_2 port_tx_bytes_total 36198369975904
port:0x506b/1 port_xmit_wait_ticks_total 41864608
port:ib-i1l1s01/2 port_xmit_wait_ticks_total 36510964
`},
		{"OpenTelemetry's hardware, through a Prometheus", "", nil, []string{`hw_power_watts{hw_type="gpu",hw_id="0",host_name="n1"} 412.5
hw_temperature_celsius{hw_type="gpu",hw_id="0",host_name="n1",hw_sensor_location="edge"} 60
hw_temperature_celsius{hw_type="gpu",hw_id="0",host_name="n1",hw_sensor_location="junction"} 66
hw_temperature_celsius{hw_type="cpu",hw_id="0",host_name="n1"} 50
hw_energy_joules_total{hw_type="gpu",hw_id="0",host_name="n1"} 1.25
hw_gpu_utilization_ratio{hw_gpu_task="decoder",hw_id="0",host_name="n1"} 0.1
hw_gpu_utilization_ratio{hw_id="0",host_name="n1"} 0.9
`}, `
collector:scrape/page hw_gpu_utilization_ratio{host_name="n1",hw_gpu_task="decoder",hw_id="0"} 0.1
collector:scrape/page hw_temperature_celsius{host_name="n1",hw_id="0",hw_type="cpu"} 50
gpu:n1/0 gpu_energy_joules_total 1.25
gpu:n1/0 gpu_engine_active_ratio 0.9
gpu:n1/0 gpu_power_watts 412.5
gpu:n1/0 gpu_temperature_celsius 66
`},
		{"UFM: words and bytes, switches and hosts", "", nil, []string{`PortXmitDataExtended{node_guid="0xe41d",port_num="2"} 85554128244
PortXmitDataExtended{node_guid="0xe41d",port_num="3",node_description="leaf1"} 1
Infiniband_MBOut_u_Gb{node_guid="0x1",port_num="1",node_description="h1 mlx5_0"} 4086720
PortXmitWait{node_guid="0xe41d",port_num="2"} 4294967295
`}, `
nic:h1/mlx5_0 port_tx_bytes_total 4086720
port:0xe41d/2 port_tx_bytes_total 342216512976
port:0xe41d/2 port_xmit_wait_ticks_total 4294967295
port:leaf1/3 port_tx_bytes_total 4
`},
	}
}

func buckets(name string, a, b, c int) string {
	return fmt.Sprintf("%s_bucket{le=\"0.25\"} %d\n%s_bucket{le=\"0.5\"} %d\n%s_bucket{le=\"+Inf\"} %d\n%s_count %d\n", name, a, name, b, name, c, name, c)
}

func nfs(requests int, seconds float64) string {
	return fmt.Sprintf("node_mountstats_nfs_operations_requests_total{operation=\"READ\"} %d\nnode_mountstats_nfs_operations_response_time_seconds_total{operation=\"READ\"} %v\n", requests, seconds)
}

// TestTimes: a time on the page is accepted while it is near ours; a sample that
// comes again with the same time is not emitted twice, and an older one is stale.
func TestTimes(t *testing.T) {
	now := time.Now().Add(-3 * time.Second).UnixMilli()
	page := func(at int64) string {
		return fmt.Sprintf("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 60 %d\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 60 %d\n", at, now-86_400_000)
	}
	e := once(t, Config{}, map[string]string{"node": "n1"}, page(now), page(now), page(now+1000), page(now-1000))
	own := e.Series[telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.GPU, Name: "n1/0"}, Metric: "gpu_temperature_celsius"}]
	if len(own) != 2 || own[0].At != telemetry.Time(now*1e6) || own[1].At != telemetry.Time((now+1000)*1e6) {
		t.Errorf("%v, want times %d and a second later", own, now*1e6)
	}
	other := e.Series[telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.GPU, Name: "n1/1"}, Metric: "gpu_temperature_celsius"}]
	if len(other) != 1 || math.Abs(float64(other[0].At)-float64(time.Now().UnixNano())) > 30e9 {
		t.Errorf("%v, want one at our time", other)
	}
	if e.Dropped[collectors.Stale] != 1 || len(e.Dropped) != 1 {
		t.Errorf("dropped %v", e.Dropped)
	}
}

// TestBounds: a page without end is cut behind a whole line, series without end
// are not kept, and both are counted.
func TestBounds(t *testing.T) {
	line := "DCGM_FI_DEV_GPU_TEMP{gpu=\"%d\"} 60\n"
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, line, i)
	}
	e := once(t, Config{MaxBody: 1 << 10}, map[string]string{"node": "n1"}, b.String())
	if n := len(e.Series); n < 20 || n > 40 || e.Dropped[collectors.OverLimit] != 1 || len(e.Dropped) != 1 {
		t.Errorf("%d series of a page of 1 KiB, dropped %v", n, e.Dropped)
	}
	e = once(t, Config{MaxSeries: 100}, map[string]string{"node": "n1"}, b.String())
	if n := len(e.Series); n != 100 || e.Dropped[collectors.OverLimit] != 900 {
		t.Errorf("%d series of 100, dropped %v", n, e.Dropped)
	}
	e = once(t, Config{MaxForeign: 10}, nil, strings.ReplaceAll(b.String(), "DCGM", "other"))
	if n := len(e.Series); n != 10 || e.Dropped[collectors.OverLimit] != 990 {
		t.Errorf("%d foreign series of 10, dropped %v", n, e.Dropped)
	}
}

// TestPlacesComeFree: where names come and go, those that are gone make room.
func TestPlacesComeFree(t *testing.T) {
	var texts []string
	for i := range 400 {
		texts = append(texts, fmt.Sprintf("pod_memory{pod=\"p%d\"} 1\nup 1\n", i))
	}
	e := once(t, Config{MaxForeign: 100}, nil, texts...)
	if n := len(e.Series); n < 200 {
		t.Errorf("%d of 401 series were ever carried", n)
	}
	if e.Series[telemetry.Series{Entity: collectors.Entity("scrape", "page"), Metric: "up"}] == nil {
		t.Error("up is not carried")
	}
}

// TestWhatIsNoPage: each kind of trouble has its reason, and the collector is
// not up.
func TestWhatIsNoPage(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		why    collectors.Reason
	}{
		{"a web page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>\n<body>sign in</body>\n</html>\n"))
		}, collectors.Malformed},
		{"protobuf", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited")
			_, _ = w.Write([]byte{1, 2, 3})
		}, collectors.Malformed},
		{"a closed door", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, collectors.Denied},
		{"trouble", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, collectors.Unreadable},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, collectors.Unreadable},
		{"no responders", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, collectors.Unreadable},
	} {
		s := httptest.NewServer(c.answer)
		e := reads(t, Config{Targets: []Target{{URL: s.URL}}, Every: time.Second, Timeout: 200 * time.Millisecond})
		e.Until(c.name, func() bool { return len(e.Sweeps) > 0 })
		e.Mu.Lock()
		if e.Dropped[c.why] == 0 || e.Err() == nil || len(e.Series) > 0 {
			t.Errorf("%s: dropped %v, %v", c.name, e.Dropped, e.Err())
		}
		e.Mu.Unlock()
		t.Cleanup(s.Close)
	}
	c, err := New(Config{Targets: []Target{{URL: "http://127.0.0.1:9/metrics"}}, Every: time.Second}, dial.Guard{Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	client, closed, err := c.client()
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	f, r := c.reader(c.targets[0], client)
	if sweep, err := c.once(t.Context(), f, r, listen(t)); err == nil || sweep.Dropped[collectors.Refused] != 1 {
		t.Errorf("an address that is not allowed: %v, %v", sweep.Dropped, err)
	}
}

// TestOneOfTwo: while one target is read the collector is up.
func TestOneOfTwo(t *testing.T) {
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte("up 1\n"))
		_ = z.Close()
	}))
	t.Cleanup(good.Close)
	bad := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(bad.Close)
	e := reads(t, Config{Targets: []Target{{URL: bad.URL}, {URL: good.URL}}, Every: time.Second})
	e.Until("both", func() bool { return e.Dropped[collectors.Unreadable] > 1 && len(e.Series) == 1 })
	e.Until("it to be up", func() bool { return e.Err() == nil })
}

// TestTLS: a target is authenticated by its certificate, and is sent a token from a
// file.
func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer word" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte("up 1\n"))
	}))
	t.Cleanup(s.Close)
	ca, token := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "token")
	for file, text := range map[string][]byte{ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), token: []byte("word\n")} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := []Target{{URL: s.URL}}
	e := reads(t, Config{Targets: target, Every: time.Second, TLS: dial.TLS{CA: ca}, Authorization: dial.Authorization{CredentialsFile: token}})
	e.Until("a page", func() bool { return len(e.Series) == 1 && e.Err() == nil })
	e = reads(t, Config{Targets: target, Every: time.Second, TLS: dial.TLS{CA: ca}})
	e.Until("a closed door", func() bool { return e.Dropped[collectors.Denied] > 0 && e.Err() != nil })
	e = reads(t, Config{Targets: target, Every: time.Second, Authorization: dial.Authorization{CredentialsFile: token}})
	e.Until("a certificate that nobody signed", func() bool { return e.Dropped[collectors.Unreadable] > 0 && e.Err() != nil })
}
