package fabric

// laneRate is the data rate of a lane in bits per second, as the kernel
// states a port's rate (IBTA; ib_ext_active_speed).
func laneRate(speed string) float64 {
	switch speed {
	case "SDR":
		return 2.5e9
	case "DDR":
		return 5e9
	case "QDR", "FDR10":
		return 10e9
	case "FDR":
		return 14e9
	case "EDR":
		return 25e9
	case "HDR":
		return 50e9
	case "NDR":
		return 100e9
	case "XDR":
		return 200e9
	}
	return 0
}
