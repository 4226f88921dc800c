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

	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/internal/render"
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
	Chunks []transcript.Chunk `json:"chunks"`
	// Branches are the rewound messages.
	Branches []transcript.Branch `json:"branches,omitempty"`
	// Unlinked are the subagents whose starting item is not known.
	Unlinked []*transcript.Agent `json:"unlinked_agents,omitempty"`
}

// Options select the content of a document. Nil and the zero value mean the whole conversation,
// without branches.
type Options struct {
	// Chunks are the chunks to include. Nil means all.
	Chunks []transcript.Chunk
	// Branches includes the rewound messages.
	Branches bool
	// Images returns the images in the result of a call that has some. agent is the ID of the
	// subagent that made the call, or "". Nil means no images.
	Images func(agent string, item *transcript.DisplayItem) []transcript.Image
	// Release empties the chunks of the transcript as they are taken, so that a long session is not
	// in memory twice. The transcript can't be used afterwards.
	Release bool
	// Output returns the complete output of a call whose result was too long for the conversation,
	// or "". Nil means no output.
	Output func(item *transcript.DisplayItem) string
}

// New returns the document of a transcript. They share their texts. Turns without numbers are numbered.
func New(t *transcript.Transcript, opts *Options) *Document {
	m := &copier{}
	if opts != nil {
		m.Options = *opts
	}
	if m.Chunks == nil {
		m.Chunks = t.Chunks
	}
	prices := pricelist.Current()
	m.agent = t.AgentID
	costs := turnCosts(t) // before chunks are released
	doc := &Document{
		Format: Format, SessionID: t.SessionID, AgentID: t.AgentID, Title: render.GivenTitle(t),
		Tag: t.Tag, CWD: t.CWD, GitBranch: t.GitBranch, Version: t.Version, Model: t.Model,
		Created: t.Created, Modified: t.Modified,
		Totals:     usage.NewReport(t.Calls(), &usage.ReportOptions{Prices: &prices}).Total,
		PricesDate: prices.Date,
		Chunks:     m.chunks(m.Chunks),
		Branches:   m.branches(t),
		Unlinked:   m.agents(t.Unlinked),
	}
	for i := range doc.Chunks {
		if c := &doc.Chunks[i]; c.Type == transcript.UserChunk && c.Turn > 0 && costs[c.Turn] != nil {
			c.Cost = costs[c.Turn]
		}
	}
	return doc
}

// A copier copies the chunks of an agent for a document, or of the session if agent is "".
type copier struct {
	Options
	agent string
}

func (m *copier) chunks(chunks []transcript.Chunk) []transcript.Chunk {
	made := make([]transcript.Chunk, len(chunks))
	for i := range chunks {
		made[i] = chunks[i]
		if m.Release {
			chunks[i] = transcript.Chunk{Type: chunks[i].Type}
		} else {
			made[i].Items = slices.Clone(made[i].Items)
		}
		for k := range made[i].Items {
			m.complete(&made[i].Items[k])
		}
	}
	transcript.Number(made)
	return made
}

// complete adds what only documents have to an item.
func (m *copier) complete(i *transcript.DisplayItem) {
	i.Agents = m.agents(i.Agents)
	if i.ResultImages > 0 && m.Images != nil {
		i.Images = m.Images(m.agent, i)
	}
	if path, ok := transcript.SpillPath(i); ok {
		i.SpillPath = path
		if m.Output != nil {
			i.Output = m.Output(i)
		}
	}
}

func (m *copier) agents(agents []*transcript.Agent) []*transcript.Agent {
	var made []*transcript.Agent
	for _, a := range agents {
		if a != nil { // a document from elsewhere may have null
			made = append(made, m.subagent(a))
		}
	}
	return made
}

func (m *copier) subagent(a *transcript.Agent) *transcript.Agent {
	made := &transcript.Transcript{Info: transcript.Info{AgentID: a.ID}}
	cost := a.Cost
	if t := a.Transcript; t != nil {
		inside := &copier{Options: m.Options, agent: a.ID}
		inside.Release = false // several calls can have the same subagent
		made.Chunks, made.Branches = inside.chunks(t.Chunks), inside.branches(t)
		cost = cmp.Or(newCost(t.Calls()), cost)
	}
	return &transcript.Agent{
		ID: a.ID, Meta: transcript.AgentMeta{AgentType: a.Type(), Description: a.Description()}, LinkedBy: a.LinkedBy,
		Workflow: a.Workflow, Cost: cost, Transcript: made,
	}
}

func (m *copier) branches(t *transcript.Transcript) []transcript.Branch {
	if !m.Options.Branches {
		return nil
	}
	var made []transcript.Branch
	for i := range t.Branches {
		b := &t.Branches[i]
		made = append(made, transcript.Branch{FromLine: b.FromLine, Chunks: m.chunks(b.Chunks)})
	}
	return made
}

// Select returns a document with some chunks of d. t is d.Transcript, or the transcript of one of
// its subagents. Images and Output of opts are ignored: they come from d, as does the cost of
// subagents. So do the totals and the cost of turns, unless t is a subagent's.
func (d *Document) Select(t *transcript.Transcript, opts *Options) *Document {
	chosen := *opts
	chosen.Images, chosen.Output = nil, nil
	selected := New(t, &chosen)
	selected.Redacted = d.Redacted
	if t.AgentID == d.AgentID {
		selected.Totals, selected.PricesDate = d.Totals, d.PricesDate
	}
	return selected
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
func (p *page) hasRoom(image *transcript.Image) bool {
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
	imageType = reflect.TypeFor[[]transcript.Image]()
)

// value redacts all strings in a value. It uses reflection, so that a member which is added to
// documents later is redacted as well. Lists and pointers are copied, since transcripts share them.
func (r redactor) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			copied := reflect.New(v.Type().Elem())
			copied.Elem().Set(v.Elem())
			r.value(copied.Elem())
			v.Set(copied)
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
	if v.Type() == imageType && v.Len() > 0 {
		r.Count("picture", v.Len())
		v.SetZero()
	}
	if v.Len() == 0 || v.Type().Elem().Kind() == reflect.Int {
		return
	}
	copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(copied, v)
	v.Set(copied)
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
