package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/config"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// A statsReport is the report in all output formats.
type statsReport struct {
	By         []string     `json:"by"`
	Timezone   string       `json:"timezone"`
	PricesDate string       `json:"pricesDate"`
	Rows       []statsRow   `json:"rows"`
	Total      usage.Totals `json:"total"`
	// Blocks are set if answers are grouped by block only.
	Blocks   []usage.FiveHourBlock `json:"blocks,omitempty"`
	Files    int                   `json:"files"`
	Bytes    int64                 `json:"bytes"`
	BadLines int                   `json:"badLines"`
	Unread   int                   `json:"unread"`
	// LeftOut is the number of rows beyond the limit.
	LeftOut int `json:"leftOut,omitempty"`

	by         []usage.Dimension
	zone       *time.Location
	now        time.Time
	limits     []sessions.ReachedLimit // only for blocks
	order      statsOrder
	limit      int                 // of the groups in a table; 0 means all
	members    map[string][]string // the projects of each alias
	namesakes  map[string]bool     // names that several projects share
	lookalikes map[string]bool     // short names that several models share
}

func newStatsReport(used *sessions.UsageScan, opts *usage.ReportOptions, now time.Time) *statsReport {
	calls := used.Tally.Calls()
	report := usage.NewReport(calls, opts)
	r := &statsReport{
		By: make([]string, len(opts.By)), Timezone: opts.Location.String(), PricesDate: opts.Prices.Date,
		Rows: make([]statsRow, len(report.Rows)), Total: report.Total,
		Files: used.Files, Bytes: used.Bytes, BadLines: used.BadLines, Unread: len(used.Unread),
		by: opts.By, zone: opts.Location, now: now,
	}
	for i, d := range opts.By {
		r.By[i] = d.String()
	}
	for i, row := range report.Rows {
		r.Rows[i].Row = row
	}
	if byBlock(opts.By) {
		r.limits = used.Limits
		r.Blocks = usage.FiveHourBlocks(calls, &usage.FiveHourBlockOptions{Prices: opts.Prices, Now: now})
	}
	r.findLookalikes()
	return r
}

// sort sorts the rows. By default, they are in the order of the groups, or if none of these is a
// time, the most expensive come first.
func (r *statsReport) sort(order statsOrder) {
	r.order = order
	if order == "" && slices.ContainsFunc(r.by, isTime) {
		order = "name"
	}
	slices.SortStableFunc(r.Rows, func(a, b statsRow) int {
		return cmp.Or(order.compare(&a.Totals, &b.Totals), slices.Compare(r.names(&a.Key), r.names(&b.Key)))
	})
}

// compare returns less than 0 if a comes first. It returns 0 if the names decide.
func (o statsOrder) compare(a, b *usage.Totals) int {
	switch o {
	case "name":
		return 0
	case "tokens":
		return cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens())
	case "answers":
		return cmp.Compare(b.Calls, a.Calls)
	}
	return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens()))
}

// keepLast keeps the last n groups, and counts nothing else. If groups are not times, it keeps the
// groups with the latest answers. 0 means all.
func (r *statsReport) keepLast(n int) {
	latest := map[string]string{}
	for i := range r.Rows {
		row := &r.Rows[i]
		name := r.name(&row.Key, r.by[0])
		at := name
		if !isTime(r.by[0]) {
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
	r.keep(func(row *statsRow) bool {
		_, ok := latest[r.name(&row.Key, r.by[0])]
		return ok
	})
}

// keep keeps some of the rows, and counts nothing else.
func (r *statsReport) keep(wanted func(*statsRow) bool) {
	r.Rows = slices.DeleteFunc(r.Rows, func(row statsRow) bool { return !wanted(&row) })
	r.Total = usage.Totals{}
	for i := range r.Rows {
		r.Total = r.Total.Plus(r.Rows[i].Totals)
	}
	r.trimBlocks()
}

// cut keeps the first rows; 0 means all.
func (r *statsReport) cut(limit int) {
	if limit > 0 && len(r.Rows) > limit {
		r.LeftOut = len(r.Rows) - limit
		r.Rows = r.Rows[:limit]
	}
}

func isTime(d usage.Dimension) bool {
	switch d {
	case usage.ByMonth, usage.ByWeek, usage.ByDay, usage.ByHour, usage.ByBlock:
		return true
	}
	return false
}

// names returns the parts of a key in the order of the groups. Unknown parts are "".
func (r *statsReport) names(k *usage.Key) []string {
	names := make([]string, len(r.by))
	for i, d := range r.by {
		names[i] = r.name(k, d)
	}
	return names
}

func (r *statsReport) name(k *usage.Key, d usage.Dimension) string {
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

func (r *statsReport) clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(r.zone).Format("2006-01-02 15:04")
}

// labels returns the names for a table. None of them is empty.
func (r *statsReport) labels(row *statsRow) []string {
	labels := r.names(&row.Key)
	for i, label := range labels {
		switch {
		case label == "" && r.by[i] == usage.ByAgent:
			labels[i] = "(main)"
		case label == "":
			labels[i] = "(unknown)"
		case r.by[i] == usage.ByProject:
			labels[i] = clikit.Clip(r.projectLabel(row))
		case r.by[i] == usage.BySession:
			labels[i] = clikit.Clip(shortID(label))
		case r.by[i] == usage.ByModel:
			labels[i] = clikit.Clip(r.modelLabel(label))
		default:
			labels[i] = clikit.Clip(label)
		}
	}
	return labels
}

// unpriced returns the models without a known price.
func (r *statsReport) unpriced() string {
	var names []string
	for _, m := range r.Total.Models {
		if m.UnknownCost {
			names = append(names, clikit.Printable(clikit.Clip(cmp.Or(m.Model, "(no name)"))))
		}
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], "and others")
	}
	return strings.Join(names, ", ")
}

