package stats

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// A Report is the usage of answers in groups. [NewReport] returns it.
type Report struct {
	By         []string     `json:"by"`
	Timezone   string       `json:"timezone"`
	PricesDate string       `json:"pricesDate"`
	Rows       []Row        `json:"rows"`
	Total      usage.Totals `json:"total"`
	// Blocks are set if answers are grouped by block only.
	Blocks []usage.FiveHourBlock `json:"blocks,omitempty"`
	Coverage

	Zone *time.Location `json:"-"`
	Now  time.Time      `json:"-"`

	by         []usage.Dimension
	limits     []sessions.ReachedLimit // only for blocks
	order      string
	namesakes  map[string]bool // names that several projects share
	lookalikes map[string]bool // short names that several models share
}

// Coverage counts what a report is about.
type Coverage struct {
	Files    int   `json:"files"`
	Bytes    int64 `json:"bytes"`
	BadLines int   `json:"badLines"`
	Unread   int   `json:"unread"`
	// LeftOut is the number of rows beyond a limit.
	LeftOut int `json:"leftOut,omitempty"`
}

func coverageOf(scan *sessions.UsageScan) Coverage {
	return Coverage{Files: scan.Files, Bytes: scan.Bytes, BadLines: scan.BadLines, Unread: len(scan.Unread)}
}

// A Row is a group of answers, with the names of its project and its session.
type Row struct {
	usage.Row
	CWD   string `json:"cwd,omitempty"`   // the directory of the project
	Title string `json:"title,omitempty"` // of the session
	// Projects are the projects that the name of the project is an alias of.
	Projects []string `json:"projects,omitempty"`
}

// NewReport groups calls, which are all calls of a scan or some of them. opts must have a location and prices.
func NewReport(scan *sessions.UsageScan, calls []usage.Call, opts *usage.ReportOptions, now time.Time) *Report {
	report := usage.NewReport(calls, opts)
	r := &Report{
		By: make([]string, len(opts.By)), Timezone: opts.Location.String(), PricesDate: opts.Prices.Date,
		Rows: make([]Row, len(report.Rows)), Total: report.Total, Coverage: coverageOf(scan),
		Zone: opts.Location, Now: now, by: opts.By,
	}
	for i, d := range opts.By {
		r.By[i] = d.String()
	}
	short := map[string]string{}
	for _, m := range r.Total.Models {
		short[m.Model] = render.ShortModel(m.Model)
	}
	r.lookalikes = shared(short)
	for i, row := range report.Rows {
		r.Rows[i].Row = row
	}
	if IsByBlock(opts.By) {
		r.limits = scan.Limits
		r.Blocks = usage.FiveHourBlocks(calls, &usage.FiveHourBlockOptions{Prices: opts.Prices, Now: now})
	}
	return r
}

// IsByBlock reports whether answers are grouped by block and nothing else.
func IsByBlock(by []usage.Dimension) bool { return slices.Equal(by, []usage.Dimension{usage.ByBlock}) }

// IsByBlock reports whether the answers are grouped by block and nothing else.
func (r *Report) IsByBlock() bool { return IsByBlock(r.by) }

// IsBy reports whether the answers are grouped by a dimension, among others.
func (r *Report) IsBy(d usage.Dimension) bool { return slices.Contains(r.by, d) }

// IsTime reports whether the groups of a dimension are periods.
func IsTime(d usage.Dimension) bool {
	switch d {
	case usage.ByMonth, usage.ByWeek, usage.ByDay, usage.ByHour, usage.ByBlock:
		return true
	}
	return false
}

// Name gives the rows the directories of their projects and the titles of their sessions, which may be
// unknown. aliases has the projects of each alias.
func (r *Report) Name(directories, titles map[string]string, aliases map[string][]string) {
	names := map[string]string{}
	for i := range r.Rows {
		row := &r.Rows[i]
		row.CWD, row.Title, row.Projects = directories[row.Key.Project], titles[row.Key.Session], aliases[row.Key.Project]
		switch len(row.Projects) {
		case 0:
		case 1:
			row.CWD = directories[row.Projects[0]]
		default:
			row.CWD = ""
		}
		names[row.Key.Project] = row.projectName()
	}
	r.namesakes = shared(names)
}

