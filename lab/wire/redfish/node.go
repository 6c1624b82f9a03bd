package redfish

import (
	"strings"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// node builds a GPU node's BMC, in the form of an HGX baseboard behind a host
// BMC: every GPU is listed under both systems, and states under which it is at home.
func (d *device) node() {
	chassis := d.chassis("Chassis_0", nil)
	d.environment(chassis, "node_power_watts", "node_power_limit_watts")
	for _, e := range d.board.Inside(d.entity) {
		id := e.Name[strings.LastIndexByte(e.Name, '/')+1:]
		switch e.Kind {
		case telemetry.Fan:
			d.page(chassis+"/ThermalSubsystem/Fans/"+id, "Fan.v1_6_0.Fan", func() object {
				return object{"SpeedPercent": excerpt(d.read(e, "fan_speed_ratio", 2)), "Status": healthy(), "PhysicalContext": "Chassis"}
			})
			d.collection(chassis+"/ThermalSubsystem/Fans", "Fan")
		case telemetry.GPU:
			d.gpu(e, id)
		}
	}
	d.intake(chassis, d.entity)
	d.thermal(chassis)
	d.deprecated(chassis)
	d.page(chassis+"/PowerSubsystem", "PowerSubsystem.v1_1_3.PowerSubsystem", fixed(object{"Status": healthy()})) // fed by the rack's shelves
	for _, system := range []string{"System_0", "HGX_Baseboard_0"} {
		path := "Systems/" + system
		d.page(path, "ComputerSystem.v1_22_0.ComputerSystem", fixed(object{"SystemType": "Physical", "PowerState": "On", "BiosVersion": "2.1.7",
			"Processors": ref(path + "/Processors"), "Memory": ref(path + "/Memory"), "Status": healthy(), "HostName": d.entity.Name, "Links": object{"Chassis": []any{ref(chassis)}}}))
		d.collection(path+"/Processors", "Processor")
		d.collection(path+"/Memory", "Memory")
	}
	d.collection("Systems", "ComputerSystem")
	d.page("Managers/HGX_BMC_0", "Manager.v1_19_0.Manager", fixed(object{"ManagerType": "BMC", "Model": "Lab baseboard BMC", "FirmwareVersion": "24.10-1", "Status": healthy()}))
	if !d.cfg.NoReports {
		d.reports()
	}
}

// deprecated adds the resources from before the subsystems, which controllers
// still have in addition to them and older clients read.
func (d *device) deprecated(chassis string) {
	d.page(chassis+"/Power", "Power.v1_7_1.Power", func() object {
		return object{"PowerControl": []any{object{"@odata.id": root + "/" + chassis + "/Power#/PowerControl/0", "MemberId": "0", "Name": "Chassis Power Control",
			"PowerConsumedWatts": d.read(d.entity, "node_power_watts", 0), "PowerLimit": object{"LimitInWatts": d.read(d.entity, "node_power_limit_watts", 0)}}},
			"PowerSupplies": []any{}, "Voltages": []any{}}
	})
	d.page(chassis+"/Thermal", "Thermal.v1_7_1.Thermal", func() object {
		fans := []any{}
		for _, e := range d.board.Inside(d.entity) {
			if e.Kind == telemetry.Fan {
				fans = append(fans, object{"@odata.id": root + "/" + chassis + "/Thermal#/Fans/" + last(e), "MemberId": last(e), "Name": last(e), "Reading": d.read(e, "fan_speed_ratio", 2),
					"ReadingUnits": "Percent", "Status": healthy()})
			}
		}
		return object{"Fans": fans, "Temperatures": []any{object{"@odata.id": root + "/" + chassis + "/Thermal#/Temperatures/0", "MemberId": "0", "Name": "Inlet", "PhysicalContext": "Intake",
			"ReadingCelsius": d.read(d.entity, "inlet_celsius", 0), "Status": healthy()}}}
	})
}

const home = "Systems/HGX_Baseboard_0"

// alias shows a resource under the host's system too.
func (d *device) alias(path string) {
	d.pages["Systems/System_0"+strings.TrimPrefix(path, home)] = d.pages[path]
}

func (d *device) gpu(e telemetry.Entity, n string) {
	processor, memory, module := home+"/Processors/GPU_"+n, home+"/Memory/GPU_"+n+"_DRAM_0", "Chassis/HGX_GPU_"+n
	d.page(processor, "Processor.v1_20_0.Processor", fixed(object{"ProcessorType": "GPU", "Manufacturer": "NVIDIA", "Model": "Lab GPU", "PartNumber": "900-LAB", "SerialNumber": e.Name,
		"FirmwareVersion": "96.00.9F.00.01", "Metrics": ref(processor + "/ProcessorMetrics"), "EnvironmentMetrics": ref(processor + "/EnvironmentMetrics"),
		"Ports": ref(processor + "/Ports"), "Status": healthy(), "Links": object{"Chassis": ref(module)}}))
	d.page(processor+"/EnvironmentMetrics", "EnvironmentMetrics.v1_3_1.EnvironmentMetrics", func() object {
		return object{"PowerWatts": excerpt(d.read(e, "gpu_power_watts", 0)), "PowerLimitWatts": object{"SetPoint": d.read(e, "gpu_power_limit_watts", 0)},
			"EnergyJoules": excerpt(d.read(e, "gpu_energy_joules_total", 0)), "TemperatureCelsius": excerpt(d.read(e, "gpu_temperature_celsius", 0))}
	})
	d.page(processor+"/ProcessorMetrics", "ProcessorMetrics.v1_6_1.ProcessorMetrics", func() object {
		return object{"OperatingSpeedMHz": d.whole(e, "gpu_sm_clock_hertz", -6),
			"PowerLimitThrottleDuration": d.span(e, "gpu_throttle_power_seconds_total"), "ThermalLimitThrottleDuration": d.span(e, "gpu_throttle_thermal_seconds_total"),
			"PCIeErrors": object{"ReplayCount": d.read(e, "gpu_pcie_replays_total", 0)},
			"Oem": object{"Nvidia": object{"SMActivityPercent": d.read(e, "gpu_sm_active_ratio", 2), "TensorCoreActivityPercent": d.read(e, "gpu_tensor_active_ratio", 2),
				"GraphicsEngineActivityPercent": d.read(e, "gpu_engine_active_ratio", 2), "ThrottleReasons": []any{"NA"}}}}
	})
	d.page(memory, "Memory.v1_17_0.Memory", fixed(object{"MemoryType": "DRAM", "Metrics": ref(memory + "/MemoryMetrics"), "EnvironmentMetrics": ref(memory + "/EnvironmentMetrics"), "Status": healthy()}))
	d.page(memory+"/MemoryMetrics", "MemoryMetrics.v1_7_0.MemoryMetrics", func() object {
		return object{"LifeTime": object{"CorrectableECCErrorCount": d.read(e, "gpu_ecc_correctable_errors_total", 0), "UncorrectableECCErrorCount": d.read(e, "gpu_ecc_uncorrectable_errors_total", 0)},
			"Oem": object{"Nvidia": object{"RowRemapping": object{"UncorrectableRowRemappingCount": d.read(e, "gpu_remapped_rows_uncorrectable_total", 0)}}}}
	})
	d.page(memory+"/EnvironmentMetrics", "EnvironmentMetrics.v1_3_1.EnvironmentMetrics", func() object {
		return object{"TemperatureCelsius": excerpt(d.read(e, "gpu_memory_temperature_celsius", 0))}
	})
	for _, link := range d.board.Inside(e) {
		if link.Kind != telemetry.NVLink {
			continue
		}
		port := processor + "/Ports/NVLink_" + link.Name[strings.LastIndexByte(link.Name, '/')+1:]
		d.page(port, "Port.v1_4_0.Port", func() object {
			return object{"PortProtocol": "NVLink", "PortType": "BidirectionalPort", "LinkState": "Enabled", "LinkStatus": d.up(link, "nvlink_up", "LinkUp", "LinkDown"), "CurrentSpeedGbps": 400.0}
		})
	}
	d.collection(processor+"/Ports", "Port")
	for _, path := range []string{processor, processor + "/EnvironmentMetrics", processor + "/ProcessorMetrics", memory, memory + "/MemoryMetrics", memory + "/EnvironmentMetrics"} {
		d.alias(path)
	}
	// The GPU's own module, and a sensor that describes how far it is from its limit.
	d.page(module, "Chassis.v1_22_0.Chassis", fixed(object{"ChassisType": "Component", "Manufacturer": "NVIDIA", "Sensors": ref(module + "/Sensors"), "EnvironmentMetrics": ref(module + "/EnvironmentMetrics")}))
	d.page(module+"/EnvironmentMetrics", "EnvironmentMetrics.v1_3_1.EnvironmentMetrics", func() object {
		return object{"PowerWatts": excerpt(d.read(e, "gpu_power_watts", 0))}
	})
	d.sensor(module, "HGX_GPU_"+n+"_TEMP_1", func() object {
		doc := object{"ReadingType": "Temperature", "ReadingUnits": "Cel", "ReadingBasis": "Headroom", "PhysicalContext": "GPU", "Implementation": "Synthesized", "Reading": nil}
		if r, ok := d.board.Read(e, "gpu_temperature_celsius"); ok && !r.Gap {
			doc["Reading"] = decimal(limit - r.Float())
		}
		return doc
	})
}

// limit is the temperature at which a GPU slows down.
const limit = 87

func (d *device) span(e telemetry.Entity, m telemetry.MetricName) any {
	r, ok := d.board.Read(e, m)
	if !ok {
		return none{}
	}
	return span(r)
}

// reports adds the metric reports of an HGX baseboard: read when they are asked
// for, with text for every value.
func (d *device) reports() {
	const service = "TelemetryService"
	d.page(service, "TelemetryService.v1_3_2.TelemetryService", fixed(object{"ServiceEnabled": true, "MetricReports": ref(service + "/MetricReports"),
		"MetricReportDefinitions": ref(service + "/MetricReportDefinitions")}))
	for name, properties := range map[string]map[string][]string{
		"HGX_ProcessorMetrics_0": {"Processors/GPU_{n}/ProcessorMetrics": {"OperatingSpeedMHz", "PowerLimitThrottleDuration", "ThermalLimitThrottleDuration", "PCIeErrors/ReplayCount",
			"Oem/Nvidia/SMActivityPercent", "Oem/Nvidia/TensorCoreActivityPercent", "Oem/Nvidia/GraphicsEngineActivityPercent"}},
		"HGX_PlatformEnvironmentMetrics_0": {"Processors/GPU_{n}/EnvironmentMetrics": {"PowerWatts/Reading", "PowerLimitWatts/SetPoint", "EnergyJoules/Reading", "TemperatureCelsius/Reading"},
			"Memory/GPU_{n}_DRAM_0/EnvironmentMetrics": {"TemperatureCelsius/Reading"}},
		"HGX_MemoryMetrics_0": {"Memory/GPU_{n}_DRAM_0/MemoryMetrics": {"LifeTime/CorrectableECCErrorCount", "LifeTime/UncorrectableECCErrorCount"}},
	} {
		d.page(service+"/MetricReportDefinitions/"+name, "MetricReportDefinition.v1_4_2.MetricReportDefinition", fixed(object{"MetricReportDefinitionType": "OnRequest",
			"MetricReportDefinitionEnabled": true, "ReportActions": []any{"LogToMetricReportsCollection"}, "MetricReport": ref(service + "/MetricReports/" + name)}))
		d.page(service+"/MetricReports/"+name, "MetricReport.v1_4_2.MetricReport", func() object {
			at := time.Unix(0, int64(d.board.Now())).UTC().Format(time.RFC3339Nano)
			rows := []any{}
			for _, e := range d.board.Inside(d.entity) {
				if e.Kind != telemetry.GPU {
					continue
				}
				for place, list := range properties {
					path := home + "/" + strings.ReplaceAll(place, "{n}", e.Name[strings.LastIndexByte(e.Name, '/')+1:])
					doc := d.document(path)
					for _, property := range list {
						if value, ok := text(doc, property); ok {
							rows = append(rows, object{"MetricProperty": root + "/" + path + "#/" + property, "MetricValue": value, "Timestamp": at,
								"Oem": object{"Nvidia": object{"@odata.type": "#NvidiaMetricReport.v1_0_0.NvidiaMetricReport", "MetricValueStale": false}}})
						}
					}
				}
			}
			return object{"MetricReportDefinition": ref(service + "/MetricReportDefinitions/" + name), "MetricValues": rows, "Timestamp": at}
		})
	}
	d.collection(service+"/MetricReports", "MetricReport")
	d.collection(service+"/MetricReportDefinitions", "MetricReportDefinition")
}

// text is a property as a report writes it: "nan" where it has no value; false
// where the device has no such property.
func text(doc object, property string) (string, bool) {
	var x any = doc
	for _, name := range strings.Split(property, "/") {
		o, ok := x.(object)
		if !ok {
			return "", false
		}
		if x, ok = o[name]; !ok {
			return "", false
		}
	}
	switch v := x.(type) {
	case number:
		return string(v), true
	case string:
		return v, true
	}
	return "nan", true
}
