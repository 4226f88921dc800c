package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
)

type searchOptions struct {
	streams Streams
	now     func() time.Time

	project string
	session string
	order   searchOrder
	since   clikit.TimeFlag
	until   clikit.TimeFlag
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
The best results come first, three of each session if there are many. On a terminal,
they are grouped by session, with the title and the age of each.

A result is a turn: a prompt with its answers, thinking and tool calls. It may have
the words in several of these texts, and the one with the most words is shown (with
--session, --sort newest or --limit 0 all of them). Turns with all words come first,
then those with most of them. Prompts, answers and titles count more than calls, and outputs of tools
least. Words that are rare or close to each other count more, and new turns a little.
To see the newest results first, use --sort newest.
To see more of one session, use --session ID.

Case is ignored. Other forms of a word are found, and longer words with it: leaks for
leak, WebSocket for socket. A name such as main.go or parse_line is found as it is
and, much later, by its words. The following is exact:
  "login page"  an argument with spaces: these words side by side
  'valid*'      a word that starts with valid
  ' -draft'     leave out turns with this word
An argument may contain several of them: 'deadlock "login page" -draft'. If nothing
has the words of a phrase side by side, the words are searched for.

Each result shows the session, the time, the project, the turn or the subagent,
and the kind of text. To read more:
  clew show ID --turn 3
  clew show ID --agent AGENT
If several projects have a session with the same ID, the path of the transcript
is shown as well; "clew show" accepts it instead of the ID.

With --json, print one object per result, with session, project, path, line, time,
role, the title of the session, and an excerpt with the start and end of each match
in bytes. It also has score, turn, agent, tool and spill if they apply.

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
				return clikit.Misused(cmd, errors.New("missing argument: the words to search for"))
			}
			return nil
		},
		RunE: clikit.RunE(o.run),
	}
	f := cmd.Flags()
	f.StringVar(&o.project, "project", "", "search the project with this `name` or directory")
	f.StringVar(&o.session, "session", "", "search the session with this `ID` or ID prefix")
	f.Var(&o.order, "sort", "sort by relevance or newest")
	f.Var(&o.since, "since", "search texts since this time")
	o.until.End = true
	f.Var(&o.until, "until", "search texts until this time")
	f.Var(&o.role, "role", "search texts with this role: prompt, answer, tool, thinking or title")
	f.StringVar(&o.tool, "tool", "", "search inputs and results of the tool with this `name`")
	f.IntVar(&o.limit, "limit", 20, "maximum `number` of results to show; 0 means all")
	clikit.AddOnOff(cmd, &o.regex, "regex", "treat the argument as a regular expression (RE2)")
	clikit.AddOnOff(cmd, &o.noIndex, "no-index", "read the transcripts instead of building an index")
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object per result")
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
		return errors.New("must be prompt, answer, tool, thinking or title")
	}
	*r = searchRole(role)
	return nil
}

// A searchOrder is a flag for the order of results.
type searchOrder struct{ newest bool }

// Type names the value in the help.
func (r *searchOrder) Type() string { return "order" }

func (r *searchOrder) String() string {
	if r.newest {
		return "newest"
	}
	return "relevance"
}

// Set reads the name of an order.
func (r *searchOrder) Set(text string) error {
	if text != "relevance" && text != "newest" {
		return errors.New("must be relevance or newest")
	}
	r.newest = text == "newest"
	return nil
}

func (o *searchOptions) run(ctx context.Context, args []string) error {
	query, err := o.query(args)
	if err != nil {
		return err
	}
	where, err := input.Project(ctx, o.project)
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
		return input.FindError(ctx, unlisted)
	}
	if err := o.choose(query, files); err != nil {
		return err
	}
	result, err := o.search(ctx, files, query)
	if err == nil && len(result.Hits) == 0 && !o.regex && slices.ContainsFunc(args, isPhrase) {
		if result, err = o.loosely(ctx, files, query, args); err == nil && len(result.Hits) > 0 {
			o.note("nothing has the words side by side; these have all or most of them")
		}
	}
	if result == nil {
		return err
	}
	o.repeated = repeatedIDs(files)
	if writeErr := o.print(ctx, result); writeErr != nil {
		return clikit.OutputError(writeErr)
	}
	if err != nil {
		return err
	}
	return o.reportGaps(result, unlisted)
}

