package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/search"
	"github.com/clewdev/clew/sessions"
)

type searchOptions struct {
	streams Streams
	now     func() time.Time

	project string
	since   timeFlag
	until   timeFlag
	role    searchRole
	tool    string
	limit   int
	regex   bool
	noIndex bool
	json    bool

	repeated map[string]bool // IDs of sessions that several projects have
}

// repeatedIDs returns the IDs of sessions that are in several projects.
func repeatedIDs(files []sessions.File) map[string]bool {
	paths, repeated := map[string]string{}, map[string]bool{}
	for i := range files {
		f := &files[i]
		if f.SessionID == "" || f.AgentID != "" || f.Spill {
			continue
		}
		if paths[f.SessionID] != "" {
			repeated[f.SessionID] = true
		}
		paths[f.SessionID] = f.Path
	}
	return repeated
}

const searchHelp = `Search the sessions of all projects: prompts, answers, thinking, inputs and results
of tools, subagents, and long results that the agent has saved in separate files.
The newest results come first. On a terminal, they are grouped by session, with the
title and the age of each.

A text matches if it contains all words; case is ignored. An argument with
spaces is a phrase, and so is a name such as main.go or parse_line: its words must
follow each other. A * at the end also matches longer words. An argument may
contain several words and "phrases" in double quotes. To find parts of words, use
--regex. In languages without spaces between words, parts are found as well.

Each result shows the session, the time, the project, the turn or the subagent,
and the kind of text. To read more:
  clew show ID --turn 3
  clew show ID --agent AGENT
If several projects have a session with the same ID, the path of the transcript
is shown as well; "clew show" accepts it instead of the ID.

With --json, print one object per result, with session, project, path, line, time,
role, and an excerpt with the start and end of each match in bytes. It also has
turn, agent, tool and spill if they apply.

The first search builds an index in your cache directory, and later searches
update it. The index contains words and positions, but no texts. --regex and
--no-index read the transcripts instead.

The exit code is 0 even if nothing was found.`

func newSearch(s Streams) *cobra.Command {
	o := &searchOptions{streams: s, now: time.Now}
	cmd := &cobra.Command{
		Use:   "search WORDS",
		Short: "Search sessions for words",
		Long:  searchHelp,
		Example: `  clew search login page
  clew search "login page" 'valid*' --role prompt --since 30d
  clew search panic --tool Bash --project .
  clew search --regex 'panic: .*nil'
  clew search deadlock --json | jq -r .session`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misused(cmd, errors.New("missing argument: the words to search for"))
			}
			return nil
		},
		RunE: runE(o.run),
	}
	f := cmd.Flags()
	f.StringVar(&o.project, "project", "", "search the project with this `name` or directory")
	f.Var(&o.since, "since", "search texts since this time")
	o.until.end = true
	f.Var(&o.until, "until", "search texts until this time")
	f.Var(&o.role, "role", "search texts with this role: prompt, answer, tool or thinking")
	f.StringVar(&o.tool, "tool", "", "search inputs and results of the tool with this `name`")
	f.IntVar(&o.limit, "limit", 20, "maximum `number` of results to show; 0 means all")
	addOnOff(cmd, &o.regex, "regex", "treat the argument as a regular expression (RE2)")
	addOnOff(cmd, &o.noIndex, "no-index", "read the transcripts instead of building an index")
	addOnOff(cmd, &o.json, "json", "print one JSON object per result")
	return cmd
}

// A searchRole is a flag for the role of a text.
type searchRole search.Role

// Type names the value in the help.
func (r *searchRole) Type() string { return "role" }

func (r *searchRole) String() string { return search.Role(*r).String() }

// Set reads the name of a role.
func (r *searchRole) Set(text string) error {
	role, err := search.ParseRole(text)
	if err != nil {
		return errors.New("must be prompt, answer, tool or thinking")
	}
	*r = searchRole(role)
	return nil
}

