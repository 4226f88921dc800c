// Package export writes sessions as an HTML page, Markdown or JSON. It is pure: a transcript
// becomes a [Document], and the document is written to a writer. [Redact] changes the document and
// not its output, so that no format can miss a redaction, and highlighting can't split a key that a
// rule looks for.
//
//	doc := export.New(t, nil)
//	export.Redact(doc, new(redact.Redactor))
//	err := export.Write(ctx, w, doc, export.HTML, nil)
//
// [Read] reads a document in JSON.
//
// All texts of a transcript are untrusted. On a page they are escaped, and a content security
// policy forbids remote content and all scripts but the page's own, which finds, expands and
// copies.
package export

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// Format is the first field of a document in JSON. The number changes when older readers would
// misunderstand the new format.
const Format = "clew-session/1"

// A Document is a session, or some turns of one, for export. "clew export --format json" writes it
// as JSON, and [Read] reads that. Empty members may be omitted, and readers ignore unknown ones.
type Document struct {
	Format    string    `json:"format"`             // the constant Format
	SessionID string    `json:"session_id"`         // ID of the session
	AgentID   string    `json:"agent_id,omitempty"` // ID of the subagent, in a document of one
	Title     string    `json:"title"`              // the user's title, or else the agent's
	Tag       string    `json:"tag,omitempty"`      // the user's tag
	CWD       string    `json:"cwd"`                // working directory of the agent
	GitBranch string    `json:"git_branch"`         // branch that was checked out there
	Version   string    `json:"version"`            // version of the agent, such as "2.1.325"
	Model     string    `json:"model"`              // model of the last answer
	Created   time.Time `json:"created,omitzero"`   // time of the first entry
	Modified  time.Time `json:"modified,omitzero"`  // time of the last entry
	// Totals are the tokens and the cost of the whole session, including subagents.
	Totals usage.Totals `json:"totals"`
	// PricesDate is the date of the prices of the cost, such as "2026-11-15".
	PricesDate string `json:"prices_date,omitempty"`
	// Redacted counts the removed texts by rule. Nil means that the document was not redacted.
	Redacted map[string]int `json:"redacted,omitempty"`
	// Chunks are the conversation, in order.
	Chunks []Chunk `json:"chunks"`
	// Branches are the rewound messages.
	Branches []Branch `json:"branches,omitempty"`
	// Unlinked are the subagents whose starting item is not known.
	Unlinked []Agent `json:"unlinked_agents,omitempty"`
}

// A Chunk is a prompt, an answer, a notice or a compaction.
type Chunk struct {
	// Turn is the number of the prompt that the chunk belongs to, or 0 before the first one.
	Turn int `json:"turn"`
	// Type is user, ai, system or compact.
	Type transcript.ChunkType `json:"type"`
	Time time.Time            `json:"time,omitzero"` // time of its first entry
	// Text is the prompt, the answer, the output of a command, or the summary of a compaction.
	Text       string `json:"text"`
	Model      string `json:"model,omitempty"`       // model of an answer
	StopReason string `json:"stop_reason,omitempty"` // why an answer ended, such as "end_turn"
	DurationMS int64  `json:"duration_ms,omitempty"` // how long an answer took
	// Usage is the usage of the last model call. It shows how full the context was.
	Usage       *Usage      `json:"usage,omitempty"`
	Images      int         `json:"images,omitempty"`      // number of images in a prompt
	Documents   int         `json:"documents,omitempty"`   // number of documents in a prompt
	Queued      bool        `json:"queued,omitempty"`      // typed while the agent worked
	Stderr      string      `json:"stderr,omitempty"`      // error output of a command
	IsError     bool        `json:"is_error,omitempty"`    // the text reports an error
	Interrupted bool        `json:"interrupted,omitempty"` // the user interrupted the answer
	Compaction  *Compaction `json:"compaction,omitempty"`  // set for a compaction
	Cost        *Cost       `json:"cost,omitempty"`        // of the turn that a prompt starts, in the main conversation
	Items       []Item      `json:"items,omitempty"`       // elements of an answer, in order
	// Injected are texts that the agent added for the model.
	Injected []string `json:"injected,omitempty"`
	// FirstLine and LastLine are the lines of the chunk in the transcript.
	FirstLine int `json:"first_line,omitempty"`
	LastLine  int `json:"last_line,omitempty"` // see FirstLine
}

