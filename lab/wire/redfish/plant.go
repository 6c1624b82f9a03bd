package redfish

import (
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// last is the last part of an entity's name.
func last(e telemetry.Entity) string { return e.Name[strings.LastIndexByte(e.Name, '/')+1:] }

// rack builds a rack's manager, which has the power of all that is in it.
func (d *device) rack() {
	d.manager = "RMC"
	d.environment(d.chassis("Rack", object{"ChassisType": "Rack"}), "rack_power_watts", "rack_power_limit_watts")
}

// feed builds the switchgear at which a feed comes in.
func (d *device) feed() {
	d.manager = "NMC"
	d.chassis("Switchgear", object{"ChassisType": "Cabinet"})
	d.mains(d.equipment("Switchgear", "Switchgear"))
}

// shelf builds a rack's power shelf.
func (d *device) shelf() {
	d.manager = "PMC_0"
	chassis := d.chassis("PowerShelf_0", nil)
	d.environment(chassis, "", "rack_power_limit_watts")
	supplies := chassis + "/PowerSubsystem/PowerSupplies"
	for _, e := range d.board.Inside(d.entity) {
		if e.Kind != telemetry.PSU {
			continue
		}
		d.page(supplies+"/"+last(e), "PowerSupply.v1_6_0.PowerSupply", func() object {
			health := d.up(e, "psu_up", "OK", "Critical")
			return object{"PowerSupplyType": "AC", "Model": "Lab PSU 5.5kW", "FirmwareVersion": "1.5.1", "PartNumber": "LAB-PSU", "SerialNumber": e.Name,
				"LineInputStatus": d.up(e, "psu_up", "Normal", "LossOfInput"), "Status": object{"State": "Enabled", "Health": health}, "HotPluggable": true}
		})
	}
	d.collection(supplies, "PowerSupply")
	d.page(chassis+"/PowerSubsystem", "PowerSubsystem.v1_1_3.PowerSubsystem", fixed(object{"PowerSupplies": ref(supplies), "Status": healthy()}))
	d.equipment("PowerShelves", "PowerShelf")
}

// pdu builds a row's power distribution unit.
func (d *device) pdu() {
	d.manager = "BMC"
	chassis := d.chassis("PDU", nil)
	d.environment(chassis, "", "rack_power_limit_watts")
	unit := d.equipment("RackPDUs", "RackPDU")
	d.mains(unit)
}

// mains adds the circuit by which a unit is fed.
func (d *device) mains(unit string) {
	d.page(unit+"/Mains/AC1", "Circuit.v1_9_0.Circuit", func() object {
		return object{"CircuitType": "Mains", "BreakerState": d.up(d.entity, "feed_up", "Normal", "Off"), "NominalVoltage": "AC400V",
			"Status": object{"Health": d.up(d.entity, "feed_up", "OK", "Critical"), "State": d.up(d.entity, "feed_up", "Enabled", "UnavailableOffline")}}
	})
	d.collection(unit+"/Mains", "Circuit")
}

// equipment adds the unit itself and the power that it gives out.
func (d *device) equipment(list, kind string) string {
	unit := "PowerEquipment/" + list + "/1"
	d.page(unit+"/Metrics", "PowerDistributionMetrics.v1_4_0.PowerDistributionMetrics", func() object {
		return object{"PowerWatts": excerpt(d.read(d.entity, "rack_power_watts", 0))}
	})
	d.page(unit, "PowerDistribution.v1_6_0.PowerDistribution", func() object {
		doc := object{"EquipmentType": kind, "Manufacturer": "Lab", "Model": "Lab " + kind, "FirmwareVersion": "3.0.2", "PartNumber": "LAB-" + kind, "SerialNumber": d.entity.Name,
			"Metrics": ref(unit + "/Metrics"), "Status": healthy()}
		if d.pages[unit+"/Mains"] != nil {
			doc["Mains"] = ref(unit + "/Mains")
		}
		return doc
	})
	d.collection("PowerEquipment/"+list, "PowerDistribution")
	d.page("PowerEquipment", "PowerEquipment.v1_2_3.PowerEquipment", fixed(object{list: ref("PowerEquipment/" + list), "Status": healthy()}))
	return unit
}

// cdu builds a coolant distribution unit: its own secondary side, and of every
// loop that it serves the connector and a leak detector.
func (d *device) cdu() {
	d.manager = "CDU"
	const unit = "ThermalEquipment/CDUs/1"
	chassis := d.chassis("CDU", nil)
	d.connector(unit+"/SecondaryCoolantConnectors/Main", d.entity)
	for _, e := range d.board.Edges(telemetry.Cools) {
		if e.From != d.entity || e.To.Kind != telemetry.Loop {
			continue
		}
		d.connector(unit+"/SecondaryCoolantConnectors/"+last(e.To), e.To)
		if !d.has(e.To, "leak_detected") {
			continue
		}
		detector := unit + "/LeakDetection/LeakDetectors/" + last(e.To)
		d.named[root+"/"+detector] = e.To
		d.page(detector, "LeakDetector.v1_6_0.LeakDetector", func() object {
			return object{"LeakDetectorType": "Moisture", "DetectorState": d.up(e.To, "leak_detected", "Critical", "OK"),
				"Status": object{"State": "Enabled", "Health": d.up(e.To, "leak_detected", "Critical", "OK")}, "CriticalReactionType": "None"}
		})
	}
	d.collection(unit+"/SecondaryCoolantConnectors", "CoolantConnector")
	d.collection(unit+"/LeakDetection/LeakDetectors", "LeakDetector")
	d.page(unit+"/LeakDetection", "LeakDetection.v1_2_0.LeakDetection", fixed(object{"LeakDetectors": ref(unit + "/LeakDetection/LeakDetectors"), "Status": healthy()}))
	for _, e := range d.board.Inside(d.entity) {
		if e.Kind != telemetry.Pump {
			continue
		}
		d.page(unit+"/Pumps/"+last(e), "Pump.v1_2_0.Pump", fixed(object{"PumpType": "Liquid", "Model": "Lab Pump", "PartNumber": "LAB-PUMP", "SerialNumber": e.Name, "Status": healthy()}))
		// A pump has no flow in the schema: a sensor reports it.
		d.named[root+"/"+chassis+"/Sensors/Pump"+last(e)+"Flow"] = e
		d.sensor(chassis, "Pump"+last(e)+"Flow", func() object {
			return object{"ReadingType": "LiquidFlowLPM", "ReadingUnits": "L/min", "ReadingBasis": "Zero", "Reading": d.read(e, "coolant_flow_liters_per_minute", 0)}
		})
	}
	d.collection(unit+"/Pumps", "Pump")
	d.page(unit, "CoolingUnit.v1_5_0.CoolingUnit", fixed(object{"EquipmentType": "CDU", "Manufacturer": "Lab", "Model": "Lab CDU", "FirmwareVersion": "3.2.0", "PartNumber": "LAB-CDU",
		"SerialNumber": d.entity.Name, "SecondaryCoolantConnectors": ref(unit + "/SecondaryCoolantConnectors"), "Pumps": ref(unit + "/Pumps"), "LeakDetection": ref(unit + "/LeakDetection"), "Status": healthy()}))
	d.collection("ThermalEquipment/CDUs", "CoolingUnit")
	d.page("ThermalEquipment", "ThermalEquipment.v1_2_1.ThermalEquipment", fixed(object{"CDUs": ref("ThermalEquipment/CDUs"), "Status": healthy()}))
}

func (d *device) connector(path string, e telemetry.Entity) {
	if e != d.entity {
		d.named[root+"/"+path] = e
	}
	d.page(path, "CoolantConnector.v1_3_0.CoolantConnector", func() object {
		return object{"CoolantConnectorType": "Pair", "CoolingLoopName": e.Name, "FlowLitersPerMinute": excerpt(d.read(e, "coolant_flow_liters_per_minute", 0)),
			"SupplyTemperatureCelsius": excerpt(d.read(e, "coolant_supply_celsius", 0)), "ReturnTemperatureCelsius": excerpt(d.read(e, "coolant_return_celsius", 0)),
			"DeltaPressurekPa": excerpt(d.read(e, "coolant_pressure_pascals", -3)), "Status": healthy()}
	})
}

// ups builds an uninterruptible supply: its battery, and whether its input is
// there.
func (d *device) ups() {
	d.manager = "NMC"
	chassis := d.chassis("UPS", nil)
	power := chassis + "/PowerSubsystem"
	d.page(power+"/Batteries/String1/Metrics", "BatteryMetrics.v1_1_0.BatteryMetrics", func() object {
		return object{"ChargePercent": excerpt(d.read(d.entity, "battery_charge_ratio", 2))}
	})
	d.page(power+"/Batteries/String1", "Battery.v1_5_0.Battery", fixed(object{"Metrics": ref(power + "/Batteries/String1/Metrics"), "Status": healthy()}))
	d.collection(power+"/Batteries", "Battery")
	d.page(power+"/PowerSupplies/Input", "PowerSupply.v1_6_0.PowerSupply", func() object {
		return object{"LineInputStatus": d.up(d.entity, "feed_up", "Normal", "LossOfInput"), "Status": healthy()}
	})
	d.collection(power+"/PowerSupplies", "PowerSupply")
	d.page(power, "PowerSubsystem.v1_1_3.PowerSubsystem", fixed(object{"Batteries": ref(power + "/Batteries"), "PowerSupplies": ref(power + "/PowerSupplies"), "Status": healthy()}))
}

// crah builds an air handler, which also has the sensor of its row.
func (d *device) crah() {
	d.manager = "NMC"
	chassis := d.chassis("CRAH", nil)
	d.intake(chassis, d.entity)
	d.thermal(chassis)
	d.sensor(chassis, "SupplyFan", func() object {
		return object{"ReadingType": "Percent", "ReadingUnits": "%", "PhysicalContext": "Fan", "Reading": d.read(d.entity, "fan_speed_ratio", 2)}
	})
	row, ok := d.board.Outside(d.entity)
	if !ok || row.Kind != telemetry.Row || !d.has(row, "inlet_celsius") {
		return
	}
	d.named[root+"/"+chassis+"/Sensors/RowInlet"] = row
	d.sensor(chassis, "RowInlet", func() object {
		return object{"ReadingType": "Temperature", "ReadingUnits": "Cel", "PhysicalContext": "Room", "Reading": d.read(row, "inlet_celsius", 0)}
	})
}
