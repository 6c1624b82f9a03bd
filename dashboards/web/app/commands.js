// Commands of a site's own tools for what an incident asks to do, filled in, to
// copy. Nothing is run from here.

import { h, copyButton } from "./dom.js";
import { entity } from "./format.js";

const plain = /^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$/;

// word is a name as a shell takes it; null where it could be taken for an option.
function word(name) {
  if (name === "" || name.startsWith("-")) return null;
  return plain.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

const gpuOnly = (index) => (/^\d+$/.test(index) ? ` -i ${index}` : "");

// Each writes the commands for one kind of target: {tool, look, dry, run, undo}, all
// but tool and one of the others may be missing. n is the node or switch, part its
// GPU, adapter or port.
const makers = {
  drain: (n, part, why) => [
    { tool: "Slurm", look: `squeue --nodelist=${n}`, run: `scontrol update NodeName=${n} State=DRAIN Reason=${why}`, undo: `scontrol update NodeName=${n} State=RESUME` },
    { tool: "Kubernetes", dry: `kubectl drain ${n} --ignore-daemonsets --delete-emptydir-data --dry-run=server`, run: `kubectl drain ${n} --ignore-daemonsets --delete-emptydir-data`, undo: `kubectl uncordon ${n}` },
  ],
  gpu: (n, part) => [{ tool: "nvidia-smi", look: `ssh ${n} nvidia-smi -q${gpuOnly(part)} -d CLOCK,PERFORMANCE,POWER,TEMPERATURE,ECC`, run: gpuOnly(part) && `ssh ${n} nvidia-smi --gpu-reset${gpuOnly(part)}` }],
  gpulook: (n, part) => [{ tool: "nvidia-smi", look: `ssh ${n} nvidia-smi -q${gpuOnly(part)} -d CLOCK,PERFORMANCE,POWER,TEMPERATURE,ECC` }],
  reset: (n) => [{ tool: "Redfish", look: `curl -s https://$BMC/redfish/v1/Systems  # BMC: the address of the BMC of ${n}`, run: `curl -X POST -H 'Content-Type: application/json' -d '{"ResetType":"GracefulRestart"}' https://$BMC/redfish/v1/Systems/$SYSTEM/Actions/ComputerSystem.Reset` }],
  node: (n) => [{ tool: "Slurm", look: `scontrol show node ${n}` }, { tool: "Redfish", look: `curl -s -u $USER https://$BMC/redfish/v1/Chassis  # BMC: the address of the BMC of ${n}` }],
  nic: (n, part) => [{ tool: "mlxlink", look: `ssh ${n} mlxlink -d ${part} -m -c` }, { tool: "ethtool", look: `ssh ${n} 'rdma link show; ethtool -S "$(ls /sys/class/infiniband/${part}/device/net)"'` }],
  port: (n, part) => [
    { tool: "SONiC", look: `ssh ${n} show interfaces status ${part}`, run: `ssh ${n} sudo config interface shutdown ${part}`, undo: `ssh ${n} sudo config interface startup ${part}` },
    { tool: "Cumulus NVUE", dry: `ssh ${n} 'nv set interface ${part} link state down && nv config diff'`, run: `ssh ${n} nv config apply`, undo: `ssh ${n} 'nv set interface ${part} link state up && nv config apply'` },
  ],
  portlook: (n, part) => [
    { tool: "SONiC", look: `ssh ${n} show interfaces counters detailed ${part}` },
    { tool: "Cumulus NVUE", look: `ssh ${n} nv show interface ${part} counters` },
  ],
  optic: (n, part) => [{ tool: "SONiC", look: `ssh ${n} show interfaces transceiver eeprom --dom ${part}` }, { tool: "mlxlink", look: `ssh ${n} mlxlink -d ${part} -m -c -e` }],
  sm: () => [{ tool: "infiniband-diags", look: "sminfo && saquery -s" }],
  switch: (n) => [{ tool: "SONiC", look: `ssh ${n} show platform summary` }, { tool: "Cumulus NVUE", look: `ssh ${n} nv show platform` }],
  plant: (n, part, why, kind) => [{ tool: "Redfish", look: `curl -s -u $USER https://$CONTROLLER/redfish/v1/${equipment[kind]}  # CONTROLLER: the management address of ${kind} ${part ? `${n}/${part}` : n}` }],
  job: (n) => [{ tool: "Slurm", look: `squeue --name=${n} --format='%i %j %T %N'` }, { tool: "Kubernetes", look: `kubectl get pods -A -o wide | grep -F -- ${n}` }],
};

// Where Redfish (DSP0268) lists equipment of the plant: what only people of the
// building can mend can be looked at before they are called.
const equipment = {
  cdu: "ThermalEquipment/CDUs", pump: "ThermalEquipment/CDUs", loop: "ThermalEquipment/CDUs", crah: "ThermalEquipment",
  feed: "PowerEquipment/RackPDUs", pdu: "PowerEquipment/RackPDUs", ups: "PowerEquipment", shelf: "PowerEquipment/PowerShelves", battery: "PowerEquipment/PowerShelves", psu: "PowerEquipment/PowerShelves",
  rack: "Chassis", row: "Chassis", hall: "Chassis",
};

// takesDown are actions that may end with a link taken out of use.
const takesDown = ["reroute", "reset", "replace", "reseat"];

function makerOf(kind, target) {
  switch (target) {
    case "node": return kind === "drain" ? "drain" : kind === "reset" ? "reset" : "node";
    case "gpu": return kind === "drain" ? "drain" : kind === "reset" ? "gpu" : "gpulook";
    case "nic": return kind === "drain" ? "drain" : "nic";
    case "port": return takesDown.includes(kind) ? "port" : "portlook";
    case "switch": case "job": case "sm": case "optic": return target;
    default: return Object.hasOwn(equipment, target) ? "plant" : null;
  }
}

/** commandsOf lists the commands for an action of an incident: {tool, look, dry, run, undo}. */
export function commandsOf(action, incident) {
  const { kind, name } = entity(action.target), [head, ...rest] = kind === "job" ? [name] : name.split("/");
  const maker = makerOf(action.kind, kind), n = word(head), part = rest.length ? word(rest.join("/")) : "";
  if (!maker || n === null || part === null || ["nic", "port", "portlook", "optic"].includes(maker) && (part === "" || part.startsWith("'") || n.startsWith("'"))) return [];
  const why = `'quintet ${incident.id}: ${String(incident.root?.signature ?? "cause under investigation").replaceAll("'", "")}'`;
  return makers[maker](n, part, why, kind);
}

const labels = [["look", "look first"], ["dry", "dry run"], ["run", "run"], ["undo", "undo"]];

/** commandList draws them, closed at first; null where there are none. */
export function commandList(action, incident) {
  const all = commandsOf(action, incident);
  if (all.length === 0) return null;
  const line = (tool, what, command) => h("div", { class: "command" }, h("span", { class: "quiet" }, what), h("code", {}, command), copyButton(`${tool} command: ${what}`, () => command));
  return h("details", { class: "commands" }, h("summary", {}, `Commands: ${all.map((c) => c.tool).join(", ")}`),
    all.map((c) => [h("p", {}, h("b", {}, c.tool)), labels.filter(([key]) => c[key]).map(([key, what]) => line(c.tool, what, c[key]))]));
}
