package telemetry

// Parts names the parts of a name of this kind, from the outside in, as labels
// name them: a port's are its switch and itself. Nil where a kind has no fixed
// parts.
func (k Kind) Parts() []string {
	switch k {
	case Node:
		return []string{"node"}
	case GPU:
		return []string{"node", "gpu"}
	case NIC:
		return []string{"node", "nic"}
	case NVLink:
		return []string{"node", "gpu", "nvlink"}
	case NVSwitch:
		return []string{"node", "nvswitch"}
	case Port:
		return []string{"switch", "port"}
	case Queue:
		return []string{"switch", "port", "queue"}
	case Rank:
		return []string{"job", "rank"}
	case Job:
		return []string{"job"}
	}
	return nil
}
