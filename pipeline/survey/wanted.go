package survey

import (
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// wanted is one requirement of a site's telemetry, with the evidence for it.
type wanted struct {
	id, area, what string
	// needs are kinds of entities without which it is not asked.
	needs []telemetry.Kind
	// shows are its evidence; one is enough.
	shows []sign
	judge func(f *Facts, r *Requirement) // in the place of shows
	do    string                         // where it has no evidence
}

// sign is something a site states. Empty fields are any.
type sign struct {
	collector string
	kinds     []telemetry.Kind
	metric    string // what its name begins with; "" is none
	event     string // likewise
	relation  telemetry.Relation
	to        telemetry.Kind // of the relation
}

func metrics(prefix string, kinds ...telemetry.Kind) sign { return sign{metric: prefix, kinds: kinds} }
func events(prefix string, kinds ...telemetry.Kind) sign  { return sign{event: prefix, kinds: kinds} }
func (s sign) by(collector string) sign                   { s.collector = collector; return s }

// wants lists the requirements of NVIDIA's validation plan for partners' clouds, by
// its own ids (reference: ecosystem.md 1.4), in Quintet's words.
func wants() []wanted {
	var all []wanted
	for _, part := range [][]wanted{observability(), networks(), logs(), devices(), security()} {
		all = append(all, part...)
	}
	return all
}

func observability() []wanted {
	const area = "observability"
	return []wanted{
		{id: "OBS01", area: area, what: "telemetry can be had in an open form (OpenTelemetry, Prometheus)", shows: []sign{{collector: "scrape", metric: "*"}, {collector: "receive", metric: "*"}, {collector: "otlp", metric: "*"}},
			do: "name an exporter under collectors.scrape, or push to /v1/metrics"},
		{id: "OBS04", area: area, what: "alerts are delivered to a receiver", judge: receivers, do: "name a receiver under notify"},
		{id: "OBS05", area: area, what: "what is measured is reported within two minutes", judge: prompt, do: "shorten the cadence of the slowest source"},
	}
}

func networks() []wanted {
	const area = "networks"
	return []wanted{
		{id: "OBS06", area: area, what: "counters of the network to the outside and to storage (north-south)", judge: named("front", "north", "storage", "ns"), do: "read its switches over gNMI, as members of a group that is named after it"},
		{id: "OBS07", area: area, what: "counters of the network between the GPUs (east-west)", needs: []telemetry.Kind{telemetry.Switch}, shows: []sign{metrics("port_", telemetry.Port)}, do: "read its switches over gNMI, or the subnet with the fabric collector"},
		{id: "OBS08", area: area, what: "counters of the management network", judge: named("mgmt", "management", "oob"), do: "read its switches over gNMI, as members of a group that is named after it"},
		{id: "OBS09", area: area, what: "counters of NVSwitches", needs: []telemetry.Kind{telemetry.NVSwitch}, shows: []sign{metrics("nv", telemetry.NVSwitch), {collector: "scrape", metric: "nvlink_", kinds: []telemetry.Kind{telemetry.NVLink}}}, do: "scrape NMX-T, or read the hosts' own switches"},
		{id: "OBS10", area: area, what: "counters of the hosts' NICs", needs: []telemetry.Kind{telemetry.NIC}, shows: []sign{metrics("port_", telemetry.NIC), metrics("roce_", telemetry.NIC), metrics("rdma_", telemetry.NIC)}, do: "run quintet collect on the hosts"},
		{id: "NET01", area: area, what: "which leaf and spine switches a node hangs on", needs: []telemetry.Kind{telemetry.Node}, shows: []sign{{relation: telemetry.Connects, kinds: []telemetry.Kind{telemetry.NIC, telemetry.Port}, to: telemetry.Port}}, do: "state the cabling: LLDP over gNMI, or a topology file"},
		{id: "NET02", area: area, what: "which NVLink domain a node belongs to", needs: []telemetry.Kind{telemetry.NVLink}, shows: []sign{
			{relation: telemetry.Connects, kinds: []telemetry.Kind{telemetry.NVLink}}, {relation: telemetry.Contains, kinds: []telemetry.Kind{telemetry.Node}, to: telemetry.NVSwitch}}, do: "scrape NMX-T, or state it in a topology file"},
	}
}

func logs() []wanted {
	const area = "logs"
	return []wanted{
		{id: "OBS02", area: area, what: "logs of the control plane (scheduler, cluster manager)", shows: []sign{events("job_").by("jobs"), events("job_").by(logCollector), {collector: "jobs", metric: "*"}}, do: "name the scheduler under collectors.jobs"},
		{id: "OBS03", area: area, what: "logs of instances", judge: hostLogs, do: "read the hosts' logs: collectors.logs on each, or syslog to one"},
		{id: "OBS11", area: area, what: "logs of the Fabric Manager", needs: []telemetry.Kind{telemetry.NVSwitch}, judge: among(hostLogs, "fabric_manager_", "nvswitch_", "sxid"), do: "nothing to do where hosts' logs are read: its lines become events once it complains"},
		{id: "OBS12", area: area, what: "logs of the subnet manager", needs: []telemetry.Kind{telemetry.SM}, shows: []sign{events("sm_"), {collector: "fabric", metric: "*", kinds: []telemetry.Kind{telemetry.SM}}}, do: "send its log by syslog"},
		{id: "OBS13", area: area, what: "events of UFM", needs: []telemetry.Kind{telemetry.SM}, shows: []sign{events("").by("ufm")}, do: "have UFM push its events to /api/v1/events"},
		{id: "OBS14", area: area, what: "logs of switches", needs: []telemetry.Kind{telemetry.Switch}, judge: switchLogs, do: "send the switches' syslog to collectors.logs"},
		{id: "OBS15", area: area, what: "syslog of switches", needs: []telemetry.Kind{telemetry.Switch}, judge: switchLogs, do: "send the switches' syslog to collectors.logs"},
		{id: "OBS16", area: area, what: "kernel messages of switches", needs: []telemetry.Kind{telemetry.Switch}, judge: among(switchLogs, "switch_", "pcie_error", "machine_check", "link_"), do: "let the switches' syslog carry facility kern"},
		{id: "OBS17", area: area, what: "BMCs' event logs (SEL)", shows: []sign{events("").by("redfish")}, do: "the redfish collector reads them where a BMC has any; no event received yet"},
		{id: "OBS18", area: area, what: "syslog of hosts", needs: []telemetry.Kind{telemetry.Node}, judge: hostLogs, do: "read the hosts' logs: collectors.logs on each, or syslog to one"},
	}
}

func devices() []wanted {
	const area = "devices"
	return []wanted{
		{id: "TELEM04", area: area, what: "GPU metrics from the BMC alone", needs: []telemetry.Kind{telemetry.GPU}, shows: []sign{metrics("gpu_", telemetry.GPU).by("redfish")}, do: "name the BMCs under collectors.redfish"},
		{id: "TELEM05", area: area, what: "how full storage is", shows: []sign{metrics("storage_capacity", telemetry.Storage), metrics("storage_used", telemetry.Storage), metrics("storage_free", telemetry.Storage)}, do: "scrape the file system's exporter with a mapping to storage_used_bytes"},
		{id: "TELEM06", area: area, what: "how fast storage is", shows: []sign{metrics("storage_read_", telemetry.Storage), metrics("storage_write_", telemetry.Storage)}, do: "scrape the file system's exporter"},
		{id: "TELEM07", area: area, what: "NVLink as GPUs report it", needs: []telemetry.Kind{telemetry.NVLink}, shows: []sign{metrics("nvlink_", telemetry.NVLink, telemetry.GPU).by("scrape"), metrics("nvlink_", telemetry.NVLink, telemetry.GPU).by("nvml"), metrics("nvlink_", telemetry.NVLink).by("redfish")}, do: "scrape dcgm-exporter, or run the nvml collector"},
		{id: "TELEM08", area: area, what: "NVLink as switches report it", needs: []telemetry.Kind{telemetry.NVSwitch}, shows: []sign{metrics("nv", telemetry.NVSwitch), {collector: "scrape", metric: "nvlink_", kinds: []telemetry.Kind{telemetry.NVLink}}}, do: "scrape NMX-T"},
	}
}

func security() []wanted {
	const area = "security"
	unobservable := func(_ *Facts, r *Requirement) { r.State = Unobservable }
	return []wanted{
		{id: "SEC08", area: area, what: "audit logs are kept for 30 days", judge: unobservable, do: "not in telemetry: ask the owners"},
		{id: "SEC13", area: area, what: "connections are authenticated on both sides (mutual TLS)", judge: unobservable, do: "not in telemetry: see tls under each collector"},
		{id: "CNP10", area: area, what: "BMCs serve Redfish over TLS, and IPMI is off", judge: unobservable, do: "not in telemetry: read the BMCs' ManagerNetworkProtocol"},
	}
}

// receivers judges whether any receiver is notified of alerts.
func receivers(f *Facts, r *Requirement) {
	switch {
	case f.Receivers < 0:
		r.State = Unobservable
	case f.Receivers == 0:
		r.State = Missing
	default:
		r.State, r.By = Met, []string{Plural(f.Receivers, "receiver")}
	}
}

// budget is how late telemetry may be (OBS05).
const budget = 120 * telemetry.Duration(1e9)

// prompt judges how late telemetry is.
func prompt(f *Facts, r *Requirement) {
	switch {
	case len(f.Metrics) == 0:
		r.State = Missing
	case f.Delay > budget:
		r.State, r.By = Partly, []string{"the slowest source takes " + f.Delay.Round(1e9).String()}
	default:
		r.State, r.By = Met, []string{"the slowest source takes " + f.Delay.Round(1e7).String()}
	}
}

// named judges a network that only the name of a group of switches can distinguish
// from others.
func named(names ...string) func(*Facts, *Requirement) {
	return func(f *Facts, r *Requirement) {
		r.State = Missing
		for _, g := range f.Groups {
			for _, n := range names {
				if part := strings.ToLower(g); strings.Contains(part, n) && (len(n) > 2 || part == n) {
					r.State, r.By = Met, append(r.By, "the switches of "+g)
				}
			}
		}
	}
}

func hostLogs(f *Facts, r *Requirement)   { logsOf(f.hostLogs, f.hostLogged, f, r) }
func switchLogs(f *Facts, r *Requirement) { logsOf(f.otherLogs, f.otherLogged, f, r) }

// among judges a log that comes among others: it is known to be there once one
// of its lines has become an event.
func among(others func(*Facts, *Requirement), names ...string) func(*Facts, *Requirement) {
	return func(f *Facts, r *Requirement) {
		others(f, r)
		for _, e := range f.Events {
			if e.Collector == logCollector && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(string(e.Name), n) }) {
				r.State, r.By = Met, append(r.By, string(e.Name)+" of "+string(e.Kind))
				r.age(f.At, max(e.Latest, f.hostLogged, f.otherLogged))
				return
			}
		}
		if r.State == Met {
			r.State = Partly
		}
	}
}

func logsOf(n int, latest telemetry.Time, f *Facts, r *Requirement) {
	if n == 0 {
		r.State = Missing
		return
	}
	r.State, r.By = Met, []string{Plural(n, "log")}
	r.age(f.At, latest)
}
