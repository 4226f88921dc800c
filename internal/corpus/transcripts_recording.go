package corpus

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A recording is a transcript in the making, of a session or of a subagent.
type recording struct {
	*projects
	project, id, cwd, branch, version, model, title string
	current                                         bool // written by CLI 2.1.325
	gateway                                         bool // the answers have no request IDs
	scale                                           float64
	copyOf                                          *recording
	copied                                          copyKind

	agent string // the ID of the subagent, if it is one's
	depth int    // how many subagents above it

	parent  any // the UUID of the last entry of the conversation, or nil
	prompt  string
	now     time.Time
	context int
	window  int       // the context at which it is compacted
	process time.Time // the start of the agent's process
	request string    // the ID of the last api-request
	used    []string  // names of tools
	spent   map[string]Tokens
	kept    []keptEntry // the first entries, for copies
	before  *moment     // the last turn

	// The last line of the last answer, and the tokens that it has.
	lastLine object
	lastUsed int

	out  *bufio.Writer
	file *os.File
	size int
	err  error
}

// maxKept is the maximum number of entries of a session that can be copied into another one.
const maxKept = 60

// A keptEntry is an entry of the conversation that may be copied.
type keptEntry struct {
	kind   string
	entry  object
	answer *answered // that the entry is a line of, if any
	used   int       // tokens that the line has
	typed  bool      // it is a prompt
}

func (r *recording) create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	r.file, r.out = file, bufio.NewWriterSize(file, 1<<16)
	return err
}

// finish closes the transcript, which was last changed when its last line was written.
func (r *recording) finish() error {
	r.fail(r.out.Flush())
	r.fail(r.file.Close())
	r.fail(os.Chtimes(r.file.Name(), r.now, r.now))
	r.book.file(r)
	return r.err
}

// fail remembers the first error.
func (r *recording) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *recording) wait(low, high int) {
	r.now = r.now.Add(time.Duration(r.between(low, high)) * time.Millisecond)
}

func (r *recording) stamp() string { return r.now.Format("2006-01-02T15:04:05.000Z") }

func (r *recording) hex(n int) string { return strings.ReplaceAll(r.uuid(), "-", "")[:n] }

// write writes a line.
func (r *recording) write(kind string, entry object) {
	r.line = append(entry.append(r.line[:0]), '\n')
	_, err := r.out.Write(r.line)
	r.fail(err)
	r.size += len(r.line)
	r.book.line(kind, len(r.line))
}

// note writes a line that is not part of the conversation.
func (r *recording) note(kind string, members ...any) {
	entry := object{"type", kind}
	if r.agent != "" {
		entry = append(entry, "agentId", r.agent)
	}
	entry = append(entry, members...)
	if kind != "file-history-snapshot" {
		entry = append(entry, "sessionId", r.id)
	}
	r.write(kind, entry)
}

// entry writes an entry of the conversation, and returns its UUID. Members before and after its
// UUID are given.
func (r *recording) entry(kind string, before, behind object, kept keptEntry) string {
	uuid := r.uuid()
	entry := object{"parentUuid", r.parent}
	if r.parent == nil && kind == "system/compact_boundary" {
		entry = append(entry, "logicalParentUuid", before[0])
		before = before[1:]
	}
	entry = append(entry, "isSidechain", r.agent != "")
	if r.agent != "" {
		entry = append(entry, "agentId", r.agent)
	}
	entry = append(entry, before...)
	entry = append(entry, "uuid", uuid, "timestamp", r.stamp())
	entry = append(entry, behind...)
	entry = append(entry, "userType", "external", "entrypoint", "cli", "cwd", r.cwd, "sessionId", r.id,
		"version", r.version, "gitBranch", r.branch)
	r.write(kind, entry)
	if kept.answer != nil {
		r.lastLine, r.lastUsed = entry, kept.used
	}
	if r.agent == "" && len(r.kept) < maxKept {
		kept.kind, kept.entry = kind, entry
		r.kept = append(r.kept, kept)
	}
	r.parent = uuid
	return uuid
}

// user writes what goes to the model.
func (r *recording) user(content any, behind ...any) string {
	return r.entry("user", object{"promptId", r.prompt, "type", "user",
		"message", object{"role", "user", "content", content}}, behind, keptEntry{})
}

// typed writes a prompt.
func (r *recording) typed(content any) {
	if r.agent == "" {
		r.book.change(r.id, func(s *SessionTruth) { s.Prompts++ })
	}
	r.entry("user", object{"promptId", r.prompt, "type", "user", "message", object{"role", "user", "content", content}},
		object{"permissionMode", "default"}, keptEntry{typed: true})
}

func (r *recording) system(subtype string, members ...any) {
	r.entry("system/"+subtype, append(object{"type", "system", "subtype", subtype}, members...), object{"isMeta", false},
		keptEntry{})
}

