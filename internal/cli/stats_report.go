package cli

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// A statsReport is what is printed, in one form or another.
type statsReport struct {
	By         []string `json:"by"`
	Timezone   string   `json:"timezone"`
	PricesDate string   `json:"pricesDate"`
	*transcript.Report
	// Blocks are there where answers are grouped by these alone.
	Blocks   []transcript.Block `json:"blocks,omitempty"`
	Files    int                `json:"files"`
	Bytes    int64              `json:"bytes"`
	BadLines int                `json:"badLines"`
	Unread   int                `json:"unread"`

	by   []transcript.Dimension
	zone *time.Location
}

func newStatsReport(used *sessions.UsageReport, opts *transcript.ReportOptions, now time.Time) *statsReport {
	calls := used.Tally.Calls()
	r := &statsReport{
		By: make([]string, len(opts.By)), Timezone: opts.Location.String(), PricesDate: opts.Prices.Date,
		Report: transcript.NewReport(calls, opts),
		Files:  used.Files, Bytes: used.Bytes, BadLines: used.BadLines, Unread: len(used.Unread),
		by: opts.By, zone: opts.Location,
	}
	for i, d := range opts.By {
		r.By[i] = d.String()
	}
	if slices.Equal(opts.By, []transcript.Dimension{transcript.ByBlock}) {
		r.Blocks = transcript.Blocks(calls, &transcript.BlockOptions{Prices: opts.Prices, Now: now})
	}
	r.sort()
	return r
}

// sort puts the rows in the order of the groups as they were asked for, or, if
// none of these is a time, the most expensive first.
func (r *statsReport) sort() {
	timed := slices.ContainsFunc(r.by, isTime)
	slices.SortStableFunc(r.Rows, func(a, b transcript.Row) int {
		if !timed {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens()))
		}
		return slices.Compare(r.names(&a.Key), r.names(&b.Key))
	})
}

func isTime(d transcript.Dimension) bool {
	switch d {
	case transcript.ByMonth, transcript.ByWeek, transcript.ByDay, transcript.ByHour, transcript.ByBlock:
		return true
	}
	return false
}

// names returns the parts of a key as they are asked for. What is not known is "".
func (r *statsReport) names(k *transcript.Key) []string {
	names := make([]string, len(r.by))
	for i, d := range r.by {
		names[i] = r.name(k, d)
	}
	return names
}

func (r *statsReport) name(k *transcript.Key, d transcript.Dimension) string {
	switch d {
	case transcript.ByMonth:
		return k.Month
	case transcript.ByWeek:
		return k.Week
	case transcript.ByDay:
		return k.Day
	case transcript.ByHour:
		return r.clock(k.Hour)
	case transcript.ByBlock:
		return r.clock(k.Block)
	case transcript.ByProject:
		return k.Project
	case transcript.BySession:
		return k.Session
	case transcript.ByAgent:
		return k.Agent
	}
	return k.Model
}

func (r *statsReport) clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(r.zone).Format("2006-01-02 15:04")
}

// labels are names for people: nothing is left empty.
func (r *statsReport) labels(k *transcript.Key) []string {
	labels := r.names(k)
	for i, label := range labels {
		switch {
		case label != "":
			labels[i] = clip(label)
		case r.by[i] == transcript.ByAgent:
			labels[i] = "(main)"
		default:
			labels[i] = "(unknown)"
		}
	}
	return labels
}

// unpriced returns the models whose price is not known.
func (r *statsReport) unpriced() string {
	var names []string
	for _, m := range r.Total.Models {
		if m.UnknownCost {
			names = append(names, printable(clip(cmp.Or(m.Model, "(no name)"))))
		}
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], "and others")
	}
	return strings.Join(names, ", ")
}
