package redfish

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// device is one controller: its resources, each made when it is asked for.
type device struct {
	board   *board.Board
	cfg     *Config
	entity  telemetry.Entity
	pages   map[string]func() object // by path below the root
	named   map[string]telemetry.Entity
	manager string
	log     string // path of its log

	mu      sync.Mutex
	changed map[string]object // properties that are not what they were, by path
	pulled  map[string]bool   // resources that are gone
}

// devices lists the controllers of a site: what the board knows of their kinds.
func devices(b *board.Board, c *Config) (out []*device) {
	for _, k := range []struct {
		kind  telemetry.Kind
		build func(*device)
	}{{telemetry.Node, (*device).node}, {telemetry.Shelf, (*device).shelf}, {telemetry.PDU, (*device).pdu}, {telemetry.CDU, (*device).cdu},
		{telemetry.UPS, (*device).ups}, {telemetry.CRAH, (*device).crah}, {telemetry.Rack, (*device).rack}, {telemetry.Feed, (*device).feed}} {
		for _, e := range b.Entities(k.kind) {
			if c.Entities != nil && !slices.Contains(c.Entities, e) || len(b.Metrics(e)) == 0 { // a rack of switches is not measured
				continue
			}
			d := &device{board: b, cfg: c, entity: e, pages: map[string]func() object{}, named: map[string]telemetry.Entity{}, changed: map[string]object{}, pulled: map[string]bool{}, manager: "BMC_0"}
			k.build(d)
			d.service()
			out = append(out, d)
		}
	}
	return out
}

// document makes a resource; nil where there is none.
func (d *device) document(path string) object {
	f := d.pages[path]
	if f == nil || d.gone(path) {
		return nil
	}
	doc := prune(f())
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(doc, d.changed[path])
	return doc
}

