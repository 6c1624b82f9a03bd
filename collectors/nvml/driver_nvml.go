//go:build nvml

package nvml

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/quintet-dc/quintet/telemetry"
)

// real is the driver's own library.
type real struct {
	lib    nvml.Interface
	events nvml.EventSet
	cards  []*device
}

func driver() library { return &real{lib: nvml.New()} }

// device is one GPU of it. Of two samples of its activity the older is what the
// next is compared with.
type device struct {
	nvml.Device
	number  int
	about   []telemetry.Attr
	lib     nvml.Interface
	samples [2]nvml.GpmSample
	sampled bool
}

// maxGPUs bounds the number of GPUs of a host.
const maxGPUs = 64

func (r *real) open() ([]card, error) {
	if ret := r.lib.Init(); ret != nvml.SUCCESS {
		return nil, fmt.Errorf("nvml: init: %s", r.lib.ErrorString(ret))
	}
	n, ret := r.lib.DeviceGetCount()
	if ret != nvml.SUCCESS || n == 0 {
		r.lib.Shutdown()
		return nil, fmt.Errorf("nvml: %d GPUs: %s", n, r.lib.ErrorString(ret))
	}
	if set, ret := r.lib.EventSetCreate(); ret == nvml.SUCCESS {
		r.events = set
	}
	r.cards = nil
	var out []card
	for i := range min(n, maxGPUs) {
		h, ret := r.lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue // fallen off its bus: its neighbours are read all the same
		}
		d := &device{Device: h, number: i, lib: r.lib}
		d.describe()
		d.prepare()
		if r.events != nil {
			h.RegisterEvents(nvml.EventTypeXidCriticalError, r.events)
		}
		r.cards = append(r.cards, d)
		out = append(out, d)
	}
	if len(out) == 0 {
		r.close()
		return nil, fmt.Errorf("nvml: none of %d GPUs can be opened", n)
	}
	return out, nil
}

func (r *real) close() {
	for _, d := range r.cards {
		for _, s := range d.samples {
			if s != nil {
				s.Free()
			}
		}
	}
	if r.events != nil {
		r.events.Free()
	}
	r.cards, r.events = nil, nil
	r.lib.Shutdown()
}

func (r *real) wait(d time.Duration) (xid, bool) {
	if r.events == nil {
		return xid{}, false
	}
	e, ret := r.events.Wait(uint32(d.Milliseconds()))
	if ret != nvml.SUCCESS || e.EventType != nvml.EventTypeXidCriticalError {
		return xid{}, false
	}
	x := xid{gpu: -1, code: e.EventData}
	if i, ret := e.Device.GetIndex(); ret == nvml.SUCCESS {
		x.gpu = i
	}
	return x, true
}

func (d *device) index() int              { return d.number }
func (d *device) attrs() []telemetry.Attr { return slices.Clone(d.about) }