// A statsRow is a group of answers, with the names of its project and its session.
type statsRow struct {
	usage.Row
	CWD   string `json:"cwd,omitempty"`   // the directory of the project
	Title string `json:"title,omitempty"` // of the session
	// Projects are the projects that the name of the project is an alias of.
	Projects []string `json:"projects,omitempty"`
}

// learnNames looks up the names of projects and sessions if the rows need them. Those that are not
// found have no names.
func (r *statsReport) learnNames(ctx context.Context, project string) {
	if !r.isBy(usage.ByProject) && !r.isBy(usage.BySession) {
		return
	}
	infos, _ := sessions.List(ctx, &sessions.ListOptions{Project: project})
	folders, titles := map[string]string{}, map[string]string{}
	for i := range infos {
		folders[infos[i].Project] = cmp.Or(folders[infos[i].Project], infos[i].CWD)
		titles[infos[i].ID] = cmp.Or(titles[infos[i].ID], infos[i].Title())
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		row.CWD = folders[row.Key.Project]
		row.Title = titles[row.Key.Session]
		if row.Projects = r.members[row.Key.Project]; len(row.Projects) > 0 {
			row.CWD = ""
		}
		if len(row.Projects) == 1 {
			row.CWD = folders[row.Projects[0]]
		}
	}
	r.findNamesakes()
}

// projectName is the alias of a project, or its name in lists.
func (row *statsRow) projectName() string {
	if len(row.Projects) > 0 {
		return row.Key.Project
	}
	return render.ProjectName(row.CWD, row.Key.Project)
}

// findNamesakes finds the names that several projects share.
func (r *statsReport) findNamesakes() {
	first := map[string]string{}
	r.namesakes = map[string]bool{}
	for i := range r.Rows {
		name, project := r.Rows[i].projectName(), r.Rows[i].Key.Project
		if other, ok := first[name]; ok && other != project {
			r.namesakes[name] = true
		}
		first[name] = project
	}
}

func (r *statsReport) isBy(d usage.Dimension) bool { return slices.Contains(r.by, d) }

// projectLabel returns a label that no other project has.
func (r *statsReport) projectLabel(row *statsRow) string {
	name := row.projectName()
	if r.namesakes[name] && len(row.Projects) == 0 {
		return cmp.Or(row.CWD, row.Key.Project)
	}
	return name
}

// findLookalikes finds the short names that several models share.
func (r *statsReport) findLookalikes() {
	seen := map[string]bool{}
	r.lookalikes = map[string]bool{}
	for _, m := range r.Total.Models {
		short := render.ShortModel(m.Model)
		r.lookalikes[short] = seen[short]
		seen[short] = true
	}
}

// modelLabel returns the short name of a model, unless another one has the same.
func (r *statsReport) modelLabel(model string) string {
	if short := render.ShortModel(model); !r.lookalikes[short] {
		return short
	}
	return model
}

// A statsGroup is a group of a table, with the groups that it consists of.
type statsGroup struct {
	name, label, title string
	totals             usage.Totals
	gap, active        bool        // of a block
	rate               usage.Money // cost per hour of a block; 0 means that it is not known
	parts              []*statsGroup
	byName             map[string]*statsGroup // the parts
}

