package heat

import "github.com/quintet-dc/quintet/correlate/stats"

// waterHeat is what a litre per minute carries per kelvin: 4,186 J/(kg·K) at
// 1 kg/L over 60 s. So 1.0, 1.5 and 2.0 L/min per kW warm by 14.3, 9.6 and
// 7.2 K (rca.md C.1).
const waterHeat = 4186.0 / 60

// Loop is the coolant of one rack, or of one CDU: a volume that takes heat from
// machines and gives it to facility water through an exchanger.
type Loop struct {
	Liters        float64 // of coolant; 20 in a rack of 132 kW, by rca.md C.1
	Effectiveness float64 // of the exchanger, 0 to 1, at nominal flow
}

// Supply moves a loop's supply temperature dt seconds on, under constant load
// (watts), flow (litres per minute) and facility temperature:
//
//	C dTs/dt = Q − ε·ṁc·(Tr − Tf),  Tr = Ts + Q/ṁc
//
// by its exact solution. Without flow nothing is given away: the loop warms by
// Q/C.
func (l Loop) Supply(supply float64, in LoopInput, dt float64) float64 {
	capacity := float64(float64(l.Liters*waterHeat) * 60)
	give := float64(float64(l.Effectiveness*in.Flow) * waterHeat)
	if give <= 0 {
		return supply + float64(in.Load*dt)/capacity
	}
	rest := l.Rest(in)
	return rest + float64((supply-rest)*stats.Exp(float64(-give*dt)/capacity))
}

// LoopInput is what acts on a loop during a step.
type LoopInput struct {
	Load     float64 // watts
	Flow     float64 // litres per minute
	Facility float64 // °C
}

// Rest is the supply temperature at which a loop with flow comes to rest:
// Tf + (1/ε − 1)·Q/ṁc.
func (l Loop) Rest(in LoopInput) float64 {
	return in.Facility + float64((1/l.Effectiveness-1)*Rise(in.Load, in.Flow))
}

// Rise is by how many kelvins a flow warms that takes up a load.
func Rise(load, flow float64) float64 { return load / float64(flow*waterHeat) }

// Inlets fills dst with the temperature of the air before each node of a row:
// what the air handler supplies and what comes round from the others' exhaust,
// recirculated[i][j] kelvins at i per watt at j.
func Inlets(dst []float64, supply float64, recirculated [][]float64, power []float64) []float64 {
	dst = dst[:0]
	for _, row := range recirculated {
		t := supply
		for j, k := range row {
			t += float64(k * power[j])
		}
		dst = append(dst, t)
	}
	return dst
}
