package score

// Metrics are the figures of one group of cases, with the names of docs/scoring.md.
// A figure that is not defined is null: precision where nothing was reported,
// recall where there was no fault.
type Metrics struct {
	Cases                 int      `json:"cases"`
	Precision             *float64 `json:"precision"`
	Recall                *float64 `json:"recall"`
	F1                    *float64 `json:"f1"`
	AC1                   *float64 `json:"ac1"`
	AC3                   *float64 `json:"ac3"`
	MRR                   *float64 `json:"mrr"`
	SignatureAccuracy     *float64 `json:"signature_accuracy"`
	DomainAccuracy        *float64 `json:"domain_accuracy"`
	VictimAsRoot          *float64 `json:"victim_as_root"` // of all faults
	LossError             *float64 `json:"loss_error"`     // median over the found faults
	TimeToDetectP50       *float64 `json:"time_to_detect_p50_s"`
	TimeToDetectP95       *float64 `json:"time_to_detect_p95_s"`
	FalseIncidentsPerHour *float64 `json:"false_incidents_per_hour"`
	Brier                 *float64 `json:"brier"`
}

// Detail holds what underlies the Metrics of a group, and the figures that
// are not part of the score.
type Detail struct {
	Cases            int      `json:"cases"`
	Faults           int      `json:"faults"`
	Found            int      `json:"found"`
	FalseIncidents   int      `json:"false_incidents"`
	RightFirst       int      `json:"right_first"`    // AC@1
	RightInThree     int      `json:"right_in_three"` // AC@3
	SignatureRight   int      `json:"signature_right"`
	DomainFaults     int      `json:"domain_faults"` // faults whose truth states a domain
	DomainRight      int      `json:"domain_right"`
	VictimsAsRoot    int      `json:"victims_as_root"`
	LossErrors       int      `json:"loss_errors"`      // faults with a loss error
	LossErrorsLong   int      `json:"loss_errors_long"` // of these, faults of longSteps steps or more
	StepsCounted     int      `json:"steps_counted"`    // faults with a time to detect in steps
	HealthyHours     float64  `json:"healthy_hours"`
	LossErrorP90     *float64 `json:"loss_error_p90"`
	LossErrorLong    *float64 `json:"loss_error_long"`
	LossErrorLongP90 *float64 `json:"loss_error_long_p90"`
	StepsToDetectP50 *float64 `json:"steps_to_detect_p50"`
	StepsToDetectP95 *float64 `json:"steps_to_detect_p95"`
	UsualStepsP50    *float64 `json:"usual_steps_to_detect_p50"`
	UsualStepsP95    *float64 `json:"usual_steps_to_detect_p95"`
	// FalsePerHourUpper95 is the exact Poisson bound on the rate.
	FalsePerHourUpper95 *float64 `json:"false_incidents_per_hour_upper95"`
	// BrierConstant is the Brier score of always predicting the base rate.
	BrierConstant *float64 `json:"brier_constant"`
}

// Group is a group of cases with both.
type Group struct {
	Metrics Metrics `json:"metrics"`
	Detail  Detail  `json:"detail"`
}

// longSteps is how many steps a fault must overlap for its loss to be a fair
// question (the bound on the loss error is over those).
const longSteps = 8

// add pools another case's share.
func (s *sheet) add(o *sheet) {
	s.cases += o.cases
	s.healthy += o.healthy
	s.verdicts = append(s.verdicts, o.verdicts...)
	s.falses = append(s.falses, o.falses...)
	s.forecasts = append(s.forecasts, o.forecasts...)
}

