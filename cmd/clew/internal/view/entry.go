package view

import (
	"cmp"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// An Entry is a session of the list.
type Entry struct {
	Described
	// Read means that the session has its summary.
	Read bool
	// Figures are the session's figures, or nil if they were not counted.
	Figures *Figures
}

// A Described session has its texts as the list needs them.
type Described struct {
	sessions.SessionInfo
	// Name is the title, or why there is none. It is clean, and "" if the session was not read.
	Name string
	// ProjectName is the name of its project. It is clean.
	ProjectName string

	text fuzzy.Text
}

// Named returns a session that was read with its names, for lists without a filter.
func Named(info sessions.SessionInfo) Described {
	d := Described{SessionInfo: info, ProjectName: tty.Line(render.ProjectName(info.Directory(), info.Project))}
	d.Name = cmp.Or(TitleOf(&info.Summary), "(no title)")
	if info.Err != nil {
		d.Name = tty.Line("cannot read: " + info.Err.Error())
	}
	return d
}

// TitleOf returns the title of a session, cleaned and in one line, or "". It marks the title of a
// fork.
func TitleOf(s *sessions.Summary) string {
	title := tty.Line(s.Title())
	if s.ForkedFrom == "" || title == "" || strings.HasSuffix(title, "(fork)") {
		return title
	}
	return "fork: " + title
}

// TitleOfOpen is [TitleOf] for a session whose transcript is being read, which may have a newer title.
// t may be nil.
func TitleOfOpen(s *sessions.Summary, t *transcript.Transcript) string {
	now := *s
	if t != nil {
		now.CustomTitle, now.AITitle, now.Recap = cmp.Or(t.Title, s.CustomTitle), cmp.Or(t.AITitle, s.AITitle), cmp.Or(t.Recap, s.Recap)
	}
	return TitleOf(&now)
}

// Describe prepares all texts of a session that was read.
func Describe(info sessions.SessionInfo) Described {
	d := Named(info)
	parts := []string{d.Name, d.ProjectName, tty.Line(render.BranchName(info.GitBranch)), tty.Line(info.Tag), tty.Line(info.ID)}
	for _, prompt := range []string{info.FirstPrompt, info.LastPrompt} {
		if prompt = tty.Line(prompt); !strings.HasPrefix(prompt, d.Name) {
			parts = append(parts, prompt)
		}
	}
	d.text = fuzzy.Prepare(strings.Join(parts, "\n"))
	return d
}

// FilterText returns the text that a filter searches. It starts with the name.
func (d *Described) FilterText() fuzzy.Text { return d.text }

// Key identifies a session. Several projects may have one with the same ID.
func (e *Entry) Key() string { return cmp.Or(e.Path, e.ID) }

// Hidden reports whether the session is not worth listing.
func (e *Entry) Hidden() bool { return e.Read && !e.Listed() }

// Figures holds the counts for a session.
type Figures struct {
	Size   int64 // of the transcript at that time
	Bytes  int64 // of all transcripts that were counted
	Failed bool  // it could not be read
	Turns  int
	Tokens int
	Files  int // changed ones
	Costs  usage.Costs
}

// DescribeAll describes sessions.
func DescribeAll(infos []sessions.SessionInfo) []Described {
	all := make([]Described, len(infos))
	for i, info := range infos {
		all[i] = Describe(info)
	}
	return all
}

// CountAll counts the figures of sessions at list prices.
func CountAll(infos []sessions.SessionInfo, figures []sessions.Figures) []*Figures {
	all, prices := make([]*Figures, len(figures)), pricelist.Current()
	for i := range figures {
		all[i] = Count(&infos[i], &figures[i], prices)
	}
	return all
}

// Count returns the figures of a session.
func Count(info *sessions.SessionInfo, f *sessions.Figures, prices usage.Prices) *Figures {
	n := &Figures{
		Size: info.Size, Bytes: f.Bytes, Failed: f.Err != nil, Turns: f.Turns, Files: f.FilesChanged,
		Costs: usage.Cost(f.Calls, prices),
	}
	for i := range f.Calls {
		n.Tokens += f.Calls[i].Usage.TotalTokens()
	}
	return n
}

// maxCounted is the size of the largest transcript that is counted for a list.
const maxCounted = 256 << 20

// Uncounted reports whether the session's figures can be counted, and are not up to date with the
// file.
func (e *Entry) Uncounted() bool {
	return e.Read && e.Err == nil && e.Path != "" && e.Size <= maxCounted && (e.Figures == nil || e.Figures.Size != e.Size)
}

// counted reports whether the session has figures, which can be counted again.
func (e *Entry) counted() bool {
	return e.Path != "" && e.Size <= maxCounted && e.Figures != nil && !e.Figures.Failed
}

// Turns returns the number of turns as text, or "".
func (e *Entry) Turns() string {
	if e.Figures == nil || e.Figures.Failed {
		return ""
	}
	return wording.Count(e.Figures.Turns, "turn")
}

// Cost returns the cost as text, or "".
func (e *Entry) Cost() string {
	if e.Figures == nil || e.Figures.Failed || e.Figures.Tokens == 0 {
		return ""
	}
	return wording.CostOfCalls(e.Figures.Costs).Cents()
}

// FilesChanged returns the number of changed files as text, or "".
func (e *Entry) FilesChanged() string {
	if e.Figures == nil || e.Figures.Files == 0 {
		return ""
	}
	return wording.Count(e.Figures.Files, "file")
}

// Tokens returns the number of tokens as text, or "".
func (e *Entry) Tokens() string {
	if e.Figures == nil || e.Figures.Tokens == 0 {
		return ""
	}
	return wording.Tokens(e.Figures.Tokens)
}

// ShortID returns the start of an ID. It is clean.
func ShortID(id string) string { return tty.Line(id[:min(8, len(id))]) }