func (o *searchOptions) run(ctx context.Context, args []string) error {
	query, err := o.query(args)
	if err != nil {
		return err
	}
	where, err := findProject(ctx, o.project)
	if err != nil {
		return err
	}
	files, unlisted := listFiles(ctx, nil)
	if o.project != "" && unlisted == nil {
		query.Projects = map[string]bool{}
		var wanted []sessions.File
		wanted, unlisted = listFiles(ctx, where)
		for _, f := range wanted {
			query.Projects[f.Project] = true
		}
	}
	if unlisted != nil && len(files) == 0 {
		return findError(ctx, unlisted)
	}
	result, err := o.search(ctx, files, query)
	if result == nil {
		return err
	}
	o.repeated = repeatedIDs(files)
	if writeErr := o.print(ctx, result); writeErr != nil {
		return outputError(writeErr)
	}
	if err != nil {
		return err
	}
	return o.reportGaps(result, unlisted)
}

// query returns the query for the arguments and flags.
func (o *searchOptions) query(args []string) (*search.Query, error) {
	if !o.regex {
		q, err := search.Words(args...)
		if err != nil {
			return nil, usageError(queryError(err), "To find punctuation, use --regex: clew search --regex '\\+\\+'")
		}
		return o.filtered(q)
	}
	if len(args) > 1 {
		return nil, usageError("--regex takes one argument", "Put the expression in quotes.")
	}
	q, err := search.Pattern(args[0])
	if err != nil {
		return nil, usageError(queryError(err), "")
	}
	return o.filtered(q)
}

// queryError returns what is wrong with a query. The name of the command is printed before it.
func queryError(err error) string { return escaped(strings.TrimPrefix(err.Error(), "search: ")) }

func (o *searchOptions) filtered(q *search.Query) (*search.Query, error) {
	if o.limit < 0 {
		return nil, usageError("--limit must not be negative", "")
	}
	q.Since, q.Until = o.since.Time, o.until.Time
	if !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until) {
		return nil, usageError("--since must be before --until", "")
	}
	q.Role, q.Tool, q.Limit = search.Role(o.role), o.tool, o.limit
	return q, nil
}

