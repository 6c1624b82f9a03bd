package evaluation

import (
	"math"

	"github.com/quintet-dc/quintet/replay/score"
)

// Figures are the columns of the table. A figure that is not defined is null: it
// has nothing to be counted over.
type Figures struct {
	Cases          int      `json:"cases"`
	Faults         int      `json:"faults"`
	Answers        int      `json:"answers"` // incidents with a named root, which calibration is over
	SureAnswers    int      `json:"sure_answers"`
	FalseIncidents int      `json:"false_incidents"`
	HealthyHours   float64  `json:"healthy_hours"`
	F1             *float64 `json:"f1"`
	Precision      *float64 `json:"precision"`
	Recall         *float64 `json:"recall"`
	AC1            *float64 `json:"ac1"`
	AC3            *float64 `json:"ac3"`
	Domain         *float64 `json:"domain"`
	Victim         *float64 `json:"victim"`
	FalsePerHour   *float64 `json:"false_per_hour"`
	Brier          *float64 `json:"brier"`
	ECE            *float64 `json:"ece"`
	// ECECalibrated is the expected calibration error that a calibrated engine with
	// as many answers in each bin would have in the mean, by chance alone.
	ECECalibrated *float64 `json:"ece_calibrated"`
	SureRight     *float64 `json:"sure_right"`
	DelayP50      *float64 `json:"delay_p50_s"`
	DelayP95      *float64 `json:"delay_p95_s"`
	LossError     *float64 `json:"loss_error"`
	CPU           *float64 `json:"cpu_s"`
}

// sureFrom is the confidence from which on an answer counts as sure. It is the
// lower bound of the last bin.
const sureFrom = 0.9

func figuresOf(r *score.Report) Figures {
	m, d := &r.Total, &r.Detail.Total.Detail
	f := Figures{Cases: m.Cases, Faults: d.Faults, FalseIncidents: d.FalseIncidents, HealthyHours: d.HealthyHours,
		F1: m.F1, Precision: m.Precision, Recall: m.Recall, AC1: m.AC1, AC3: m.AC3, Domain: m.DomainAccuracy, Victim: m.VictimAsRoot,
		FalsePerHour: m.FalseIncidentsPerHour, Brier: m.Brier, DelayP50: m.TimeToDetectP50, DelayP95: m.TimeToDetectP95, LossError: m.LossError}
	f.ECE, f.ECECalibrated = calibrationError(r.Detail.Reliability), chanceError(r.Detail.Reliability)
	right := 0
	for _, b := range r.Detail.Reliability {
		f.Answers += b.Answers
		if b.From >= sureFrom {
			f.SureAnswers += b.Answers
			right += b.Right
		}
	}
	if f.SureAnswers > 0 {
		share := float64(right) / float64(f.SureAnswers)
		f.SureRight = &share
	}
	return f
}

// calibrationError is the expected calibration error: the mean over all answers
// of the distance between the mean confidence of an answer's bin and the share of
// that bin that is right. Nil for no answers.
func calibrationError(bins []score.Bin) *float64 {
	n, sum := 0, 0.0
	for _, b := range bins {
		n += b.Answers
		sum += math.Abs(float64(b.Answers)*b.Confidence - float64(b.Right))
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}

// chanceError is the mean of the calibration error where every answer of a bin is
// right with the bin's mean confidence. Nil for no answers.
func chanceError(bins []score.Bin) *float64 {
	n, sum := 0, 0.0
	for _, b := range bins {
		n += b.Answers
		sum += binomialDeviation(b.Answers, b.Confidence)
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}

// binomialDeviation is the mean absolute deviation of a binomial variable from
// its mean.
func binomialDeviation(n int, p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	sum := 0.0
	for k := range n + 1 {
		chance := math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
		sum += chance * math.Abs(float64(k)-float64(n)*p)
	}
	return sum
}

// Column is a figure as the table and the floors name it.
type Column struct {
	Key    string // in JSON and in floors
	Title  string
	Digits int
	of     func(*Figures) *float64
}

// Columns lists the columns in the order of the table.
func Columns() []Column {
	return []Column{
		{"cases", "cases", 0, func(f *Figures) *float64 { n := float64(f.Cases); return &n }},
		{"f1", "F1", 3, func(f *Figures) *float64 { return f.F1 }},
		{"precision", "precision", 3, func(f *Figures) *float64 { return f.Precision }},
		{"recall", "recall", 3, func(f *Figures) *float64 { return f.Recall }},
		{"ac1", "AC@1", 3, func(f *Figures) *float64 { return f.AC1 }},
		{"ac3", "AC@3", 3, func(f *Figures) *float64 { return f.AC3 }},
		{"domain", "domain", 3, func(f *Figures) *float64 { return f.Domain }},
		{"victim", "victim", 3, func(f *Figures) *float64 { return f.Victim }},
		{"false_per_hour", "false/h", 2, func(f *Figures) *float64 { return f.FalsePerHour }},
		{"brier", "Brier", 3, func(f *Figures) *float64 { return f.Brier }},
		{"ece", "ECE", 3, func(f *Figures) *float64 { return f.ECE }},
		{"sure_right", "right≥.9", 3, func(f *Figures) *float64 { return f.SureRight }},
		{"delay_p50_s", "delay p50", 1, func(f *Figures) *float64 { return f.DelayP50 }},
		{"delay_p95_s", "p95", 1, func(f *Figures) *float64 { return f.DelayP95 }},
		{"loss_error", "loss error", 3, func(f *Figures) *float64 { return f.LossError }},
		{"cpu_s", "CPU s", 1, func(f *Figures) *float64 { return f.CPU }},
	}
}

// column finds a column by its key.
func column(key string) (Column, bool) {
	for _, c := range Columns() {
		if c.Key == key {
			return c, true
		}
	}
	return Column{}, false
}
