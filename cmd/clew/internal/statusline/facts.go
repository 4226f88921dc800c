package statusline

import (
	"path/filepath"
	"time"

	"github.com/clewdev/clew/usage"
)

// Facts holds the costs of the sessions of all projects, at a time.
type Facts struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"` // when they were computed
	// Day is the day of Today and Projects in local time, such as "2026-11-15".
	Day   string `json:"day"`
	Today Amount `json:"today"`
	// Projects are the costs of projects on that day, by name.
	Projects map[string]Amount `json:"projects"`
	// Block is the current five-hour block, or nil.
	Block *Block `json:"block,omitempty"`
}

// An Amount is a sum of money.
type Amount struct {
	Cost usage.Money `json:"cost"`
	// Unknown means that the sum lacks calls to models without a known price.
	Unknown bool `json:"unknownCost,omitempty"`
}

// A Block is a block of five hours.
type Block struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	Amount
}

// today returns the cost of the day, or nil if that is not known. f may be nil.
func (f *Facts) today(now time.Time) *Amount {
	if f == nil || f.Day != now.Format(time.DateOnly) {
		return nil
	}
	return &f.Today
}

// project returns the cost of the day in the project of a transcript, or nil if that is not known.
func (f *Facts) project(now time.Time, transcript string) *Amount {
	if f.today(now) == nil || transcript == "" {
		return nil
	}
	amount := f.Projects[filepath.Base(filepath.Dir(transcript))]
	return &amount
}

// block returns the cost of the current block, or nil if there is none. f may be nil.
func (f *Facts) block(now time.Time) *Amount {
	if f == nil || f.Block == nil || now.Before(f.Block.Start) || !now.Before(f.Block.End) {
		return nil
	}
	return &f.Block.Amount
}

// newFacts adds up the state's calls.
func newFacts(calls []usage.Call, prices usage.Prices, now time.Time) *Facts {
	f := &Facts{Version: version, Time: now, Day: now.Format(time.DateOnly), Projects: map[string]Amount{}}
	var today []usage.Call
	for i := range calls {
		if calls[i].Time.In(now.Location()).Format(time.DateOnly) == f.Day {
			today = append(today, calls[i])
		}
	}
	report := usage.NewReport(today, &usage.ReportOptions{By: []usage.Dimension{usage.ByProject}, Prices: &prices})
	f.Today = amountOf(&report.Total)
	for i := range report.Rows {
		f.Projects[report.Rows[i].Key.Project] = amountOf(&report.Rows[i].Totals)
	}
	blocks := usage.FiveHourBlocks(calls, &usage.FiveHourBlockOptions{Prices: &prices, Now: now})
	for i := range blocks {
		if b := &blocks[i]; b.Active {
			f.Block = &Block{b.Start, b.End, amountOf(&b.Totals)}
		}
	}
	return f
}

func amountOf(t *usage.Totals) Amount { return Amount{t.Cost, t.UnknownCost} }