// Usage counts the tokens of one model call.
type Usage struct {
	InputTokens         int `json:"input_tokens"`          // neither read from the cache nor written to it
	OutputTokens        int `json:"output_tokens"`         // thinking included
	CacheReadTokens     int `json:"cache_read_tokens"`     // read from the cache
	CacheCreationTokens int `json:"cache_creation_tokens"` // written to the cache
}

// A Compaction describes how the context was compacted.
type Compaction struct {
	Trigger    string `json:"trigger"`               // "manual" or "auto"
	PreTokens  int    `json:"pre_tokens"`            // tokens in the context before
	PostTokens int    `json:"post_tokens"`           // tokens in the context after
	DurationMS int64  `json:"duration_ms,omitempty"` // how long it took
}

// An Item is one element of an answer.
type Item struct {
	// Type is thinking, output, tool, subagent or teammate.
	Type transcript.DisplayItemType `json:"type"`
	Time time.Time                  `json:"time,omitzero"`  // time of its entry
	Text string                     `json:"text,omitempty"` // thinking, output, or message of a teammate

	Tool    string    `json:"tool,omitempty"`    // name of the tool, such as "Bash"
	ToolID  string    `json:"tool_id,omitempty"` // ID of the call
	Summary string    `json:"summary,omitempty"` // the call in one line
	Input   wire.JSON `json:"input,omitempty"`   // input of the call
	// Result is the text that the model received.
	Result    string `json:"result,omitempty"`
	HasResult bool   `json:"has_result,omitempty"` // the call has a result, maybe an empty one
	IsError   bool   `json:"is_error,omitempty"`   // the result is an error
	// Structured is the structured result of the tool, unless it is long.
	Structured wire.JSON `json:"structured,omitempty"`
	Patch      wire.JSON `json:"patch,omitempty"`  // change of a file
	Status     string    `json:"status,omitempty"` // status in the structured result, such as "completed"
	// Output is the complete output if the model received only the beginning.
	Output     string `json:"output,omitempty"`
	OutputPath string `json:"output_path,omitempty"` // file of that output
	// Images are the images in the result, without images that are too large or of another type.
	Images     []Image  `json:"images,omitempty"`
	ImageCount int      `json:"image_count,omitempty"` // number of all images
	Injected   []string `json:"injected,omitempty"`    // texts that the agent added for the model
	DurationMS int64    `json:"duration_ms,omitempty"` // how long the call took
	Tokens     int      `json:"tokens,omitempty"`      // an estimate

	SubagentType string  `json:"subagent_type,omitempty"` // type that the call asked for
	Description  string  `json:"description,omitempty"`   // description that the call gave
	AgentID      string  `json:"agent_id,omitempty"`      // ID of the subagent, from the result
	Agents       []Agent `json:"agents,omitempty"`        // subagents that the call started

	Teammate        string `json:"teammate,omitempty"`         // name of the teammate that wrote
	TeammateColor   string `json:"teammate_color,omitempty"`   // color of that teammate
	TeammateSummary string `json:"teammate_summary,omitempty"` // summary that came with the message
}

// shownResult returns what a person has to see of the result.
func (i *Item) shownResult() string {
	text := cmp.Or(i.Output, i.Result)
	if i.Type == transcript.ItemSubagent {
		return transcript.AgentReport(text)
	}
	return text
}

// An Image is an image in a tool result.
type Image struct {
	// MediaType is image/png, image/jpeg, image/gif or image/webp.
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64 in JSON
}

// An Agent is a subagent.
type Agent struct {
	ID          string `json:"id"`          // ID of the subagent
	Type        string `json:"type"`        // such as "general-purpose"
	Description string `json:"description"` // what it was started for
	// LinkedBy is the way in which its call was found: see [transcript.LinkedBy].
	LinkedBy string   `json:"linked_by,omitempty"`
	Workflow string   `json:"workflow,omitempty"` // ID of the workflow that it is part of
	Cost     *Cost    `json:"cost,omitempty"`     // of its model calls, including its subagents'
	Chunks   []Chunk  `json:"chunks"`             // its conversation
	Branches []Branch `json:"branches,omitempty"` // its rewound messages
}

// A Branch has the messages that a rewind removed from the conversation.
type Branch struct {
	// FromLine is the line of the transcript before the branch, or 0.
	FromLine int     `json:"from_line"`
	Chunks   []Chunk `json:"chunks"` // the removed messages
}

