package api

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// What the server takes for a window.
const (
	minWindow = time.Minute
	maxWindow = 30 * 24 * time.Hour
)

// windowed is the parameters of a question about the time up to now.
func windowed(window time.Duration, job string) url.Values {
	window = min(max(window, minWindow), maxWindow)
	// Seconds, rounded up: the window must not begin after the requested time.
	q := url.Values{"window": {strconv.FormatInt(int64((window+time.Second-1)/time.Second), 10) + "s"}}
	if job != "" {
		q.Set("job", job)
	}
	return q
}

// Cause is what one root took.
type Cause struct {
	Root           string   `json:"root"`
	Signature      string   `json:"signature"`
	Domain         *string  `json:"domain"`
	GPUSecondsLost float64  `json:"gpu_seconds_lost"`
	MFULost        *float64 `json:"mfu_lost"`
	Jobs           []string `json:"jobs"`
	Share          *float64 `json:"share"`
}

// JobLoss is what one job lost.
type JobLoss struct {
	Job                 string   `json:"job"`
	AvailableGPUSeconds *float64 `json:"available_gpu_seconds"`
	GPUSecondsLost      float64  `json:"gpu_seconds_lost"`
	MFULost             *float64 `json:"mfu_lost"`
	Causes              []Cause  `json:"causes"`
}

// DomainLoss is the loss by roots in one domain.
type DomainLoss struct {
	Domain         string   `json:"domain"`
	GPUSecondsLost float64  `json:"gpu_seconds_lost"`
	MFULost        *float64 `json:"mfu_lost"`
}

// DayLoss is the loss of one day (UTC).
type DayLoss struct {
	Day                   string       `json:"day"`
	GPUSecondsLost        float64      `json:"gpu_seconds_lost"`
	Domains               []DomainLoss `json:"domains"`
	UnknownGPUSecondsLost float64      `json:"unknown_gpu_seconds_lost"`
}

// Losses is the loss of a window.
type Losses struct {
	From                time.Time    `json:"from"`
	To                  time.Time    `json:"to"`
	AvailableGPUSeconds *float64     `json:"available_gpu_seconds"`
	GPUSecondsLost      float64      `json:"gpu_seconds_lost"`
	Jobs                []JobLoss    `json:"jobs"`
	Causes              []Cause      `json:"causes"`
	Domains             []DomainLoss `json:"domains"`
	Unknown             struct {
		GPUSecondsLost float64  `json:"gpu_seconds_lost"`
		MFULost        *float64 `json:"mfu_lost"`
	} `json:"unknown"`
	Days []DayLoss `json:"days"`
}

// Losses queries the loss of the window up to now, of all jobs or one.
func (c *Client) Losses(ctx context.Context, window time.Duration, job string) (*Losses, error) {
	var out Losses
	return &out, c.get(ctx, []string{"losses"}, windowed(window, job), &out)
}

// Coupling is through which domains losses passed.
type Coupling struct {
	From       time.Time    `json:"from"`
	To         time.Time    `json:"to"`
	Domains    []string     `json:"domains"`
	Coupling   [][]float64  `json:"coupling"`    // from, to: GPU-seconds
	LagSeconds [][]*float64 `json:"lag_seconds"` // from, to: median
}

// Coupling asks for the matrix of the window up to now.
func (c *Client) Coupling(ctx context.Context, window time.Duration) (*Coupling, error) {
	var out Coupling
	if err := c.get(ctx, []string{"coupling"}, windowed(window, ""), &out); err != nil {
		return nil, err
	}
	n := len(out.Domains)
	square := len(out.Coupling) == n && len(out.LagSeconds) == n
	for i := 0; square && i < n; i++ {
		square = len(out.Coupling[i]) == n && len(out.LagSeconds[i]) == n
	}
	if !square {
		return nil, &Garbage{Path: "/api/v1/coupling", Why: "the matrix has not a row and a column for each domain"}
	}
	return &out, nil
}

// Part is a share of the GPU-seconds. Null: it cannot be observed.
type Part struct {
	Part       string   `json:"part"`
	Domain     *string  `json:"domain"`
	GPUSeconds *float64 `json:"gpu_seconds"`
	Share      *float64 `json:"share"`
	Observed   float64  `json:"observed"`
}

// Budget is where the GPU-seconds of a job, or of the fleet, went.
type Budget struct {
	Job         *string   `json:"job"`
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	GPUSeconds  float64   `json:"gpu_seconds"`
	Parts       []Part    `json:"parts"`
	Unexplained Part      `json:"unexplained"`
	Achieved    *Part     `json:"achieved"`
	MFU         struct {
		PaLM  *float64 `json:"palm"`
		Basis string   `json:"basis"`
	} `json:"mfu"`
}

// Budgets is that of the fleet and those of the jobs.
type Budgets struct {
	Fleet Budget   `json:"fleet"`
	Jobs  []Budget `json:"jobs"`
}

// Budgets asks where the GPU-seconds of the window up to now went.
func (c *Client) Budgets(ctx context.Context, window time.Duration, job string) (*Budgets, error) {
	var out Budgets
	return &out, c.get(ctx, []string{"budget"}, windowed(window, job), &out)
}

// Scores are what holds work back, 0 to 100; null: not to be observed.
type Scores struct {
	Job                   string   `json:"job"`
	RedundantComputation  *float64 `json:"redundant_computation"`
	LowMFU                *float64 `json:"low_mfu"`
	MemoryWall            *float64 `json:"memory_wall"`
	CommunicationOverhead *float64 `json:"communication_overhead"`
	DensityCap            *float64 `json:"density_cap"`
	ThermalLimit          *float64 `json:"thermal_limit"`
}

// Bottlenecks are the scores of the fleet and of the jobs.
type Bottlenecks struct {
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	Bottlenecks Scores    `json:"bottlenecks"`
	Jobs        []Scores  `json:"jobs"`
}

// Bottlenecks asks for the scores of the window up to now.
func (c *Client) Bottlenecks(ctx context.Context, window time.Duration) (*Bottlenecks, error) {
	var out Bottlenecks
	return &out, c.get(ctx, []string{"bottlenecks"}, windowed(window, ""), &out)
}