// tree returns the groups by the first dimension, each with those by the next one, and their sums.
func (r *statsReport) tree() []*statsGroup {
	top := new(statsGroup)
	for i := range r.Rows {
		row := &r.Rows[i]
		names, labels := r.names(&row.Key), r.labels(row)
		at := top
		for k := range names {
			at = at.part(names[k], labels[k])
			at.totals = at.totals.Plus(row.Totals)
			if r.by[k] == usage.BySession {
				at.title = cmp.Or(shortTitle(row.Title), "-")
			}
		}
	}
	r.sortParts(top, 0)
	return top.parts
}

// part returns the part with that name.
func (g *statsGroup) part(name, label string) *statsGroup {
	if p := g.byName[name]; p != nil {
		return p
	}
	if g.byName == nil {
		g.byName = map[string]*statsGroup{}
	}
	p := &statsGroup{name: name, label: label}
	g.byName[name] = p
	g.parts = append(g.parts, p)
	return p
}

// sortParts sorts the groups of each level: by default times by name and others by cost.
func (r *statsReport) sortParts(g *statsGroup, level int) {
	if len(g.parts) == 0 {
		return
	}
	order := r.order
	if order == "" && isTime(r.by[level]) {
		order = "name"
	}
	slices.SortStableFunc(g.parts, func(a, b *statsGroup) int {
		return cmp.Or(order.compare(&a.totals, &b.totals), cmp.Compare(a.name, b.name))
	})
	for _, p := range g.parts {
		r.sortParts(p, level+1)
	}
}

// dimensions is a flag for comma-separated groups. The first use of the flag replaces the default.
type dimensions struct {
	list  []usage.Dimension
	tools string // "tool" or "mcp": tool calls are counted in place of answers
	given bool
}

// The words for groups: as values of --by, and as arguments. Each of them is valid in both places.
var (
	groupNames = []string{"month", "week", "day", "hour", "block", "model", "project", "session", "agent", "tool", "mcp"}

	groupArguments = []string{
		"daily", "weekly", "monthly", "hourly", "blocks", "models", "projects", "sessions", "agents", "tools", "mcp",
	}
)

// Type names the value in the help.
func (d *dimensions) Type() string { return "groups" }

func (d *dimensions) String() string {
	words := make([]string, len(d.list))
	for i, dim := range d.list {
		words[i] = dim.String()
	}
	return strings.Join(words, ",")
}

// Set reads the words. Repeated words count once.
func (d *dimensions) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		if !d.add(strings.TrimSpace(word)) {
			return errors.New("must be " + oneOf(groupNames))
		}
	}
	return nil
}

// add adds the group that a word stands for, and reports whether there is one.
func (d *dimensions) add(word string) bool {
	name := groupName(word)
	if name == "tool" || name == "mcp" {
		if !d.given {
			d.list = nil
		}
		d.tools, d.given = name, true
		return true
	}
	dim, err := usage.ParseDimension(name)
	if err != nil {
		return false
	}
	if !d.given {
		d.list, d.given = nil, true
	}
	if !slices.Contains(d.list, dim) {
		d.list = append(d.list, dim)
	}
	return true
}

// groupName returns the name of a group for another word that people use.
func groupName(word string) string {
	switch word {
	case "daily":
		return "day"
	case "monthly", "weekly", "hourly":
		return strings.TrimSuffix(word, "ly")
	}
	if name := strings.TrimSuffix(word, "s"); slices.Contains(groupNames, name) {
		return name
	}
	return word
}

// addArguments reads the arguments of the command, which are groups as well.
func (d *dimensions) addArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && d.given {
		return clikit.Misused(cmd, errors.New("groups are given both as arguments and with --by"))
	}
	for _, text := range args {
		for word := range strings.SplitSeq(text, ",") {
			if !d.add(strings.TrimSpace(word)) {
				return clikit.Misused(cmd, unknownGroup(word))
			}
		}
	}
	return nil
}

// oneOf joins words with commas and an "or".
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func unknownGroup(word string) error {
	text := fmt.Sprintf("unknown group %q", clikit.Clip(word))
	if near := config.Nearest(word, slices.Concat(groupArguments, groupNames)); near != "" {
		return fmt.Errorf("%s; did you mean %s?", text, near)
	}
	return fmt.Errorf("%s: must be %s", text, oneOf(groupArguments))
}