// gone reports whether a resource, or what it is contained in, was pulled out.
func (d *device) gone(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.pulled {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// none represents a property that a device of this site does not have.
type none struct{}

// prune takes out what a device does not have, and excerpts of it.
func prune(doc object) object {
	for name, x := range doc {
		switch x := x.(type) {
		case none:
			delete(doc, name)
		case []any:
			for _, item := range x {
				if o, ok := item.(object); ok {
					prune(o)
				}
			}
		case object:
			full := len(x) > 0
			if prune(x); full && len(x) == 0 {
				delete(doc, name)
			}
		}
	}
	return doc
}

// page adds a resource. What its properties are is worked out when it is asked
// for.
func (d *device) page(path, kind string, properties func() object) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	d.pages[path] = func() object {
		doc := object{"@odata.id": root + "/" + path, "@odata.type": "#" + kind, "Id": name, "Name": strings.ReplaceAll(name, "_", " ")}
		if properties != nil {
			maps.Copy(doc, properties())
		}
		return doc
	}
}

// fixed is for a resource whose properties never change.
func fixed(o object) func() object { return func() object { return maps.Clone(o) } }

// collection adds a list of what is directly below its path.
func (d *device) collection(path, kind string) {
	d.pages[path] = func() object {
		var ids []string
		for p := range d.pages {
			if rest, ok := strings.CutPrefix(p, path+"/"); ok && !strings.Contains(rest, "/") && !d.gone(p) {
				ids = append(ids, p)
			}
		}
		slices.SortFunc(ids, func(a, b string) int {
			if len(a) != len(b) {
				return len(a) - len(b)
			}
			return strings.Compare(a, b)
		})
		members := make([]any, 0, len(ids))
		for _, p := range ids {
			members = append(members, ref(p))
		}
		return object{"@odata.id": root + "/" + path, "@odata.type": "#" + kind + "Collection." + kind + "Collection", "Name": kind + " Collection",
			"Members": members, "Members@odata.count": len(members)}
	}
}

func ref(path string) object { return object{"@odata.id": root + "/" + path} }

// read is what the board has of a series of an entity, its decimal point moved;
// none where the site does not show it.
func (d *device) read(e telemetry.Entity, m telemetry.MetricName, shift int) any {
	r, ok := d.board.Read(e, m)
	if !ok {
		return none{}
	}
	return scaled(r, shift)
}

// whole is what read gives, to the nearest whole number: the schema has no
// fractions there.
func (d *device) whole(e telemetry.Entity, m telemetry.MetricName, shift int) any {
	v, ok := d.read(e, m, shift).(number)
	if !ok {
		return d.read(e, m, shift)
	}
	f, err := v.Float64()
	if err != nil {
		return nil
	}
	return decimal(math.Round(f))
}

// has reports whether the site shows a series.
func (d *device) has(e telemetry.Entity, m telemetry.MetricName) bool {
	_, ok := d.board.Read(e, m)
	return ok
}

// excerpt is a property that repeats a sensor's reading.
func excerpt(reading any) object { return object{"Reading": reading} }

// up turns a series of zeros and ones into a word.
func (d *device) up(e telemetry.Entity, m telemetry.MetricName, yes, no string) any {
	switch r, ok := d.board.Read(e, m); {
	case !ok:
		return none{}
	case r.Gap:
		return nil
	case r.Uint() == 0:
		return no
	}
	return yes
}

// service adds what every controller has.
func (d *device) service() {
	rootDoc := object{"@odata.id": root + "/", "@odata.type": "#ServiceRoot.v1_17_0.ServiceRoot", "Id": "RootService", "Name": "Root Service", "RedfishVersion": "1.17.0",
		"ProtocolFeaturesSupported": object{"ExpandQuery": object{"ExpandAll": !d.cfg.NoExpand, "Levels": !d.cfg.NoExpand, "Links": !d.cfg.NoExpand, "NoLinks": !d.cfg.NoExpand, "MaxLevels": 4},
			"FilterQuery": false, "SelectQuery": false, "OnlyMemberQuery": true},
		"SessionService": ref("SessionService"), "Links": object{"Sessions": ref("SessionService/Sessions")}}
	d.page("Managers/"+d.manager, "Manager.v1_19_0.Manager", func() object {
		return object{"ManagerType": "BMC", "Model": "Lab BMC", "FirmwareVersion": "1.4.2", "DateTime": time.Unix(0, int64(d.board.Now())).UTC().Format(time.RFC3339),
			"LogServices": ref("Managers/" + d.manager + "/LogServices"), "Status": healthy()}
	})
	d.collection("Managers", "Manager")
	d.log = "Managers/" + d.manager + "/LogServices/SEL"
	d.page(d.log, "LogService.v1_7_0.LogService", fixed(object{"LogEntryType": "SEL", "Entries": ref(d.log + "/Entries")}))
	d.collection("Managers/"+d.manager+"/LogServices", "LogService")
	d.page("SessionService", "SessionService.v1_1_9.SessionService", fixed(object{"SessionTimeout": int(d.cfg.SessionTimeout / time.Second), "Sessions": ref("SessionService/Sessions")}))
	d.page("EventService", "EventService.v1_10_3.EventService", fixed(object{"ServiceEnabled": true, "ServerSentEventUri": root + "/EventService/SSE", "Subscriptions": ref("EventService/Subscriptions")}))
	d.collection("EventService/Subscriptions", "EventDestination")
	for _, name := range []string{"Chassis", "Systems", "Managers", "PowerEquipment", "ThermalEquipment", "TelemetryService", "EventService"} {
		if d.pages[name] != nil {
			rootDoc[name] = ref(name)
		}
	}
	d.pages[""] = func() object { return maps.Clone(rootDoc) }
}

func healthy() object { return object{"State": "Enabled", "Health": "OK"} }

// chassis adds the device's own chassis, and what it has.
func (d *device) chassis(id string, more object) string {
	path := "Chassis/" + id
	d.page(path, "Chassis.v1_25_0.Chassis", func() object {
		doc := object{"ChassisType": "RackMount", "Manufacturer": "Lab", "Model": "Lab " + string(d.entity.Kind), "PartNumber": "LAB-" + string(d.entity.Kind), "SerialNumber": d.entity.Name,
			"Status": healthy(), "PowerState": "On"}
		if rack, ok := d.board.Outside(d.entity); ok && rack.Kind == telemetry.Rack {
			doc["Location"] = object{"Placement": object{"Rack": rack.Name}}
		}
		for _, name := range []string{"EnvironmentMetrics", "ThermalSubsystem", "PowerSubsystem", "Sensors", "LeakDetectors", "Power", "Thermal"} {
			if d.pages[path+"/"+name] != nil {
				doc[name] = ref(path + "/" + name)
			}
		}
		maps.Copy(doc, more)
		return doc
	})
	d.collection("Chassis", "Chassis")
	return path
}

// sensor adds a sensor to a chassis.
func (d *device) sensor(chassis, id string, properties func() object) {
	d.page(chassis+"/Sensors/"+id, "Sensor.v1_10_1.Sensor", func() object {
		doc := object{"Status": healthy(), "ReadingTime": time.Unix(0, int64(d.board.Now())).UTC().Format(time.RFC3339Nano)}
		maps.Copy(doc, properties())
		return doc
	})
	d.collection(chassis+"/Sensors", "Sensor")
}

// intake adds the temperature of the air that comes in.
func (d *device) intake(chassis string, e telemetry.Entity) {
	if !d.has(e, "inlet_celsius") {
		return
	}
	d.page(chassis+"/ThermalSubsystem/ThermalMetrics", "ThermalMetrics.v1_3_2.ThermalMetrics", func() object {
		return object{"TemperatureSummaryCelsius": object{"Intake": excerpt(d.read(e, "inlet_celsius", 0))}}
	})
}

// thermal adds a chassis' thermal subsystem, once its parts are there.
func (d *device) thermal(chassis string) {
	path := chassis + "/ThermalSubsystem"
	d.page(path, "ThermalSubsystem.v1_5_0.ThermalSubsystem", func() object {
		doc := object{"Status": healthy()}
		for _, name := range []string{"Fans", "ThermalMetrics", "LeakDetection"} {
			if d.pages[path+"/"+name] != nil {
				doc[name] = ref(path + "/" + name)
			}
		}
		return doc
	})
}

// environment adds a chassis' power and its limit.
func (d *device) environment(chassis string, power, limit telemetry.MetricName) {
	d.page(chassis+"/EnvironmentMetrics", "EnvironmentMetrics.v1_5_0.EnvironmentMetrics", func() object {
		doc := object{}
		if d.has(d.entity, power) {
			doc["PowerWatts"] = excerpt(d.read(d.entity, power, 0))
		}
		if d.has(d.entity, limit) {
			doc["PowerLimitWatts"] = object{"SetPoint": d.read(d.entity, limit, 0), "ControlMode": "Automatic"}
		}
		return doc
	})
}

// about is where an event is from and what it states, if it is this device's: an
// XID of one of its GPUs.
func (d *device) about(e *telemetry.Event) (origin string, args [2]string, ok bool) {
	node, index, _ := strings.Cut(e.Entity.Name, "/")
	if e.Name != telemetry.EventXID || d.entity.Kind != telemetry.Node {
		return "", args, false
	}
	switch e.Entity.Kind {
	case telemetry.GPU:
		return root + "/Systems/HGX_Baseboard_0/Processors/GPU_" + index, [2]string{"GPU_" + index, "XID " + e.Text}, node == d.entity.Name
	case telemetry.Node:
		return root + "/Chassis/Chassis_0", [2]string{"Chassis_0", "XID " + e.Text}, node == d.entity.Name
	}
	return "", args, false
}