func (d *device) describe() {
	put := func(key, value string, ret nvml.Return) {
		if ret == nvml.SUCCESS && value != "" {
			d.about = append(d.about, telemetry.Attr{Key: key, Value: value})
		}
	}
	name, ret := d.GetName()
	put("model", name, ret)
	pci, ret := d.GetPciInfo()
	put("pci", fmt.Sprintf("%04x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device), ret)
	serial, ret := d.GetSerial()
	put("serial", serial, ret)
	uuid, ret := d.GetUUID()
	put("uuid", uuid, ret)
	bios, ret := d.GetVbiosVersion()
	put("vbios", bios, ret)
}

// prepare takes the first sample of the device's activity where it has GPM.
func (d *device) prepare() {
	if s, ret := d.GpmQueryDeviceSupport(); ret != nvml.SUCCESS || s.IsSupportedDevice == 0 {
		return
	}
	for i := range d.samples {
		s, ret := d.lib.GpmSampleAlloc()
		if ret != nvml.SUCCESS {
			d.samples = [2]nvml.GpmSample{}
			return
		}
		d.samples[i] = s
	}
	d.sampled = d.samples[0].Get(d.Device) == nvml.SUCCESS
}

func (d *device) read(s *sheet) error {
	watts, ret := d.GetPowerUsage()
	if ret == nvml.ERROR_GPU_IS_LOST || ret == nvml.ERROR_UNINITIALIZED {
		return fmt.Errorf("nvml: GPU %d: %s", d.number, d.lib.ErrorString(ret))
	}
	if ret == nvml.SUCCESS {
		s.set(power, uint64(watts))
	}
	d.whole(s)
	d.fields(s)
	d.throttled(s)
	if !d.activity(s) {
		if u, ret := d.GetUtilizationRates(); ret == nvml.SUCCESS {
			s.share(engineActive, float64(u.Gpu))
		}
	}
	return nil
}

// transfersPerSecond of a lane, by PCIe generation (PCI-SIG base specifications
// 1 to 6).
var transfersPerSecond = [...]uint64{0, 2_500_000_000, 5_000_000_000, 8_000_000_000, 16_000_000_000, 32_000_000_000, 64_000_000_000}

// whole reads what has a call of its own.
func (d *device) whole(s *sheet) {
	put := func(q quantity, v uint64, ret nvml.Return) {
		if ret == nvml.SUCCESS {
			s.set(q, v)
		}
	}
	clock, ret := d.GetClockInfo(nvml.CLOCK_SM)
	put(smClock, uint64(clock)*1e6, ret)
	clock, ret = d.GetClockInfo(nvml.CLOCK_MEM)
	put(memoryClock, uint64(clock)*1e6, ret)
	mj, ret := d.GetTotalEnergyConsumption()
	put(energy, mj, ret)
	limit, ret := d.GetEnforcedPowerLimit()
	put(powerLimit, uint64(limit), ret)
	heat, ret := d.GetTemperature(nvml.TEMPERATURE_GPU)
	put(temperature, uint64(heat), ret)
	reasons, ret := d.GetCurrentClocksEventReasons()
	put(clockReasons, reasons, ret)
	used, ret := d.GetMemoryInfo()
	put(memoryUsed, used.Used, ret)
	width, ret := d.GetCurrPcieLinkWidth()
	put(pcieWidth, uint64(width), ret)
	if g, ret := d.GetCurrPcieLinkGeneration(); ret == nvml.SUCCESS && g > 0 && g < len(transfersPerSecond) {
		s.set(pcieSpeed, transfersPerSecond[g])
	}
}

// wholeDevice is the scope of all NVLinks together.
const wholeDevice = math.MaxUint32

// fields reads what is a field value; those a device does not have it refuses
// one by one.
func (d *device) fields(s *sheet) {
	type field struct {
		id, scope uint32
		of        quantity
		times     uint64
	}
	const kibi = 1024
	ask := [...]field{
		{nvml.FI_DEV_POWER_INSTANT, 0, power, 1},
		{nvml.FI_DEV_MEMORY_TEMP, 0, memoryTemperature, 1},
		{nvml.FI_DEV_PCIE_REPLAY_COUNTER, 0, pcieReplays, 1},
		{nvml.FI_DEV_ECC_SBE_VOL_TOTAL, 0, eccSingle, 1},
		{nvml.FI_DEV_ECC_DBE_VOL_TOTAL, 0, eccDouble, 1},
		{nvml.FI_DEV_REMAPPED_UNC, 0, remappedRows, 1},
		{nvml.FI_DEV_NVLINK_THROUGHPUT_RAW_TX, wholeDevice, nvlinkSent, kibi},
		{nvml.FI_DEV_NVLINK_THROUGHPUT_RAW_RX, wholeDevice, nvlinkReceived, kibi},
		{nvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, 0, nvlinkReplays, 1},
		{nvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, 0, nvlinkRecoveries, 1},
	}
	var values [len(ask)]nvml.FieldValue
	for i, f := range ask {
		values[i].FieldId, values[i].ScopeId = f.id, f.scope
	}
	if d.GetFieldValues(values[:]) != nvml.SUCCESS {
		return
	}
	for i, f := range ask {
		if v, ok := number(&values[i]); ok {
			s.set(f.of, v*f.times)
		}
	}
}

// number reads a field's value, of whatever type; false where there is none or
// it is negative.
func number(v *nvml.FieldValue) (uint64, bool) {
	if nvml.Return(v.NvmlReturn) != nvml.SUCCESS {
		return 0, false
	}
	raw := binary.NativeEndian.Uint64(v.Value[:])
	switch nvml.ValueType(v.ValueType) {
	case nvml.VALUE_TYPE_DOUBLE:
		f := math.Float64frombits(raw)
		return uint64(f), f >= 0 && f < 1<<63
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return uint64(binary.NativeEndian.Uint32(v.Value[:])), true
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return raw, true
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return raw, int64(raw) >= 0
	case nvml.VALUE_TYPE_SIGNED_INT:
		n := int32(binary.NativeEndian.Uint32(v.Value[:]))
		return uint64(n), n >= 0
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return uint64(binary.NativeEndian.Uint16(v.Value[:])), true
	}
	return 0, false
}

// throttled reads for how long clocks were throttled, in nanoseconds since the
// driver was loaded.
func (d *device) throttled(s *sheet) {
	for _, p := range [...]struct {
		policy nvml.PerfPolicyType
		of     quantity
	}{{nvml.PERF_POLICY_POWER, throttlePower}, {nvml.PERF_POLICY_THERMAL, throttleThermal}} {
		if v, ret := d.GetViolationStatus(p.policy); ret == nvml.SUCCESS {
			s.set(p.of, v.ViolationTime)
		}
	}
	brake := [...]nvml.FieldValue{{FieldId: nvml.FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN}}
	if d.GetFieldValues(brake[:]) == nvml.SUCCESS {
		if v, ok := number(&brake[0]); ok {
			s.set(throttleBrake, v)
		}
	}
}

// activity reads the shares of time since the last sample; false where the
// device has no GPM.
func (d *device) activity(s *sheet) bool {
	if !d.sampled || d.samples[1].Get(d.Device) != nvml.SUCCESS {
		return false
	}
	d.samples[0], d.samples[1] = d.samples[1], d.samples[0]
	of := [...]struct {
		id nvml.GpmMetricId
		q  quantity
	}{{nvml.GPM_METRIC_GRAPHICS_UTIL, engineActive}, {nvml.GPM_METRIC_SM_UTIL, smActive}, {nvml.GPM_METRIC_ANY_TENSOR_UTIL, tensorActive},
		{nvml.GPM_METRIC_DRAM_BW_UTIL, dramActive}}
	get := nvml.GpmMetricsGetType{Version: nvml.GPM_METRICS_GET_VERSION, NumMetrics: uint32(len(of)), Sample1: d.samples[1], Sample2: d.samples[0]}
	for i, m := range of {
		get.Metrics[i].MetricId = uint32(m.id)
	}
	if d.lib.GpmMetricsGet(&get) != nvml.SUCCESS {
		return false
	}
	for i, m := range of {
		if nvml.Return(get.Metrics[i].NvmlReturn) == nvml.SUCCESS {
			s.share(m.q, get.Metrics[i].Value)
		}
	}
	return s.known[engineActive]
}