// Options select the content of a document. Nil and the zero value mean the whole conversation,
// without branches.
type Options struct {
	// Chunks are the chunks to include. Nil means all.
	Chunks []transcript.Chunk
	Turn   int // turn of the first of Chunks
	// Branches includes the rewound messages.
	Branches bool
	// Images returns the images in the result of a call that has some. agent is the ID of the
	// subagent that made the call, or "". Nil means no images.
	Images func(agent string, item *transcript.DisplayItem) []Image
	// Release empties the chunks of the transcript as they are converted, so that a long session is
	// not in memory twice. The transcript can't be used afterwards.
	Release bool
	// Output returns the complete output of a call whose result was too long for the conversation,
	// or "". Nil means no output.
	Output func(item *transcript.DisplayItem) string
}

// New returns the document of a transcript. They share their strings.
func New(t *transcript.Transcript, opts *Options) *Document {
	m := &converter{}
	if opts != nil {
		m.Options = *opts
	}
	if m.Chunks == nil {
		m.Chunks, m.Turn = t.Chunks, firstTurn(t.Chunks)
	}
	prices := usage.DefaultPrices()
	m.agent = t.AgentID
	costs := turnCosts(t) // before chunks are released
	doc := &Document{
		Format: Format, SessionID: t.SessionID, AgentID: t.AgentID, Title: cmp.Or(t.Title, t.AITitle, t.Recap),
		Tag: t.Tag, CWD: t.CWD, GitBranch: t.GitBranch, Version: t.Version, Model: t.Model,
		Created: t.Created, Modified: t.Modified,
		Totals:     usage.NewReport(t.Calls(), &usage.ReportOptions{Prices: &prices}).Total,
		PricesDate: prices.Date,
		Chunks:     m.chunks(m.Chunks, m.Turn),
		Branches:   m.branches(t),
		Unlinked:   m.agents(t.Unlinked),
	}
	doc.addCosts(costs)
	return doc
}

func firstTurn(chunks []transcript.Chunk) int {
	if len(chunks) > 0 && chunks[0].Type == transcript.UserChunk {
		return 1
	}
	return 0
}

// A converter makes a document from the transcript of an agent, or of the session if agent is "".
type converter struct {
	Options
	agent string
}

// chunks converts chunks. turn is the turn of the first one.
func (m *converter) chunks(chunks []transcript.Chunk, turn int) []Chunk {
	made := make([]Chunk, 0, len(chunks))
	for i := range chunks {
		if i > 0 && chunks[i].Type == transcript.UserChunk {
			turn++
		}
		made = append(made, m.chunk(&chunks[i], turn))
		if m.Release {
			chunks[i] = transcript.Chunk{Type: chunks[i].Type}
		}
	}
	return made
}

func (m *converter) chunk(c *transcript.Chunk, turn int) Chunk {
	made := Chunk{
		Turn: turn, Type: c.Type, Time: c.Timestamp, Text: c.Text, Model: c.Model, StopReason: c.StopReason,
		DurationMS: c.DurationMs, Usage: newUsage(&c.Usage), Images: c.Images, Documents: c.Documents, Queued: c.Queued,
		Stderr: c.Stderr, IsError: c.IsError, Interrupted: c.Interrupted, Injected: c.Injected,
	}
	for _, line := range c.Lines {
		made.LastLine = max(made.LastLine, line)
		if made.FirstLine == 0 || line < made.FirstLine {
			made.FirstLine = line
		}
	}
	if k := c.Compaction; k != nil {
		made.Compaction = &Compaction{k.Trigger, k.PreTokens, k.PostTokens, k.Duration.Milliseconds()}
	}
	for i := range c.Items {
		made.Items = append(made.Items, m.item(&c.Items[i]))
	}
	return made
}

func newUsage(u *usage.Usage) *Usage {
	if u.TotalTokens() == 0 {
		return nil
	}
	return &Usage{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens}
}

