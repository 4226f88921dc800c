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
	By         []string          `json:"by"`
	Timezone   string            `json:"timezone"`
	PricesDate string            `json:"pricesDate"`
	Rows       []statsRow        `json:"rows"`
	Total      transcript.Totals `json:"total"`
	// Blocks are there where answers are grouped by these alone.
	Blocks   []transcript.Block `json:"blocks,omitempty"`
	Files    int                `json:"files"`
	Bytes    int64              `json:"bytes"`
	BadLines int                `json:"badLines"`
	Unread   int                `json:"unread"`
	// LeftOut counts the rows that a limit has cut off.
	LeftOut int `json:"leftOut,omitempty"`

	by        []transcript.Dimension
	zone      *time.Location
	namesakes map[string]bool // names of folders that several projects have
}

func newStatsReport(used *sessions.UsageReport, opts *transcript.ReportOptions, now time.Time) *statsReport {
	calls := used.Tally.Calls()
	report := transcript.NewReport(calls, opts)
	r := &statsReport{
		By: make([]string, len(opts.By)), Timezone: opts.Location.String(), PricesDate: opts.Prices.Date,
		Rows: make([]statsRow, len(report.Rows)), Total: report.Total,
		Files: used.Files, Bytes: used.Bytes, BadLines: used.BadLines, Unread: len(used.Unread),
		by: opts.By, zone: opts.Location,
	}
	for i, d := range opts.By {
		r.By[i] = d.String()
	}
	for i, row := range report.Rows {
		r.Rows[i].Row = row
	}
	if slices.Equal(opts.By, []transcript.Dimension{transcript.ByBlock}) {
		r.Blocks = transcript.Blocks(calls, &transcript.BlockOptions{Prices: opts.Prices, Now: now})
	}
	return r
}

// sort puts the rows in order. Unless one is asked for, that is the order of the
// groups as they were asked for, or, if none of these is a time, the most expensive
// first.
func (r *statsReport) sort(order statsOrder) {
	if order == "" && slices.ContainsFunc(r.by, isTime) {
		order = "name"
	}
	slices.SortStableFunc(r.Rows, func(a, b statsRow) int {
		most := 0
		switch order {
		case "name":
		case "tokens":
			most = cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens())
		case "answers":
			most = cmp.Compare(b.Calls, a.Calls)
		default:
			most = cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens()))
		}
		return cmp.Or(most, slices.Compare(r.names(&a.Key), r.names(&b.Key)))
	})
}

// cut keeps the first rows; 0 means all.
func (r *statsReport) cut(limit int) {
	if limit > 0 && len(r.Rows) > limit {
		r.LeftOut = len(r.Rows) - limit
		r.Rows = r.Rows[:limit]
	}
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
func (r *statsReport) labels(row *statsRow) []string {
	labels := r.names(&row.Key)
	for i, label := range labels {
		switch {
		case label == "" && r.by[i] == transcript.ByAgent:
			labels[i] = "(main)"
		case label == "":
			labels[i] = "(unknown)"
		case r.by[i] == transcript.ByProject:
			labels[i] = clip(r.projectLabel(row))
		case r.by[i] == transcript.BySession:
			labels[i] = clip(shortID(label))
		default:
			labels[i] = clip(label)
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