// shared returns the names that several keys share. names maps each key to its name.
func shared(names map[string]string) map[string]bool {
	seen, shared := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		if seen[name] {
			shared[name] = true
		}
		seen[name] = true
	}
	return shared
}

// projectName is the alias of a project, or its name in lists.
func (row *Row) projectName() string {
	if len(row.Projects) > 0 {
		return row.Key.Project
	}
	return render.ProjectName(row.CWD, row.Key.Project)
}

// Names returns the parts of a row's key in the order of the groups. Unknown parts are "".
func (r *Report) Names(row *Row) []string {
	names := make([]string, len(r.by))
	for i, d := range r.by {
		names[i] = r.name(&row.Key, d)
	}
	return names
}

func (r *Report) name(k *usage.Key, d usage.Dimension) string {
	switch d {
	case usage.ByMonth:
		return k.Month
	case usage.ByWeek:
		return k.Week
	case usage.ByDay:
		return k.Day
	case usage.ByHour:
		return r.clock(k.Hour)
	case usage.ByBlock:
		return r.clock(k.Block)
	case usage.ByProject:
		return k.Project
	case usage.BySession:
		return k.Session
	case usage.ByAgent:
		return k.Agent
	}
	return k.Model
}

func (r *Report) clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(r.Zone).Format(wording.DateTime)
}

// maxLabel is the maximum size of a label, in bytes.
const maxLabel = 160

// Labels returns the names of a row for people. None of them is empty, and they are not clean.
func (r *Report) Labels(row *Row) []string {
	labels := r.Names(row)
	for i, label := range labels {
		switch {
		case label == "" && r.by[i] == usage.ByAgent:
			label = "(main)"
		case label == "":
			label = "(unknown)"
		case r.by[i] == usage.ByProject:
			label = r.projectLabel(row)
		case r.by[i] == usage.BySession:
			label = label[:min(8, len(label))]
		case r.by[i] == usage.ByModel:
			if short := render.ShortModel(label); !r.lookalikes[short] {
				label = short
			}
		}
		labels[i] = clip.Marked(label, maxLabel)
	}
	return labels
}

// projectLabel returns a label that no other project has.
func (r *Report) projectLabel(row *Row) string {
	name := row.projectName()
	if r.namesakes[name] && len(row.Projects) == 0 {
		return cmp.Or(row.CWD, row.Key.Project)
	}
	return name
}

// PriceRemark names the models without a known price, or returns "" if there are none. It is not clean.
func (r *Report) PriceRemark() string {
	var names []string
	for _, m := range r.Total.Models {
		if m.UnknownCost {
			names = append(names, clip.Marked(cmp.Or(m.Model, "(no name)"), maxLabel))
		}
	}
	if len(names) == 0 {
		return ""
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], "and others")
	}
	return "≥ and ?: no price is known for " + strings.Join(names, ", ")
}

// Sort sorts the rows by name, cost, tokens or answers. If order is "", they are in the order of the
// groups, or if none of these is a period, the most expensive come first.
func (r *Report) Sort(order string) {
	r.order = order
	if order == "" && slices.ContainsFunc(r.by, IsTime) {
		order = "name"
	}
	slices.SortStableFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(compare(&a.Totals, &b.Totals, order), slices.Compare(r.Names(&a), r.Names(&b)))
	})
}

// compare returns less than 0 if a comes first. It returns 0 if the names decide.
func compare(a, b *usage.Totals, order string) int {
	switch order {
	case "name":
		return 0
	case "tokens":
		return cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens())
	case "answers":
		return cmp.Compare(b.Calls, a.Calls)
	}
	return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens()))
}

