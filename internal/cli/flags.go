package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for systems without a database of time zones

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/spf13/cobra"
)

// An onOff is a flag that is on when it is given without a value. Unlike pflag's own, it has a
// readable error for other values.
type onOff bool

// addOnOff adds a flag to cmd that sets target.
func addOnOff(cmd *cobra.Command, target *bool, name, usage string) {
	cmd.Flags().VarPF((*onOff)(target), name, "", usage).NoOptDefVal = "true"
}

// Type is bool, which the help leaves out.
func (o *onOff) Type() string { return "bool" }

func (o *onOff) String() string { return strconv.FormatBool(bool(*o)) }

// Set reads true and false, as strconv.ParseBool does.
func (o *onOff) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("must be true or false")
	}
	*o = onOff(on)
	return nil
}

// A timeFlag is a flag for a time: a day, a day with a time, or an age.
type timeFlag struct {
	time.Time
	end bool // a day stands for its end
}

// Type names the value in the help.
func (m *timeFlag) Type() string { return "time" }

func (m *timeFlag) String() string {
	if m.IsZero() {
		return ""
	}
	return m.Format(time.RFC3339)
}

// Set reads a time. It is local unless it has an offset.
func (m *timeFlag) Set(text string) error {
	at, err := parseTime("", text, time.Now(), m.end)
	if err != nil || text == "" {
		return errors.New("must be a date such as 2026-11-01 or 2026-11-01T15:04, or an age such as 36h or 7d")
	}
	m.Time = at
	return nil
}

// A byteSize is a flag: a whole number, with or without a unit.
type byteSize int

