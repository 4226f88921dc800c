package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// ErrFormat means that a text is not a document, or has a newer format.
var ErrFormat = errors.New("export: not a document of this format")

// IsDocument reports whether a text may be a document in JSON, by its first bytes. About 30 bytes
// are enough, and 100 are examined.
func IsDocument(head []byte) bool {
	var b strings.Builder
	for _, c := range head[:min(len(head), 100)] {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			b.WriteByte(c)
		}
	}
	return strings.HasPrefix(b.String(), `{"format":"clew-session/`)
}

// Read reads a document in JSON. The error wraps [ErrFormat] if the text is not a document.
// Otherwise it is the reader's error.
func Read(r io.Reader) (*Document, error) {
	doc := new(Document)
	dec := json.NewDecoder(r)
	if err := dec.Decode(doc); err != nil {
		return nil, readError(err)
	}
	if doc.Format != Format {
		return nil, fmt.Errorf("%w: it is %q, and this program knows %q", ErrFormat, doc.Format, Format)
	}
	return doc, nil
}

func readError(err error) error {
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax), errors.As(err, &mistyped),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

// writeJSON writes a document as one line. It encodes chunks one by one, so that a long session is
// not in memory twice.
func writeJSON(ctx context.Context, w io.Writer, d *Document) error {
	head := *d
	head.Chunks = []Chunk{}
	text, err := marshal(head)
	if err != nil {
		return err
	}
	before, after, _ := strings.Cut(string(text), `"chunks":[]`)
	out := &lineWriter{w: w}
	out.write(before + `"chunks":[`)
	for i := range d.Chunks {
		if i > 0 {
			out.write(",")
		}
		out.encode(&d.Chunks[i])
		if out.err = cmp.Or(out.err, ctx.Err()); out.err != nil {
			return out.err
		}
	}
	out.write("]" + after + "\n")
	return out.err
}

// A lineWriter writes JSON without line ends, and keeps the first error.
type lineWriter struct {
	w   io.Writer
	err error
}

func (l *lineWriter) write(text string) {
	if l.err == nil {
		_, l.err = io.WriteString(l.w, text)
	}
}

func (l *lineWriter) encode(v any) {
	if l.err != nil {
		return
	}
	text, err := marshal(v)
	if l.err = err; err == nil {
		_, l.err = l.w.Write(text)
	}
}

// marshal returns v as JSON that is safe for a terminal.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return tty.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// Transcript returns the transcript of the document. It lacks data that the document does not have:
// the model calls, from which totals are computed, and positions in files.
func (d *Document) Transcript() *transcript.Transcript {
	return &transcript.Transcript{
		Chunks: restoreChunks(d.Chunks), Branches: restoreBranches(d.Branches), Unlinked: restoreAgents(d.Unlinked),
		Info: transcript.Info{
			SessionID: d.SessionID, AgentID: d.AgentID, Title: d.Title, Tag: d.Tag, CWD: d.CWD, GitBranch: d.GitBranch,
			Version: d.Version, Model: d.Model, Created: d.Created, Modified: d.Modified,
		},
	}
}

func restoreChunks(chunks []Chunk) []transcript.Chunk {
	restored := make([]transcript.Chunk, 0, len(chunks))
	for i := range chunks {
		restored = append(restored, chunks[i].restore())
	}
	return restored
}

func (c *Chunk) restore() transcript.Chunk {
	restored := transcript.Chunk{
		Type: c.Type, Timestamp: c.Time, Text: c.Text, Model: c.Model, StopReason: c.StopReason, DurationMs: c.DurationMS,
		Images: c.Images, Documents: c.Documents, Queued: c.Queued, Stderr: c.Stderr, IsError: c.IsError,
		Interrupted: c.Interrupted, Injected: c.Injected,
	}
	if c.FirstLine > 0 {
		restored.Lines = append(restored.Lines, c.FirstLine)
	}
	if c.LastLine > c.FirstLine {
		restored.Lines = append(restored.Lines, c.LastLine)
	}
	if u := c.Usage; u != nil {
		restored.Usage = usage.Usage{
			InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
			CacheReadTokens: u.CacheReadTokens, CacheCreationTokens: u.CacheCreationTokens,
		}
	}
	if k := c.Compaction; k != nil {
		restored.Compaction = &transcript.Compaction{
			Trigger: k.Trigger, PreTokens: k.PreTokens, PostTokens: k.PostTokens,
			Duration: time.Duration(k.DurationMS) * time.Millisecond,
		}
	}
	for i := range c.Items {
		item := c.Items[i].restore()
		if restored.Items = append(restored.Items, item); item.Type == transcript.ItemThinking {
			restored.ThinkingCount++
		}
		if item.ToolID != "" && item.ToolName != "" {
			restored.ToolCalls = append(restored.ToolCalls, transcript.ToolCall{ID: item.ToolID, Name: item.ToolName})
		}
	}
	return restored
}

func (i *Item) restore() transcript.DisplayItem {
	return transcript.DisplayItem{
		Type: i.Type, Timestamp: i.Time, Text: i.Text, ToolName: i.Tool, ToolID: i.ToolID, ToolSummary: i.Summary,
		ToolInput: i.Input, ToolResult: i.Result, HasResult: i.HasResult, ToolError: i.IsError, Structured: i.Structured,
		Patch: i.Patch, Status: i.Status, SpillPath: i.OutputPath, ResultImages: i.ImageCount, Injected: i.Injected,
		DurationMs: i.DurationMS, TokenCount: i.Tokens, SubagentType: i.SubagentType, SubagentDesc: i.Description,
		AgentID: i.AgentID, TeammateID: i.Teammate, TeammateColor: i.TeammateColor, TeammateSummary: i.TeammateSummary,
		Agents: restoreAgents(i.Agents),
	}
}

func restoreAgents(agents []Agent) []*transcript.Agent {
	var restored []*transcript.Agent
	for i := range agents {
		a := &agents[i]
		restored = append(restored, &transcript.Agent{
			ID: a.ID, LinkedBy: transcript.LinkedBy(a.LinkedBy), Workflow: a.Workflow,
			Meta: transcript.AgentMeta{AgentType: a.Type, Description: a.Description},
			Transcript: &transcript.Transcript{
				Chunks: restoreChunks(a.Chunks), Branches: restoreBranches(a.Branches), Info: transcript.Info{AgentID: a.ID},
			},
		})
	}
	return restored
}

func restoreBranches(branches []Branch) []transcript.Branch {
	var restored []transcript.Branch
	for i := range branches {
		b := transcript.Branch{FromLine: branches[i].FromLine, Chunks: restoreChunks(branches[i].Chunks)}
		restored = append(restored, b)
	}
	return restored
}