// loosely searches for the words of phrases, wherever they are in a turn.
func (o *searchOptions) loosely(ctx context.Context, files []sessions.File, exact *search.Query, args []string) (*search.Result, error) {
	q, err := search.Parse(strings.Join(args, " "))
	if err != nil {
		return nil, err
	}
	if q, err = o.filtered(q); err != nil {
		return nil, err
	}
	q.Projects, q.Sessions = exact.Projects, exact.Sessions
	return o.search(ctx, files, q)
}

// choose limits the query to the session of the flag.
func (o *searchOptions) choose(q *search.Query, files []sessions.File) error {
	if o.session == "" {
		return nil
	}
	prefix := strings.ToLower(o.session)
	q.Sessions = map[string]bool{}
	var found []sessions.SessionInfo
	for i := range files {
		f := &files[i]
		if f.AgentID == "" && !f.Spill && strings.HasPrefix(f.SessionID, prefix) && !q.Sessions[f.SessionID] {
			q.Sessions[f.SessionID] = true
			found = append(found, sessions.SessionInfo{ID: f.SessionID})
		}
	}
	switch {
	case len(found) == 0:
		return &clikit.Failure{Code: clikit.ExitInput, Err: fmt.Errorf("no session matches %q", o.session), Hint: `Run "clew ls --all" to list sessions.`}
	case len(found) > 1:
		return input.Ambiguous(o.session, found)
	}
	return nil
}

// query returns the query for the arguments and flags.
func (o *searchOptions) query(args []string) (*search.Query, error) {
	if !o.regex {
		q, err := search.Parse(queryText(args))
		if err != nil {
			return nil, clikit.UsageError(queryError(err), "To find punctuation, use --regex: clew search --regex '\\+\\+'")
		}
		return o.filtered(q)
	}
	if len(args) > 1 {
		return nil, clikit.UsageError("--regex takes one argument", "Put the expression in quotes.")
	}
	q, err := search.Pattern(args[0])
	if err != nil {
		return nil, clikit.UsageError(queryError(err), "")
	}
	return o.filtered(q)
}

// queryText returns the arguments as one query. An argument with spaces is a phrase, unless it has the
// marks of a query itself.
func queryText(args []string) string {
	list := slices.Clone(args)
	for i, arg := range list {
		if isPhrase(arg) {
			body, prefix := strings.CutSuffix(strings.TrimSpace(arg), "*")
			list[i] = `"` + body + `"`
			if prefix {
				list[i] += "*"
			}
		}
	}
	return strings.Join(list, " ")
}

func isPhrase(arg string) bool {
	return len(strings.Fields(arg)) > 1 && !strings.Contains(arg, `"`) && !strings.Contains(" "+arg, " -")
}

// queryError describes the error in a query. The name of the command is printed before it.
func queryError(err error) string {
	return clikit.Printable(strings.TrimPrefix(err.Error(), "search: "))
}

func (o *searchOptions) filtered(q *search.Query) (*search.Query, error) {
	if o.limit < 0 {
		return nil, clikit.UsageError("--limit must not be negative", "")
	}
	q.Since, q.Until = o.since.Time, o.until.Time
	if !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until) {
		return nil, clikit.UsageError("--since must be before --until", "")
	}
	q.Role, q.Tool, q.Limit = search.Role(o.role), o.tool, o.limit
	if !o.order.newest {
		q.Order, q.Now = search.Relevance, o.now()
	}
	if o.session == "" && o.limit > 0 {
		q.PerSession = sessionHits
	}
	if o.order.newest || o.session != "" || o.limit == 0 {
		q.PerTurn = math.MaxInt // for people who look at everything
	}
	return q, nil
}

// sessionHits is the maximum number of results per session in a list of the best.
const sessionHits = 3

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
			return nil, &clikit.Failure{Code: clikit.ExitInterrupted, Err: errors.New("interrupted; the next search continues from here")}
		case err == nil:
			return result, nil
		case errors.Is(err, search.ErrBusy):
			o.note("another clew is writing the index; reading the transcripts instead")
		default:
			o.note("cannot use the index, reading the transcripts instead: " + clikit.Printable(clikit.Cause(err).Error()))
		}
	}
	bar := clikit.ProgressOn(o.streams.Err, -1, o.now)
	result, err := search.Scan(ctx, files, q, bar.Func())
	bar.Clear()
	if err != nil {
		return result, clikit.Interrupted()
	}
	return result, nil
}