// measure turns a sheet into figures. Groups are pooled: every fault and every
// hour weighs alike, whichever case it is in.
func (s *sheet) measure() Group {
	d := s.count()
	s.losses(&d)
	s.delays(&d)
	b, constant := brier(s.forecasts)
	d.BrierConstant = constant
	if d.HealthyHours > 0 {
		d.FalsePerHourUpper95 = pointer(poissonUpper(d.FalseIncidents, 0.95) / d.HealthyHours)
	}
	m := Metrics{
		Cases:             d.Cases,
		Precision:         ratio(d.Found, d.Found+d.FalseIncidents),
		Recall:            ratio(d.Found, d.Faults),
		F1:                ratio(2*d.Found, d.Faults+d.Found+d.FalseIncidents),
		AC1:               ratio(d.RightFirst, d.Faults),
		AC3:               ratio(d.RightInThree, d.Faults),
		MRR:               s.mrr(),
		SignatureAccuracy: ratio(d.SignatureRight, d.Faults),
		DomainAccuracy:    ratio(d.DomainRight, d.DomainFaults),
		VictimAsRoot:      ratio(d.VictimsAsRoot, d.Faults),
		LossError:         quantile(s.figures(lossError), 0.5),
		TimeToDetectP50:   quantile(s.figures(timeToDetect), 0.5),
		TimeToDetectP95:   quantile(s.figures(timeToDetect), 0.95),
		Brier:             b,
	}
	if d.HealthyHours > 0 {
		m.FalseIncidentsPerHour = pointer(float64(d.FalseIncidents) / d.HealthyHours)
	}
	return Group{m, d}
}

func (s *sheet) count() Detail {
	d := Detail{Cases: s.cases, Faults: len(s.verdicts), FalseIncidents: len(s.falses), HealthyHours: s.healthy / 3600}
	for i := range s.verdicts {
		v := &s.verdicts[i]
		d.Found += one(v.Found)
		d.RightFirst += one(v.Rank == 1)
		d.RightInThree += one(v.Rank >= 1 && v.Rank <= 3)
		d.SignatureRight += one(v.SignatureRight)
		d.DomainFaults += one(v.domainJudged)
		d.DomainRight += one(v.DomainRight)
		d.VictimsAsRoot += one(v.VictimAsRoot)
	}
	return d
}

func (s *sheet) losses(d *Detail) {
	all := s.figures(lossError)
	long := s.figures(func(v *Verdict) *float64 {
		if v.StepsInFault < longSteps {
			return nil
		}
		return v.LossError
	})
	d.LossErrors, d.LossErrorsLong = len(all), len(long)
	d.LossErrorP90 = quantile(all, 0.9)
	d.LossErrorLong, d.LossErrorLongP90 = quantile(long, 0.5), quantile(long, 0.9)
}

func (s *sheet) delays(d *Detail) {
	own := s.figures(func(v *Verdict) *float64 { return v.StepsToDetect })
	usual := s.figures(func(v *Verdict) *float64 { return v.UsualStepsToDetect })
	d.StepsCounted = len(own)
	d.StepsToDetectP50, d.StepsToDetectP95 = quantile(own, 0.5), quantile(own, 0.95)
	d.UsualStepsP50, d.UsualStepsP95 = quantile(usual, 0.5), quantile(usual, 0.95)
}

// mrr is the mean of one over the rank of the right entity, a miss counting 0.
func (s *sheet) mrr() *float64 {
	if len(s.verdicts) == 0 {
		return nil
	}
	var sum float64
	for i := range s.verdicts {
		if r := s.verdicts[i].Rank; r > 0 {
			sum += 1 / float64(r)
		}
	}
	return pointer(sum / float64(len(s.verdicts)))
}

// figures gathers one figure of the verdicts that have it.
func (s *sheet) figures(of func(*Verdict) *float64) []float64 {
	var out []float64
	for i := range s.verdicts {
		if x := of(&s.verdicts[i]); x != nil {
			out = append(out, *x)
		}
	}
	return out
}

func lossError(v *Verdict) *float64    { return v.LossError }
func timeToDetect(v *Verdict) *float64 { return v.TimeToDetect }

func ratio(a, b int) *float64 {
	if b == 0 {
		return nil
	}
	return pointer(float64(a) / float64(b))
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
