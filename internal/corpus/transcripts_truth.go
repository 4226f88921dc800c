package corpus

import "path/filepath"

// A Truth is what is true of the transcripts that [Projects] has made, known from making them.
type Truth struct {
	// Sessions has the sessions by ID.
	Sessions map[string]SessionTruth
	// Agents counts the transcripts of subagents, and Spills the results in files of their own.
	Agents int
	Spills int
	// Lines and Bytes are those of all transcripts, and ByKind the lines by type, and by subtype where there is one.
	Lines  int
	Bytes  int64
	ByKind map[string]int
	// Largest is the path of the largest transcript, below the folder.
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

// A SessionTruth is what is true of one session.
type SessionTruth struct {
	// Path is that of the main transcript, below the folder, and Bytes its size.
	Path  string
	Bytes int
	// Tokens are those of the answers that were given in the session, to it or to its subagents.
	Tokens Tokens
	// Prompts counts what the user has typed and still sees, Queued what besides that was typed while the agent worked,
	// Rewinds the prompts that were taken back with all that followed, and Compactions those that the user sees.
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