func (o *searchOptions) searchIndex(ctx context.Context, files []sessions.File, q *search.Query) (*search.Result, error) {
	path, err := view.IndexPath()
	if err != nil {
		return nil, err
	}
	bar := clikit.ProgressOn(o.streams.Err, -1, o.now)
	defer bar.Clear()
	show, usual := bar.Func(), setGCPercent(searchGCPercent)
	defer setGCPercent(usual)
	x := &search.Index{Path: path, Note: o.note, Progress: func(done, total int64) {
		setGCPercent(usual)
		if show != nil {
			show(done, total)
		}
	}}
	return x.Search(ctx, files, q)
}

// searchGCPercent is the garbage collection target percentage. A search needs little memory, and
// would spend a fifth of its time on collections. The default applies when files have to be read
// first.
const searchGCPercent = 400

// note prints a note to stderr.
func (o *searchOptions) note(text string) {
	clikit.Remark(o.streams.Err, tty.Waiting, "clew search", text)
}

// reportGaps reports gaps in the result.
func (o *searchOptions) reportGaps(result *search.Result, unlisted error) error {
	if result.More > 0 {
		o.note(moreHits(result) + "; --limit 0 shows all")
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
	return &clikit.Failure{
		Code: clikit.ExitInput,
		Err:  fmt.Errorf("files that could not be read and were not searched: %d; the first is %s", len(unread), clikit.Printable(text)),
	}
}

// moreHits returns the number of results that are not shown, and the number of their sessions.
func moreHits(r *search.Result) string {
	text := wording.Number(r.More) + " more"
	if r.AtMost {
		text = "at most " + text
	}
	inShown := 0
	for _, g := range r.Groups {
		inShown += g.More
	}
	switch others := wording.Count(r.MoreSessions, "other session"); {
	case r.MoreSessions == 0 || r.AtMost:
		return text
	case inShown == 0:
		return text + " in " + others
	default:
		return text + ", " + wording.Number(r.More-inShown) + " of them in " + others
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
	Title   string     `json:"title,omitempty"`
	Project string     `json:"project"`
	Agent   string     `json:"agent,omitempty"`
	Path    string     `json:"path"`
	Line    int        `json:"line"`
	Turn    int        `json:"turn,omitempty"`
	Spill   bool       `json:"spill,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	Role    string     `json:"role"`
	Tool    string     `json:"tool,omitempty"`
	Score   float64    `json:"score,omitempty"`
	Excerpt string     `json:"excerpt"`
	Matches []matchAt  `json:"matches"`
}

type matchAt struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

func (o *searchOptions) print(ctx context.Context, result *search.Result) error {
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	switch {
	case o.json:
		titles := map[*search.Hit]string{}
		for _, g := range groupHits(result) {
			g.name(ctx, o.repeated)
			for _, h := range g.hits {
				titles[h] = g.info.Title()
			}
		}
		for i := range result.Hits {
			h := &result.Hits[i]
			line, err := clikit.JSONLine(newSearchRecord(h, titles[h]))
			if err != nil {
				return err
			}
			_, _ = out.Write(line)
		}
	case clikit.IsTerminal(o.streams.Out):
		color, columns := clikit.Colored(o.streams.Out), clikit.TerminalWidth(o.streams.Out)
		for _, g := range groupHits(result) {
			g.name(ctx, o.repeated)
			_, _ = out.WriteString(g.text(o.now(), columns, color))
		}
	default:
		for i := range result.Hits {
			o.printHit(out, &result.Hits[i])
		}
	}
	return out.Flush()
}

// printHit ignores output errors: Flush returns them.
func (o *searchOptions) printHit(out *bufio.Writer, h *search.Hit) {
	columns := cmp.Or(clikit.TextWidth(o.streams.Out, 0), excerptColumns)
	excerpt := excerptOf(h, columns-len(excerptIndent), clikit.Colored(o.streams.Out))
	place := tty.Fit(hitPlace(h), columns)
	if o.repeated[h.SessionID] {
		place = tty.Line(mainPath(h)) + "\n" + excerptIndent + place // show needs the path
	}
	_, _ = out.WriteString(place + "\n" + excerptIndent + excerpt + "\n")
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
	cells := []string{view.ShortID(h.SessionID)}
	if !h.Time.IsZero() {
		cells = append(cells, h.Time.Local().Format(wording.DateTime))
	}
	return joinCells(slices.Concat(cells, []string{cmp.Or(h.Directory, h.File.Project)}, cellsInSession(h)))
}

// cellsInSession returns where in its session a result is, and whose text it is.
func cellsInSession(h *search.Hit) (cells []string) {
	if h.AgentID != "" {
		cells = append(cells, "agent "+h.AgentID)
	}
	if h.Turn > 0 {
		cells = append(cells, "turn "+strconv.Itoa(h.Turn))
	}
	switch {
	case h.File.Spill:
		cells = append(cells, filepath.Base(h.File.Path)+":"+strconv.Itoa(h.Line))
	case h.Turn == 0 && h.Role != search.Title:
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

func newSearchRecord(h *search.Hit, title string) searchRecord {
	e := h.Excerpt(excerptBytes)
	r := searchRecord{
		Session: h.SessionID, Title: strings.ToValidUTF8(title, "?"), Project: h.File.Project, Agent: h.AgentID, Path: h.File.Path, Line: h.Line, Turn: h.Turn,
		Spill: h.File.Spill, Role: h.Role.String(), Tool: h.Tool, Score: math.Round(1000*h.Score) / 1000,
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

// A hitGroup has the hits of one session, as a terminal shows them.
type hitGroup struct {
	hits    []*search.Hit
	more    int  // further hits of the session
	atMost  bool // some of these may not match
	info    sessions.SessionInfo
	project string // untrusted, as are the others
	path    string // of the transcript, if several projects have a session with this ID
}

// groupHits groups hits by session. Sessions are in the order of their first hits.
func groupHits(result *search.Result) []*hitGroup {
	type key struct{ project, session string }
	groups := map[key]*hitGroup{}
	var list []*hitGroup
	for i := range result.Hits {
		h := &result.Hits[i]
		k := key{h.File.Project, h.SessionID}
		if groups[k] == nil {
			groups[k] = new(hitGroup)
			list = append(list, groups[k])
		}
		groups[k].hits = append(groups[k].hits, h)
	}
	for _, g := range result.Groups {
		if shown := groups[key{g.Project, g.SessionID}]; shown != nil {
			shown.more, shown.atMost = g.More, result.AtMost
		}
	}
	return list
}

// name looks up the title and the project of the session. If it is not found, the hits have to do.
func (g *hitGroup) name(ctx context.Context, repeated map[string]bool) {
	first := g.hits[0]
	g.info, _ = sessions.Get(ctx, first.SessionID, &sessions.Options{ProjectName: first.File.Project})
	g.project = render.ProjectName(g.info.Directory(), first.File.Project)
	for _, h := range g.hits {
		if g.info.CWD == "" && h.Directory != "" {
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

// text returns the group, laid out in columns: a line about the session, then two for each hit.
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
	if g.more > 0 {
		b.WriteString(tty.Dim.Paint(tty.Fit("  "+g.rest(columns-2), columns), color) + "\n")
	}
	return b.String()
}

// rest returns the number of the session's hits that are not shown, and how to see them.
func (g *hitGroup) rest(columns int) string {
	more, flag := wording.Number(g.more)+" more", "--session "+view.ShortID(g.hits[0].SessionID)
	if g.atMost {
		more = "at most " + more
	}
	if text := more + " in this session: add " + flag; tty.Width(text) <= columns {
		return text
	}
	return more + ": " + flag
}

// heading returns the line about the session: its ID and its title, its project and its age at the
// right.
func (g *hitGroup) heading(now time.Time, columns int, color bool) string {
	id := view.ShortID(g.hits[0].SessionID) + "  "
	about := tty.Line(g.project)
	if at := g.newest(); !at.IsZero() {
		about = render.Join(about, wording.Age(at, now))
	}
	title := cmp.Or(view.TitleOf(&g.info.Summary), "-")
	room := columns - tty.Width(id) - tty.Width(about) - clikit.CellGap
	if room < minHeading {
		about, room = "", columns-tty.Width(id)
	}
	if room < minHeading {
		id, room = "", columns
	}
	title = tty.Fit(title, max(room, 1))
	line := tty.Dim.Paint(id, color) + tty.Title.Paint(title, color)
	if about != "" {
		line += strings.Repeat(" ", clikit.CellGap) + tty.Dim.Paint(about, color)
	}
	return line
}

// minHeading is the minimum width of the title above hits.
const minHeading = 16

// placeInSession describes the position of a hit in its session.
func placeInSession(h *search.Hit, zone *time.Location) string {
	cells := cellsInSession(h)
	if !h.Time.IsZero() {
		cells = append(cells, h.Time.In(zone).Format(wording.DateTime))
	}
	return joinCells(cells)
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
	return view.ExcerptOf(h, 2*columns).Line(columns, color)
}