// listFiles returns the files of sessions in all readable directories.
func listFiles(ctx context.Context, where *sessions.Options) (files []sessions.File, err error) {
	for f, err := range sessions.Files(ctx, where) {
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// search searches the index, or the files without an index.
func (o *searchOptions) search(ctx context.Context, files []sessions.File, q *search.Query) (*search.Result, error) {
	if !o.regex && !o.noIndex {
		result, err := o.searchIndex(ctx, files, q)
		switch {
		case ctx.Err() != nil:
			return nil, &failure{code: exitInterrupted, err: errors.New("interrupted; the next search continues from here")}
		case err == nil:
			return result, nil
		case errors.Is(err, search.ErrBusy):
			o.note("another clew is writing the index; reading the transcripts instead")
		default:
			o.note("cannot use the index, reading the transcripts instead: " + escaped(cause(err).Error()))
		}
	}
	progress, clearLine := o.bar()
	result, err := search.Scan(ctx, files, q, progress)
	clearLine()
	if err != nil {
		return result, errInterrupted()
	}
	return result, nil
}

func (o *searchOptions) searchIndex(ctx context.Context, files []sessions.File, q *search.Query) (*search.Result, error) {
	path, err := indexPath()
	if err != nil {
		return nil, err
	}
	progress, clearLine := o.bar()
	defer clearLine()
	x := &search.Index{Path: path, Progress: progress, Note: o.note}
	return x.Search(ctx, files, q)
}

// indexPath returns the path of the index. Each set of agents' directories has a separate index.
func indexPath() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	roots, err := sessions.Roots()
	if err != nil {
		return "", err
	}
	sum := fnv.New64a()
	_, _ = io.WriteString(sum, strings.Join(roots, "\x00")) // never fails
	return filepath.Join(cache, "clew", fmt.Sprintf("search-%016x.db", sum.Sum64())), nil
}

// bar returns a function that shows progress on a terminal, or nil, and one that removes it.
func (o *searchOptions) bar() (progress func(done, total int64), clearLine func()) {
	if !isTerminal(o.streams.Err) || os.Getenv("TERM") == "dumb" {
		return nil, func() {}
	}
	bar := newProgress(o.streams.Err, -1, o.now)
	return func(done, total int64) {
		bar.total = total
		bar.set(done)
	}, bar.clear
}

// note prints a note to stderr.
func (o *searchOptions) note(text string) { remark(o.streams.Err, tty.Waiting, "clew search", text) }

// reportGaps reports what is missing from the result.
func (o *searchOptions) reportGaps(result *search.Result, unlisted error) error {
	if result.More > 0 {
		atMost := ""
		if result.AtMost {
			atMost = "at most "
		}
		o.note(fmt.Sprintf("%s%s more; --limit 0 shows all", atMost, group(int64(result.More))))
	}
	if len(result.Hits) == 0 && !o.json {
		o.note("no results")
	}
	unread := result.Unread
	if unlisted != nil {
		unread = append(unread, unlisted)
	}
	if len(unread) == 0 {
		return nil
	}
	text := cmp.Or(strings.TrimPrefix(unread[0].Error(), "sessions: "), "unknown")
	return &failure{
		code: exitInput,
		err:  fmt.Errorf("files that could not be read and were not searched: %d; the first is %s", len(unread), escaped(text)),
	}
}

const (
	excerptBytes   = 400 // of an excerpt in JSON
	excerptColumns = 160 // of an excerpt in text without a terminal
	excerptIndent  = "    "
)

// A searchRecord is a result in JSON.
type searchRecord struct {
	Session string     `json:"session"`
	Project string     `json:"project"`
	Agent   string     `json:"agent,omitempty"`
	Path    string     `json:"path"`
	Line    int        `json:"line"`
	Turn    int        `json:"turn,omitempty"`
	Spill   bool       `json:"spill,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	Role    string     `json:"role"`
	Tool    string     `json:"tool,omitempty"`
	Excerpt string     `json:"excerpt"`
	Matches []matchAt  `json:"matches"`
}

type matchAt struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

func (o *searchOptions) print(ctx context.Context, result *search.Result) error {
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	if isTerminal(o.streams.Out) && !o.json {
		color, columns := colored(o.streams.Out), terminalWidth(o.streams.Out)
		for _, g := range groupHits(result.Hits) {
			g.name(ctx, o.repeated)
			_, _ = out.WriteString(g.text(o.now(), columns, color))
		}
		return out.Flush()
	}
	for i := range result.Hits {
		if err := o.printHit(out, &result.Hits[i]); err != nil {
			return err
		}
	}
	return out.Flush()
}

// printHit ignores errors of the output: Flush returns them.
func (o *searchOptions) printHit(out *bufio.Writer, h *search.Hit) error {
	if o.json {
		line, err := jsonLine(newSearchRecord(h))
		_, _ = out.Write(line)
		return err
	}
	columns := cmp.Or(textWidth(o.streams.Out, 0), excerptColumns)
	excerpt := excerptOf(h, columns-len(excerptIndent), colored(o.streams.Out))
	place := tty.Fit(hitPlace(h), columns)
	if o.repeated[h.SessionID] {
		place = tty.Line(mainPath(h)) + "\n" + excerptIndent + place // show needs the path
	}
	_, _ = out.WriteString(place + "\n" + excerptIndent + excerpt + "\n")
	return nil
}

// mainPath returns the path of the session's own transcript.
func mainPath(h *search.Hit) string {
	project := filepath.Dir(h.File.Path)
	for filepath.Base(project) != h.File.Project && len(filepath.Dir(project)) < len(project) {
		project = filepath.Dir(project)
	}
	return filepath.Join(project, h.SessionID+".jsonl")
}

// hitPlace describes the position of a result.
func hitPlace(h *search.Hit) string {
	cells := []string{shortID(h.SessionID)}
	if !h.Time.IsZero() {
		cells = append(cells, h.Time.Local().Format(timeLayout))
	}
	return joinCells(slices.Concat(cells, []string{cmp.Or(h.Directory, h.File.Project)}, cellsInSession(h)))
}

// cellsInSession returns where in its session a result is, and whose text it is.
func cellsInSession(h *search.Hit) (cells []string) {
	if h.AgentID != "" {
		cells = append(cells, "agent "+h.AgentID)
	}
	switch {
	case h.File.Spill:
		cells = append(cells, filepath.Base(h.File.Path)+":"+strconv.Itoa(h.Line))
	case h.Turn > 0:
		cells = append(cells, "turn "+strconv.Itoa(h.Turn))
	default:
		cells = append(cells, "line "+strconv.Itoa(h.Line))
	}
	role := h.Role.String()
	if h.Tool != "" {
		role += " " + h.Tool
	}
	cells = append(cells, role)
	return cells
}

// joinCells joins untrusted texts to a clean line.
func joinCells(cells []string) string {
	for i, cell := range cells {
		cells[i] = tty.Line(cell)
	}
	return strings.Join(cells, "  ")
}

func newSearchRecord(h *search.Hit) searchRecord {
	e := h.Excerpt(excerptBytes)
	r := searchRecord{
		Session: h.SessionID, Project: h.File.Project, Agent: h.AgentID, Path: h.File.Path, Line: h.Line, Turn: h.Turn,
		Spill: h.File.Spill, Role: h.Role.String(), Tool: h.Tool,
		Excerpt: validInPlace(e.Text),
	}
	if !h.Time.IsZero() {
		at := h.Time.UTC()
		r.Time = &at
	}
	for _, m := range e.Matches {
		r.Matches = append(r.Matches, matchAt(m))
	}
	return r
}

// validInPlace replaces each byte that is not UTF-8 with a question mark, which keeps the offsets
// of the matches.
func validInPlace(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	valid := []byte(text)
	for i := 0; i < len(valid); {
		r, size := utf8.DecodeRune(valid[i:])
		if r == utf8.RuneError && size == 1 {
			valid[i] = '?'
		}
		i += size
	}
	return string(valid)
}

// excerptOf returns the text around the matches, on one line.
func excerptOf(h *search.Hit, columns int, color bool) string {
	columns = max(columns, 10)
	e := h.Excerpt(2 * columns)
	line := excerptLine{columns: columns, color: color}
	if !e.Begins {
		line.write("…", false)
	}
	at := 0
	for _, m := range e.Matches {
		line.write(e.Text[at:m.Start], false)
		line.write(e.Text[m.Start:m.End], true)
		at = m.End
	}
	line.write(e.Text[at:], false)
	line.finish(!e.Ends)
	return line.out.String()
}

// colorCodes matches the color codes in the output of programs.
var colorCodes = regexp.MustCompile("\x1b\\[[0-9;:]*[mK]")

// An excerptLine puts pieces of a text on one line.
type excerptLine struct {
	out     strings.Builder
	columns int // that are left
	color   bool
	space   bool // the last character is a space, or there is none
	full    bool
}

func (l *excerptLine) write(text string, marked bool) {
	text = l.squeeze(tty.Clean(colorCodes.ReplaceAllString(text, "")))
	if l.full || text == "" {
		return
	}
	fit := tty.Cut(text, l.columns-1)
	l.full = fit != text
	l.columns -= tty.Width(fit)
	if marked && l.color && fit != "" {
		fit = tty.Match.Paint(fit, true)
	}
	l.out.WriteString(fit)
}

// squeeze replaces white space with one space, also across pieces.
func (l *excerptLine) squeeze(text string) string {
	var b strings.Builder
	for _, r := range text {
		space := r == ' ' || r == '\n'
		if space && !l.space {
			b.WriteByte(' ')
		} else if !space {
			b.WriteRune(r)
		}
		l.space = space
	}
	return b.String()
}

func (l *excerptLine) finish(more bool) {
	if l.full || more {
		l.out.WriteString("…")
	}
}

// A hitGroup has the hits of one session, as a terminal shows them.
type hitGroup struct {
	hits    []*search.Hit
	title   string // untrusted, as are the others
	project string
	path    string // of the transcript, if several projects have a session with this ID
}

// groupHits groups hits by session. Sessions are in the order of their first hits.
func groupHits(hits []search.Hit) []*hitGroup {
	type key struct{ project, session string }
	groups := map[key]*hitGroup{}
	var list []*hitGroup
	for i := range hits {
		h := &hits[i]
		k := key{h.File.Project, h.SessionID}
		if groups[k] == nil {
			groups[k] = new(hitGroup)
			list = append(list, groups[k])
		}
		groups[k].hits = append(groups[k].hits, h)
	}
	return list
}

// name looks up the title and the project of the session. If it is not found, the hits have to do.
func (g *hitGroup) name(ctx context.Context, repeated map[string]bool) {
	first := g.hits[0]
	info, _ := sessions.Get(ctx, first.SessionID, &sessions.Options{ProjectName: first.File.Project})
	g.title = info.Title()
	g.project = projectName(info.CWD, first.File.Project)
	for _, h := range g.hits {
		if info.CWD == "" && h.Directory != "" {
			g.project = h.Directory
		}
	}
	if repeated[first.SessionID] {
		g.path = mainPath(first) // show needs it
	}
}

// newest returns the time of the newest hit, or the zero time.
func (g *hitGroup) newest() (at time.Time) {
	for _, h := range g.hits {
		if h.Time.After(at) {
			at = h.Time
		}
	}
	return at
}

// text returns the group in so many columns: a line about the session, then two for each hit.
func (g *hitGroup) text(now time.Time, columns int, color bool) string {
	var b strings.Builder
	b.WriteString(g.heading(now, columns, color) + "\n")
	if g.path != "" {
		for _, line := range tty.Wrap(tty.Line(g.path), columns) {
			b.WriteString(tty.Path.Paint(tty.Fit(line, columns), color) + "\n") // one column has no wide character
		}
	}
	for _, h := range g.hits {
		b.WriteString(tty.Dim.Paint(tty.Fit("  "+placeInSession(h, now.Location()), columns), color) + "\n")
		indent := strings.Repeat(" ", min(len(excerptIndent), max(columns-10, 0)))
		excerpt := excerptOf(h, columns-len(indent), color)
		if columns < 10 {
			excerpt = tty.Fit(excerptOf(h, 10, false), columns)
		}
		b.WriteString(indent + excerpt + "\n")
	}
	return b.String()
}

// heading returns the line about the session: its ID and its title, its project and its age at the
// right.
func (g *hitGroup) heading(now time.Time, columns int, color bool) string {
	id := shortID(tty.Line(g.hits[0].SessionID)) + "  "
	about := tty.Line(g.project)
	if at := g.newest(); !at.IsZero() {
		about = render.Join(about, ageOf(at, now))
	}
	title := cmp.Or(tty.Line(g.title), "-")
	room := columns - tty.Width(id) - tty.Width(about) - cellGap
	if room < leastHeading {
		about, room = "", columns-tty.Width(id)
	}
	if room < leastHeading {
		id, room = "", columns
	}
	title = tty.Fit(title, max(room, 1))
	line := tty.Dim.Paint(id, color) + tty.Title.Paint(title, color)
	if about != "" {
		line += strings.Repeat(" ", cellGap) + tty.Dim.Paint(about, color)
	}
	return line
}

// leastHeading is the least width of the title above hits.
const leastHeading = 16

// placeInSession describes the position of a hit in its session.
func placeInSession(h *search.Hit, zone *time.Location) string {
	cells := cellsInSession(h)
	if !h.Time.IsZero() {
		cells = append(cells, h.Time.In(zone).Format(timeLayout))
	}
	return joinCells(cells)
}
