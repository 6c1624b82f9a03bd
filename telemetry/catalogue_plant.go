package telemetry

// powerMetrics are the way of the power: feed, UPS, PDU, shelf, PSU, node.
func powerMetrics() []Metric {
	return like(Metric{Domain: Power, Rise: Neutral},
		Metric{Name: "node_power_watts", Unit: "watts", Kinds: kinds(Node), Detectors: shapes(ShapeShift, ShapePeer), Help: "Power taken by a node.", Origin: "Redfish EnvironmentMetrics PowerWatts; DCMI power reading"},
		Metric{Name: "rack_power_watts", Unit: "watts", Kinds: kinds(Rack, PDU, Shelf, Row), Detectors: shapes(ShapeShift, ShapePeer), Help: "Power drawn by a rack or its equivalent.", Origin: "Redfish PowerDistribution, PowerShelf"},
		Metric{Name: "rack_power_limit_watts", Unit: "watts", Kinds: kinds(Rack, PDU, Shelf, Row), Rise: Better, Detectors: shapes(ShapeLevel), Help: "The power that it may take.", Origin: "Redfish PowerLimitWatts"},
		Metric{Name: "node_power_limit_watts", Unit: "watts", Kinds: kinds(Node), Rise: Better, Detectors: shapes(ShapeLevel), Help: "The power that a node may take.", Origin: "Redfish PowerLimitWatts"},
		Metric{Name: "feed_up", Unit: "1", Type: StateOf, Kinds: kinds(Feed, PDU, UPS, Breaker), Rise: Better, Detectors: shapes(ShapeLevel, ShapeFlap), Help: "1 while the feed supplies.", Origin: "Redfish Circuit and Outlet Status; UPS-MIB upsInputVoltage"},
		Metric{Name: "psu_up", Unit: "1", Type: StateOf, Kinds: kinds(PSU, Shelf), Rise: Better, Detectors: shapes(ShapeLevel, ShapeFlap), Help: "1 while the supply delivers.", Origin: "Redfish PowerSupply Status; SONiC PSU_INFO status"},
		Metric{Name: "battery_charge_ratio", Unit: "1", Kinds: kinds(UPS, Battery, Shelf), Rise: Better, Detectors: shapes(ShapeDrift, ShapeShift), Help: "Share of its charge a battery holds.", Origin: "Redfish Battery ChargePercent; UPS-MIB upsEstimatedChargeRemaining"},
	)
}

// coolingMetrics are the way of the heat: air, plates, loops, pumps.
func coolingMetrics() []Metric {
	return like(Metric{Domain: Cooling},
		Metric{Name: "coolant_flow_liters_per_minute", Unit: "liters_per_minute", Kinds: kinds(Loop, CDU, Pump, Rack, Node), Rise: Better, Detectors: shapes(ShapeShift, ShapePeer, ShapeDrift, ShapeStuck), Help: "Flow of coolant.", Origin: "Redfish CoolantConnector FlowLitersPerMinute"},
		Metric{Name: "coolant_supply_celsius", Unit: "celsius", Kinds: kinds(Loop, CDU, Rack, Node), Rise: Worse, Detectors: shapes(ShapeShift, ShapeDrift, ShapeStuck), Help: "Temperature of the coolant on its way in.", Origin: "Redfish CoolantConnector SupplyTemperatureCelsius"},
		Metric{Name: "coolant_return_celsius", Unit: "celsius", Kinds: kinds(Loop, CDU, Rack, Node), Rise: Worse, Detectors: shapes(ShapeShift, ShapeDrift, ShapeStuck), Help: "Temperature of the coolant on its way out.", Origin: "Redfish CoolantConnector ReturnTemperatureCelsius"},
		Metric{Name: "coolant_pressure_pascals", Unit: "pascals", Kinds: kinds(Loop, CDU, Pump, Rack), Rise: Neutral, Detectors: shapes(ShapeShift, ShapeDrift, ShapeStuck), Help: "Pressure difference that drives the coolant.", Origin: "Redfish CoolantConnector DeltaPressurekPa (kPa)"},
		Metric{Name: "inlet_celsius", Unit: "celsius", Kinds: kinds(Node, Rack, Row, Hall, Switch, CRAH), Rise: Worse, Detectors: shapes(ShapeShift, ShapePeer, ShapeDrift, ShapeStuck), Help: "Temperature of the air taken in.", Origin: "Redfish ThermalSubsystem inlet sensor; SONiC TEMPERATURE_INFO"},
		Metric{Name: "fan_speed_ratio", Unit: "1", Kinds: kinds(Fan, Node, Switch, CRAH), Rise: Neutral, Detectors: shapes(ShapeShift, ShapePeer, ShapeStuck), Help: "Fan speed as a share of its maximum.", Origin: "Redfish Fan SpeedPercent; SONiC FAN_INFO speed"},
		Metric{Name: "leak_detected", Unit: "1", Type: StateOf, Kinds: kinds(Loop, Rack, CDU, Node, Switch), Rise: Worse, Detectors: shapes(ShapeLevel), Help: "1 while a detector is wet.", Origin: "Redfish LeakDetector DetectorState; SONiC LIQUID_COOLING_DEVICE leaking"},
		Metric{Name: "optic_temperature_celsius", Unit: "celsius", Kinds: kinds(Optic, Port, NIC), Rise: Worse, Detectors: shapes(ShapeShift, ShapePeer, ShapeDrift, ShapeStuck), Help: "Temperature of an optical module.", Origin: "CMIS module temperature; OpenConfig transceiver"},
	)
}