func (m *converter) item(i *transcript.DisplayItem) Item {
	made := Item{
		Type: i.Type, Time: i.Timestamp, Text: i.Text, Tool: i.ToolName, ToolID: i.ToolID, Summary: i.ToolSummary,
		Input: i.ToolInput, Result: i.ToolResult, HasResult: i.HasResult, IsError: i.ToolError, Structured: i.Structured,
		Patch: i.Patch, Status: i.Status, ImageCount: i.ResultImages, Injected: i.Injected, DurationMS: i.DurationMs,
		Tokens: i.TokenCount, SubagentType: i.SubagentType, Description: i.SubagentDesc, AgentID: i.AgentID,
		Teammate: i.TeammateID, TeammateColor: i.TeammateColor, TeammateSummary: i.TeammateSummary,
		Agents: m.agents(i.Agents),
	}
	if i.ResultImages > 0 && m.Images != nil {
		made.Images = m.Images(m.agent, i)
	}
	if path, ok := transcript.SpillPath(i); ok {
		made.OutputPath = path
		if m.Output != nil {
			made.Output = m.Output(i)
		}
	}
	return made
}

func (m *converter) agents(agents []*transcript.Agent) []Agent {
	var made []Agent
	for _, a := range agents {
		made = append(made, m.subagent(a))
	}
	return made
}

func (m *converter) subagent(a *transcript.Agent) Agent {
	made := Agent{
		ID: a.ID, Type: a.Type(), Description: a.Description(), LinkedBy: string(a.LinkedBy), Workflow: a.Workflow,
		Chunks: []Chunk{},
	}
	if t := a.Transcript; t != nil {
		inside := &converter{Options: m.Options, agent: a.ID}
		inside.Release = false // several calls can have the same subagent
		made.Cost = newCost(t.Calls())
		made.Chunks = inside.chunks(t.Chunks, firstTurn(t.Chunks))
		made.Branches = inside.branches(t)
	}
	return made
}

func (m *converter) branches(t *transcript.Transcript) []Branch {
	if !m.Options.Branches {
		return nil
	}
	var made []Branch
	for i := range t.Branches {
		b := &t.Branches[i]
		made = append(made, Branch{FromLine: b.FromLine, Chunks: m.chunks(b.Chunks, firstTurn(b.Chunks))})
	}
	return made
}

// Select returns a document with some chunks of d. t is d.Transcript, or the transcript of one of
// its subagents. Images and Output of opts are ignored: they come from d, as does the cost of
// subagents. So do the totals and the cost of turns, unless t is a subagent's.
func (d *Document) Select(t *transcript.Transcript, opts *Options) *Document {
	kept := map[string]*Item{}
	d.eachItem(func(i *Item) {
		if len(i.Images) > 0 || i.Output != "" {
			kept[i.ToolID] = i
		}
	})
	chosen := *opts
	chosen.Images = func(_ string, item *transcript.DisplayItem) []Image {
		if i := kept[item.ToolID]; i != nil {
			return i.Images
		}
		return nil
	}
	chosen.Output = func(item *transcript.DisplayItem) string {
		if i := kept[item.ToolID]; i != nil {
			return i.Output
		}
		return ""
	}
	selected := New(t, &chosen)
	selected.Redacted = d.Redacted
	if t.AgentID == d.AgentID {
		selected.Totals, selected.PricesDate = d.Totals, d.PricesDate
		selected.addCosts(d.costs())
	}
	selected.addAgentCosts(d)
	return selected
}

// eachItem calls f for all items of a document, including those in branches and subagents.
func (d *Document) eachItem(f func(*Item)) {
	eachOf(d.Chunks, d.Branches, f)
	for i := range d.Unlinked {
		eachOf(d.Unlinked[i].Chunks, d.Unlinked[i].Branches, f)
	}
}

func eachOf(chunks []Chunk, branches []Branch, f func(*Item)) {
	for i := range chunks {
		for j := range chunks[i].Items {
			item := &chunks[i].Items[j]
			f(item)
			for k := range item.Agents {
				eachOf(item.Agents[k].Chunks, item.Agents[k].Branches, f)
			}
		}
	}
	for i := range branches {
		eachOf(branches[i].Chunks, nil, f)
	}
}

// redactedText lists how much each rule removed.
func redactedText(found map[string]int, n int) string {
	if n == 0 {
		return "nothing was found"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, found[name]))
	}
	return strings.Join(parts, ", ")
}

const (
	maxPage     = 10_000_000 // bytes of a page that is not shown in full
	minText     = 256        // the smallest limit for a text of a tool
	maxContents = 2000       // turns in the table of contents
	maxTodos    = 200        // in one list
)