// Keep keeps some of the rows, and counts nothing else.
func (r *Report) Keep(wanted func(*Row) bool) {
	r.Rows = slices.DeleteFunc(r.Rows, func(row Row) bool { return !wanted(&row) })
	r.Total = usage.Totals{}
	for i := range r.Rows {
		r.Total = r.Total.Plus(r.Rows[i].Totals)
	}
	r.trimBlocks()
}

// KeepLast keeps the last n groups, and counts nothing else. If groups are not periods, it keeps the
// groups with the latest answers. 0 means all.
func (r *Report) KeepLast(n int) {
	latest := map[string]string{}
	for i := range r.Rows {
		row := &r.Rows[i]
		name := r.name(&row.Key, r.by[0])
		at := name
		if !IsTime(r.by[0]) {
			at = row.Last.UTC().Format("2006-01-02T15:04:05.000000000")
		}
		latest[name] = max(latest[name], at)
	}
	if n == 0 || len(latest) <= n {
		return
	}
	names := slices.SortedFunc(maps.Keys(latest), func(a, b string) int {
		return cmp.Or(cmp.Compare(latest[a], latest[b]), cmp.Compare(a, b))
	})
	for _, name := range names[:len(names)-n] {
		delete(latest, name)
	}
	r.Keep(func(row *Row) bool {
		_, ok := latest[r.name(&row.Key, r.by[0])]
		return ok
	})
}

// KeepBlocks keeps the active block or, if since is set, the blocks that end after it, and counts
// nothing else.
func (r *Report) KeepBlocks(since time.Time) {
	wanted := map[time.Time]bool{}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		wanted[b.Start] = !b.Gap && (b.Active || !since.IsZero() && b.End.After(since))
	}
	r.Keep(func(row *Row) bool { return wanted[row.Key.Block] })
}

// trimBlocks removes the blocks whose rows were removed, and the gaps beside them.
func (r *Report) trimBlocks() {
	rows := map[time.Time]bool{}
	for i := range r.Rows {
		rows[r.Rows[i].Key.Block] = true
	}
	starts, ends := map[time.Time]bool{}, map[time.Time]bool{}
	for i := range r.Blocks {
		if b := &r.Blocks[i]; !b.Gap && rows[b.Start] {
			starts[b.Start], ends[b.End] = true, true
		}
	}
	r.Blocks = slices.DeleteFunc(r.Blocks, func(b usage.FiveHourBlock) bool {
		if b.Gap {
			return !ends[b.Start] || !starts[b.End]
		}
		return !starts[b.Start]
	})
}

// Cut keeps the first rows, and still counts all; 0 means all.
func (r *Report) Cut(limit int) { r.Rows = cut(r.Rows, limit, &r.LeftOut) }

func cut[T any](list []T, limit int, left *int) []T {
	if limit > 0 && len(list) > limit {
		*left = len(list) - limit
		list = list[:limit]
	}
	return list
}

// A Group is a line of a table, with the groups that it consists of.
type Group struct {
	Label  string // not clean
	Title  string // of a session, or "-" if it has none; clean
	Totals usage.Totals
	Gap    bool // it is the time between two blocks
	Active bool // it is the current block
	// Rate is the cost per hour of a block; 0 means that it is not known.
	Rate  usage.Money
	Parts []*Group

	name   string
	byName map[string]*Group // the parts
}

// Groups returns the groups by the first dimension, each with those by the next one, and their sums. Of
// the first groups there are at most limit; 0 means all. By default, periods are sorted by time and others
// by cost. Blocks in the order of time have the gaps between them.
func (r *Report) Groups(limit int) []*Group {
	top := new(Group)
	for i := range r.Rows {
		row := &r.Rows[i]
		names, labels := r.Names(row), r.Labels(row)
		at := top
		for k := range names {
			at = at.part(names[k], labels[k])
			at.Totals = at.Totals.Plus(row.Totals)
			if r.by[k] == usage.BySession {
				at.Title = cmp.Or(tty.Line(row.Title), "-")
			}
		}
	}
	r.sortParts(top, 0)
	groups := cut(top.Parts, limit, &r.LeftOut)
	if r.IsByBlock() {
		groups = r.describeBlocks(groups)
	}
	return groups
}