// A statsOrder is a flag for the order of groups. "" means the default of the groups.
type statsOrder string

// Type names the value in the help.
func (o *statsOrder) Type() string { return "order" }

func (o *statsOrder) String() string { return string(*o) }

// Set reads the name of an order.
func (o *statsOrder) Set(text string) error {
	if !slices.Contains([]string{"name", "cost", "tokens", "answers"}, text) {
		return errors.New("must be name, cost, tokens or answers")
	}
	*o = statsOrder(text)
	return nil
}

// A projectAlias is another name for the projects that match a text: a directory, or the name of a
// project, in which a * stands for any part.
type projectAlias struct{ project, name string }

// An aliasFlag is a flag for project aliases. The first one that fits counts.
type aliasFlag []projectAlias

// Type names the value in the help.
func (f *aliasFlag) Type() string { return "pair" }

func (f *aliasFlag) String() string {
	texts := make([]string, len(*f))
	for i, a := range *f {
		texts[i] = a.project + "=" + a.name
	}
	return strings.Join(texts, ",")
}

// Set adds an alias.
func (f *aliasFlag) Set(text string) error {
	project, name, ok := config.CutPair(text)
	if !ok {
		return errors.New("must be a project and a name, such as old-shop=shop")
	}
	*f = append(*f, projectAlias{project, name})
	return nil
}

// Replace sets all aliases.
func (f *aliasFlag) Replace(texts []string) error {
	*f = nil
	for _, text := range texts {
		if err := f.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// find returns the alias that the user named, ignoring case.
func (f aliasFlag) find(word string) (string, bool) {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b }, strings.EqualFold,
	} {
		for _, a := range f {
			if same(a.name, word) {
				return a.name, true
			}
		}
	}
	return "", false
}

// of returns the aliases of projects, by the names that the agent uses.
func (f aliasFlag) of(projects []sessions.ProjectInfo) map[string]string {
	aliases := map[string]string{}
	for _, patterns := range []bool{false, true} {
		for _, a := range f {
			if a.isPattern() != patterns {
				continue
			}
			fits := a.matcher()
			for i := range projects {
				if p := &projects[i]; aliases[p.Name] == "" && fits(p) {
					aliases[p.Name] = a.name
				}
			}
		}
	}
	return aliases
}

// members returns the agent's names for the projects with an alias. Directories and names given by
// the user are included, since a project without sessions may still have subagents.
func (f aliasFlag) members(alias string, projects []sessions.ProjectInfo) []string {
	all := slices.Clone(projects)
	for _, a := range f {
		if name := a.agentName(); !a.isPattern() && name != "" {
			all = append(all, sessions.ProjectInfo{Name: name})
		}
	}
	var names []string
	for name, of := range f.of(all) {
		if of == alias {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (a *projectAlias) isPattern() bool { return strings.Contains(a.project, "*") }

// directory returns the directory that the alias is for, or "" if it is for a name.
func (a *projectAlias) directory() string {
	dir := a.project
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if dir != "." && dir != ".." && !strings.ContainsFunc(dir, func(r rune) bool { return r == '/' || r == filepath.Separator }) {
		return ""
	}
	if whole, err := filepath.Abs(dir); err == nil {
		return whole
	}
	return dir
}

// agentName returns the name that the agent uses for the project, or "" if that is not known.
func (a *projectAlias) agentName() string {
	dir := a.directory()
	if dir == "" {
		return a.project
	}
	name, _ := sessions.ProjectName(dir) // "" if it fails
	return name
}

// matcher returns what reports whether the alias is for a project.
func (a *projectAlias) matcher() func(*sessions.ProjectInfo) bool {
	dir := a.directory()
	if !a.isPattern() {
		agents := a.agentName()
		return func(p *sessions.ProjectInfo) bool {
			return p.Name == agents || dir == "" && render.ProjectName(p.Directory, p.Name) == a.project || dir != "" && p.Directory == dir
		}
	}
	pattern := strings.NewReplacer("[", `\[`, "?", `\?`).Replace(strings.ReplaceAll(cmp.Or(dir, a.project), `\`, "/"))
	like := func(text string) bool {
		ok, _ := path.Match(pattern, strings.ReplaceAll(text, `\`, "/")) // the pattern is valid
		return ok
	}
	return func(p *sessions.ProjectInfo) bool {
		return like(p.Directory) || dir == "" && (like(p.Name) || like(render.ProjectName(p.Directory, p.Name)))
	}
}