// attach writes an attachment. Newer agents also write the text that the model gets.
func (r *recording) attach(kind string, rendered int, members ...any) {
	var behind object
	if r.current && rendered > 0 {
		behind = object{"rendered", []object{{"content", r.words(rendered)}}, "renderedRole", "system"}
	}
	r.entry("attachment", object{"attachment", append(object{"type", kind}, members...), "type", "attachment"}, behind,
		keptEntry{})
}

// progress writes what older agents show while a tool works.
func (r *recording) progress(tool string, data object) {
	r.entry("progress", object{"type", "progress", "data", data, "toolUseID", tool, "parentToolUseID", tool}, nil,
		keptEntry{})
}

// A text is a source of pieces.
type text struct {
	all  string
	ends []int // of its lines
}

func newText(all string) text {
	t := text{all: all}
	for i, c := range []byte(all) {
		if c == '\n' {
			t.ends = append(t.ends, i+1)
		}
	}
	return t
}

// piece takes whole lines, about n bytes.
func (t text) piece(g *generator, n int) string {
	first := g.rng.IntN(len(t.ends))
	last := first
	for last+1 < len(t.ends) && t.ends[last]-t.ends[first] < n {
		last++
	}
	if last == first {
		return t.all[:t.ends[0]]
	}
	return t.all[t.ends[first]:t.ends[last]]
}

// A Truth holds the facts about the transcripts that [Projects] has made, known from making them.
type Truth struct {
	// Sessions has the sessions by ID.
	Sessions map[string]SessionTruth
	// Agents counts the transcripts of subagents, and Spills the results in separate files.
	Agents int
	Spills int
	// Lines and Bytes are the totals of all transcripts, and ByKind the lines by type, and by
	// subtype where there is one.
	Lines  int
	Bytes  int64
	ByKind map[string]int
	// Largest is the path of the largest transcript, relative to the directory.
	Largest string

	// Answers counts the answers of the model, each once, and Tokens what they used.
	Answers int
	Tokens  Tokens
	ByModel map[string]Tokens
	// ByDay is by the day of an answer's last line, in UTC.
	ByDay map[string]Tokens
	// Naive is the sum over all lines, which counts most answers more than once.
	Naive int
}

// A SessionTruth holds the facts about one session.
type SessionTruth struct {
	// Path is the path of the main transcript, relative to the directory, and Bytes its size.
	Path  string
	Bytes int
	// Tokens counts the tokens of the answers that were given in the session, to it or to its
	// subagents.
	Tokens Tokens
	// Prompts counts the prompts that the user typed and still sees, Queued the prompts typed while
	// the agent worked, Rewinds the prompts that were taken back with everything after them, and
	// Compactions the visible compactions.
	Prompts     int
	Queued      int
	Rewinds     int
	Compactions int
}

// Tokens counts tokens by kind.
type Tokens struct{ Input, Output, CacheWrite, CacheRead int }

// Total returns the sum.
func (t Tokens) Total() int { return t.Input + t.Output + t.CacheWrite + t.CacheRead }

// Plus returns the sum of both.
func (t Tokens) Plus(o Tokens) Tokens {
	return Tokens{t.Input + o.Input, t.Output + o.Output, t.CacheWrite + o.CacheWrite, t.CacheRead + o.CacheRead}
}

// An answered is one answer of the model, wherever it stands.
type answered struct {
	tokens  Tokens
	model   string
	day     string
	session string
}

// A book keeps what is true while transcripts are made.
type book struct {
	t       Truth
	answers []*answered
	largest int
}

func newBook() *book {
	return &book{t: Truth{
		Sessions: map[string]SessionTruth{}, ByKind: map[string]int{}, ByModel: map[string]Tokens{},
		ByDay: map[string]Tokens{},
	}}
}

// truth adds up the answers.
func (b *book) truth() *Truth {
	b.t.Answers = len(b.answers)
	for _, a := range b.answers {
		b.t.Tokens = b.t.Tokens.Plus(a.tokens)
		b.t.ByModel[a.model] = b.t.ByModel[a.model].Plus(a.tokens)
		b.t.ByDay[a.day] = b.t.ByDay[a.day].Plus(a.tokens)
		b.change(a.session, func(s *SessionTruth) { s.Tokens = s.Tokens.Plus(a.tokens) })
	}
	return &b.t
}

func (b *book) change(session string, change func(*SessionTruth)) {
	s := b.t.Sessions[session]
	change(&s)
	b.t.Sessions[session] = s
}

func (b *book) session(r *recording) {
	b.change(r.id, func(s *SessionTruth) { s.Path = filepath.Join(r.project, r.id+".jsonl") })
}

// line takes note of a line.
func (b *book) line(kind string, size int) {
	b.t.Lines++
	b.t.Bytes += int64(size)
	b.t.ByKind[kind]++
}

// file takes note of a transcript that is complete.
func (b *book) file(r *recording) {
	if r.agent != "" {
		b.t.Agents++
		return
	}
	b.change(r.id, func(s *SessionTruth) { s.Bytes = r.size })
	if r.size > b.largest {
		b.largest, b.t.Largest = r.size, b.t.Sessions[r.id].Path
	}
}