// bounds limit a page to a size that a browser opens quickly. Tool inputs and results are cut.
// Prompts, answers and the names of calls, which people read first, are not. The zero value cuts
// nothing.
type bounds struct {
	page     int  // bytes of the page
	most     int  // bytes of an input or a result of a tool
	lines    int  // lines of a diff
	pictures int  // bytes of images that still fit
	noImages bool // the caller shows them
	ends     bool // whether the page ends when it is full
	left     int  // elements that were omitted, since the page ended
}

// errPageFull ends an attempt to write a page.
var errPageFull = errors.New("export: the page is too long")

func writeHTML(ctx context.Context, w io.Writer, d *Document, view *View) error {
	p := newPage(ctx, w, d, view)
	if view.Full {
		return p.write()
	}
	return p.writeBounded(w, maxPage)
}

// writeBounded tries smaller and smaller bounds until the page is not larger than size. With the
// smallest ones the page ends when it is full. Markdown is converted once.
func (p *page) writeBounded(w io.Writer, size int) error {
	b := bounds{page: size, most: maxText, lines: maxDiffLines, pictures: size / 2}
	p.made = map[proseKey]string{}
	var text bytes.Buffer
	for {
		attempt, tried := *p, b
		attempt.markup, attempt.bounds = newMarkup(&text), &tried
		err := attempt.write()
		if err == nil {
			break
		}
		if !errors.Is(err, errPageFull) {
			return err
		}
		text.Reset()
		b.most, b.lines = b.most/2, b.lines/2
		b.ends = b.most <= minText
	}
	_, err := text.WriteTo(w)
	return err
}

// full reports whether nothing more fits. The last tenth of a page that ends early is reserved for
// open elements.
func (p *page) full() bool {
	if p.err == nil {
		p.err = p.stopped()
	}
	switch {
	case p.err != nil:
		return true
	case p.page == 0:
		return false
	case p.ends:
		if p.size < p.page-p.page/10 {
			return false
		}
		p.left++
		return true
	case p.size > p.page:
		p.err = errPageFull
	}
	return p.err != nil
}

// hasRoom reports whether an image fits.
func (p *page) hasRoom(image *Image) bool {
	size := len(image.Data) / 3 * 4
	if p.page > 0 && size > p.pictures {
		return false
	}
	p.pictures -= size
	return true
}

// cutNote writes a note if inputs and results were cut.
func (p *page) cutNote() {
	if p.page > 0 && p.most < maxText {
		p.element("p", `class="missing"`, "This session is long: only the first "+wording.Size(p.most)+
			" of each input and result of a tool are shown. Use --full to show everything.")
	}
}

// endNote writes a note if the page ends early.
func (p *page) endNote() {
	if p.left > 0 {
		p.element("p", `class="missing"`, "The page is full: "+wording.Count(p.left, "more element")+
			" not shown. Use --turn to select turns, or --full to show everything.")
	}
}

// Redact removes secrets and personal data from a document, and sets [Document.Redacted] to its
// findings. Images are removed as well, since their content is unknown.
func Redact(d *Document, r *redact.Redactor) {
	redactor{r}.value(reflect.ValueOf(d).Elem())
	d.Redacted = r.Counts()
}

// A redactor goes through all values of a document.
type redactor struct{ *redact.Redactor }

var (
	jsonType  = reflect.TypeFor[wire.JSON]()
	imageType = reflect.TypeFor[[]Image]()
)

// value redacts all strings in a value. It uses reflection, so that a member which is added to
// documents later is redacted as well. Lists of strings are copied, since transcripts share them.
func (r redactor) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			r.value(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				r.value(field)
			}
		}
	case reflect.Slice:
		r.list(v)
	case reflect.String:
		r.text(v)
	}
}

func (r redactor) list(v reflect.Value) {
	switch {
	case v.Type() == imageType:
		if v.Len() > 0 {
			r.Count("picture", v.Len())
			v.SetZero()
		}
		return
	case v.Type().Elem().Kind() == reflect.String:
		if texts, ok := v.Interface().([]string); ok {
			v.Set(reflect.ValueOf(slices.Clone(texts)))
		}
	}
	for i := range v.Len() {
		r.value(v.Index(i))
	}
}

func (r redactor) text(v reflect.Value) {
	old := v.String()
	changed := ""
	if v.Type() == jsonType {
		changed = r.JSON(old)
	} else {
		changed = r.Text(old)
	}
	if changed != old {
		v.SetString(changed)
	}
}