// sizeUnits are in the order in which they are tried: the others also end in "B".
var sizeUnits = []struct {
	name  string
	bytes uint64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// Type names the value in the help.
func (s *byteSize) Type() string { return "size" }

// String returns the size in the largest unit of which it is a multiple.
func (s *byteSize) String() string {
	for _, u := range sizeUnits {
		if n := uint64(*s); n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatUint(n/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

// Set reads a size. Units may be in any case.
func (s *byteSize) Set(text string) error {
	number, unit := text, uint64(1)
	for _, u := range sizeUnits {
		if cut := len(text) - len(u.name); cut > 0 && strings.EqualFold(text[cut:], u.name) {
			number, unit = strings.TrimSpace(text[:cut]), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n == 0 || n > math.MaxInt/unit {
		return errors.New("must be a positive whole number of bytes, such as 500000, 512KiB or 64MiB")
	}
	*s = byteSize(n * unit)
	return nil
}

// A turnRange is a flag for some turns of a session, such as 3, 3..5, 3.. or ..5. The zero value
// means all turns.
type turnRange struct {
	text        string
	first, last int // last is 0 for no end
}

// Type names the value in the help.
func (t *turnRange) Type() string { return "turns" }

func (t *turnRange) String() string { return t.text }

// Set reads a range.
func (t *turnRange) Set(text string) error {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	first, err1 := turnNumber(from, isRange)
	last, err2 := turnNumber(to, isRange)
	if err1 != nil || err2 != nil || last > 0 && last < first || text == ".." {
		return errors.New("must be the number of a turn, or a range such as 3..5, 3.. or ..5")
	}
	*t = turnRange{text: text, first: first, last: last}
	return nil
}

func turnNumber(text string, mayBeEmpty bool) (int, error) {
	if text == "" && mayBeEmpty {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	return n, err
}

func (t *turnRange) has(turn int) bool {
	return turn >= t.first && (t.last == 0 || turn <= t.last)
}

// of returns the chunks of those turns, and the number of the first turn. Chunks before the first
// prompt are turn 0.
func (t *turnRange) of(chunks []transcript.Chunk) ([]transcript.Chunk, int) {
	turn, from, end, first := 0, len(chunks), len(chunks), 0
	for i := range chunks {
		if chunks[i].Type == transcript.UserChunk {
			turn++
		}
		switch {
		case t.has(turn) && i < from:
			from, first = i, turn
		case !t.has(turn) && i > from:
			return chunks[from:i], first
		}
	}
	return chunks[from:end], first
}

// none reports that a session with so many turns has none of the range.
func (t *turnRange) none(turns int) error {
	return &failure{
		code: exitUsage, err: fmt.Errorf("no turn matches %s", t.text),
		hint: fmt.Sprintf("The session has %s.", tty.Counted(turns, "turn")),
	}
}

func countTurns(chunks []transcript.Chunk) (n int) {
	for i := range chunks {
		if chunks[i].Type == transcript.UserChunk {
			n++
		}
	}
	return n
}

// A givenFlag says whether a flag was given.
type givenFlag struct {
	name string
	on   bool
}

// atMostOne refuses flags that exclude each other.
func atMostOne(flags []givenFlag) error {
	first := ""
	for _, f := range flags {
		switch {
		case f.on && first != "":
			return usageError(fmt.Sprintf("--%s can't be used with --%s", first, f.name), "")
		case f.on:
			first = f.name
		}
	}
	return nil
}

func usageError(text, hint string) error {
	return &failure{code: exitUsage, err: errors.New(text), hint: hint}
}

func parseZone(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, usageError("unknown time zone "+printable(name), "Give a name such as UTC or Europe/Paris.")
	}
	return zone, nil
}

var longAgo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,5})([dw])$`)
})

// parseTime parses the value of a flag in the time zone of now. "" is the zero time. A day stands
// for its beginning, or with whole for its end.
func parseTime(flag, text string, now time.Time, whole bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if m := longAgo().FindStringSubmatch(text); m != nil {
		return backFrom(now, m[1], m[2]), nil
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	if day, ok := parseDay(text, now); ok {
		if whole {
			day = startOfDay(day, 1)
		}
		return day, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usageError(fmt.Sprintf("--%s %s is not a valid time", flag, printable(text)),
		"Give a day such as 2026-11-15 or yesterday, a time such as 2026-11-15T14:00, or an age: 12h, 7d, 2w.")
}

// backFrom goes back by days or weeks on the calendar.
func backFrom(now time.Time, number, unit string) time.Time {
	n, _ := strconv.Atoi(number) // five digits at most
	if unit == "w" {
		n *= 7
	}
	return now.AddDate(0, 0, -n)
}

func parseDay(text string, now time.Time) (time.Time, bool) {
	switch text {
	case "today":
		return startOfDay(now, 0), true
	case "yesterday":
		return startOfDay(now, -1), true
	}
	day, err := time.ParseInLocation(time.DateOnly, text, now.Location())
	return day, err == nil
}

// startOfDay returns the beginning of the day that is so many days after the day of t.
func startOfDay(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}

// findProject returns where the sessions of a project are. The word of the flag --project is a name
// that lists show, a directory, or the name of the directory in which the agent keeps the sessions.
// An empty word means all projects, and a directory need not have sessions.
func findProject(ctx context.Context, word string) (*sessions.Options, error) {
	if word == "" {
		return new(sessions.Options), nil
	}
	info, statErr := os.Stat(word)
	isDirectory := statErr == nil && info.IsDir()
	where := &sessions.Options{Project: word}
	for _, err := range sessions.Files(ctx, where) {
		if err != nil {
			return nil, findError(ctx, err)
		}
		return where, nil
	}
	projects, err := sessions.Projects(ctx, nil)
	if len(projects) == 0 && err != nil {
		return nil, findError(ctx, err)
	}
	switch found := matchProjects(word, projects); {
	case len(found) == 1:
		return placeOf(&found[0]), nil
	case len(found) > 1:
		return nil, ambiguousProject(word, found)
	case isDirectory: // it has no sessions yet
		return where, nil
	}
	return nil, noProject(word, projects)
}

// addProjectOf adds the flag that says in which project a session is looked for.
func addProjectOf(cmd *cobra.Command, project *string) {
	cmd.Flags().StringVar(project, "project", "", "look for the session in the project with this `name` or directory")
}

// findSourceIn is like findSource, but looks for a session only in a project, unless that is "".
func findSourceIn(ctx context.Context, project, word string) (*source, error) {
	if project == "" {
		return findSource(ctx, word)
	}
	where, err := findProject(ctx, project)
	if err != nil {
		return nil, err
	}
	list := &sessions.ListOptions{Project: where.Project, ProjectName: where.ProjectName, Limit: 1}
	switch {
	case word == "" || strings.ContainsAny(word, `./\`) || word == "-":
		return nil, usageError("--project can't be used with a file", `Give a session ID or a prefix of one, or "last".`)
	case word != "last":
		list.ID, list.Limit = strings.ToLower(word), 0
	}
	switch found, err := sessions.List(ctx, list); {
	case len(found) == 1:
		return &source{info: found[0], path: found[0].Path}, nil
	case len(found) > 1:
		return nil, ambiguous(word, found)
	case err != nil:
		return nil, findError(ctx, err)
	}
	return nil, &failure{
		code: exitInput, err: fmt.Errorf("project %s has no session %s", printable(project), printable(word)),
		hint: `Run "clew ls --all" to list the sessions of all projects.`,
	}
}

// matchProjects returns the projects that a word names. A whole name goes before one in another
// case.
func matchProjects(word string, projects []sessions.ProjectInfo) []sessions.ProjectInfo {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b }, strings.EqualFold,
	} {
		var found []sessions.ProjectInfo
		for _, p := range projects {
			if same(p.Name, word) || same(p.Directory, word) {
				return []sessions.ProjectInfo{p}
			}
			if same(render.ProjectName(p.Directory, p.Name), word) {
				found = append(found, p)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// placeOf returns where the sessions of a project are: in its directory, so that other working trees
// of the repository are included, or if that is another name, by its name.
func placeOf(p *sessions.ProjectInfo) *sessions.Options {
	if name, err := sessions.ProjectName(p.Directory); p.Directory != "" && err == nil && name == p.Name {
		return &sessions.Options{Project: p.Directory}
	}
	return &sessions.Options{ProjectName: p.Name}
}

func ambiguousProject(word string, found []sessions.ProjectInfo) error {
	hint := "Give the directory of one of them:"
	for _, p := range found {
		place := p.Directory
		if where := placeOf(&p); where.Project == "" {
			place = p.Name
		}
		hint += "\n  " + printable(place)
	}
	return &failure{
		code: exitUsage, err: fmt.Errorf("%d projects are named %s", len(found), printable(word)), hint: hint,
	}
}

// noProject reports that there is no such project, and which name may have been meant.
func noProject(word string, projects []sessions.ProjectInfo) error {
	hint := `Run "clew ls --all" to list the sessions of all projects.`
	if near := nearProject(word, projects); near != "" {
		hint = "Did you mean " + near + "?\n" + hint
	}
	return &failure{code: exitUsage, err: errors.New("no project matches " + printable(word)), hint: hint}
}

// nearProject returns the name of a project that is like a word, or "".
func nearProject(word string, projects []sessions.ProjectInfo) string {
	word = strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	best, least := "", len([]rune(word))/3+1
	for _, p := range projects {
		name := render.ProjectName(p.Directory, p.Name)
		distance := editDistance(word, strings.ToLower(name))
		if len(word) > 2 && strings.Contains(strings.ToLower(name), word) {
			distance = 1
		}
		if distance < least {
			best, least = name, distance
		}
	}
	return tty.Line(best)
}

// editDistance returns how many characters must be added, removed or replaced to turn one text into
// the other. Long texts are cut.
func editDistance(a, b string) int {
	const most = 80
	from, to := []rune(a), []rune(b)
	from, to = from[:min(most, len(from))], to[:min(most, len(to))]
	row := make([]int, len(to)+1)
	for i := range row {
		row[i] = i
	}
	for i, r := range from {
		before := slices.Clone(row)
		row[0] = i + 1
		for k := range to {
			replaced := before[k]
			if to[k] != r {
				replaced++
			}
			row[k+1] = min(replaced, before[k+1]+1, row[k]+1)
		}
	}
	return row[len(to)]
}