// part returns the part with that name.
func (g *Group) part(name, label string) *Group {
	if p := g.byName[name]; p != nil {
		return p
	}
	if g.byName == nil {
		g.byName = map[string]*Group{}
	}
	p := &Group{name: name, Label: label}
	g.byName[name] = p
	g.Parts = append(g.Parts, p)
	return p
}

// sortParts sorts the groups of each level.
func (r *Report) sortParts(g *Group, level int) {
	if len(g.Parts) == 0 {
		return
	}
	order := r.order
	if order == "" && IsTime(r.by[level]) {
		order = "name"
	}
	slices.SortStableFunc(g.Parts, func(a, b *Group) int {
		return cmp.Or(compare(&a.Totals, &b.Totals, order), cmp.Compare(a.name, b.name))
	})
	for _, p := range g.Parts {
		r.sortParts(p, level+1)
	}
}

// describeBlocks adds the facts about blocks to groups by block, and the gaps between them if the
// groups are in the order of time.
func (r *Report) describeBlocks(groups []*Group) []*Group {
	byName := map[string]*Group{}
	for _, g := range groups {
		byName[g.name] = g
	}
	var all []*Group
	var end time.Time // of the last block in all
	for i := range r.Blocks {
		b := &r.Blocks[i]
		g := byName[r.clock(b.Start)]
		if b.Gap || g == nil {
			continue
		}
		g.Label = r.clock(b.Start) + b.End.In(r.Zone).Format("-15:04")
		if g.Active = b.Active; b.Active {
			g.Label = r.clock(b.Start) + "-now"
		}
		if HasRate(b) {
			g.Rate = b.Burn.CostPerHour
		}
		if i > 0 && r.Blocks[i-1].Gap && r.Blocks[i-1].Start.Equal(end) {
			all = append(all, &Group{Gap: true, Label: "  nothing for " + wording.Duration(b.Start.Sub(end))})
		}
		all, end = append(all, g), b.End
		delete(byName, g.name)
	}
	if r.order != "" && r.order != "name" {
		return groups
	}
	for _, g := range groups { // answers without a time are in no block
		if byName[g.name] != nil {
			all = append([]*Group{g}, all...)
		}
	}
	return all
}

// A Figure is a number of a group of answers or tool calls: a column in tables.
type Figure[Sums any] struct {
	Name string
	CSV  string // the heading in CSV
	Of   func(*Sums) int

	exact bool
}

// Text returns the figure of a group. A short one is rounded if it counts tokens.
func (f *Figure[Sums]) Text(of *Sums, short bool) string {
	if short && !f.exact {
		return wording.Rounded(f.Of(of))
	}
	return wording.Number(f.Of(of))
}

// Figures are the columns of tables, BriefFigures of narrow tables, and MinFigures of the narrowest
// ones. They come before the cost.
var (
	Figures = []Figure[usage.Totals]{
		{"Answers", "answers", func(t *usage.Totals) int { return t.Calls }, true},
		{"Input", "input_tokens", func(t *usage.Totals) int { return t.Usage.InputTokens }, false},
		{"Output", "output_tokens", func(t *usage.Totals) int { return t.Usage.OutputTokens }, false},
		{"Cache write", "cache_write_tokens", func(t *usage.Totals) int { return t.Usage.CacheCreationTokens }, false},
		{"Cache read", "cache_read_tokens", func(t *usage.Totals) int { return t.Usage.CacheReadTokens }, false},
	}
	BriefFigures = append(Figures[:3:3],
		Figure[usage.Totals]{"Cache", "", func(t *usage.Totals) int { return t.Usage.CacheCreationTokens + t.Usage.CacheReadTokens }, false})
	MinFigures = []Figure[usage.Totals]{{"Tokens", "total_tokens", func(t *usage.Totals) int { return t.Usage.TotalTokens() }, false}}
)
