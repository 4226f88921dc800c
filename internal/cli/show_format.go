package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/export"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/transcript"
)

// A showFormat is a flag for what a session is shown as. Formats for documents
// are those of package export.
type showFormat string

var showFormats = []string{"text", export.Markdown, export.HTML, export.JSON, "ndjson", "messages"}

// Type is what the help calls the value.
func (f *showFormat) Type() string { return "format" }

func (f *showFormat) String() string { return string(*f) }

// Set reads the name of a format.
func (f *showFormat) Set(text string) error {
	if !slices.Contains(showFormats, text) {
		return errors.New("it is text, markdown, html, json, ndjson or messages")
	}
	*f = showFormat(text)
	return nil
}

// print shows a session that is there whole.
func (o *showOptions) print(ctx context.Context, r reading) error {
	doc, _, err := o.document(ctx, r)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(&untilDone{ctx: ctx, w: o.streams.Out}, 64<<10)
	if err = errors.Join(o.printAs(out, doc), out.Flush()); err != nil {
		if ctx.Err() != nil {
			return errInterrupted()
		}
		return outputError(err)
	}
	return nil
}

func (o *showOptions) printAs(out io.Writer, doc *export.Document) error {
	switch {
	case o.diff:
		return o.printDiff(out, doc.Transcript().Chunks)
	case o.format == "ndjson":
		for i := range doc.Chunks {
			if err := writeJSON(out, &doc.Chunks[i]); err != nil {
				return err
			}
		}
		return nil
	case o.format != "text":
		return export.Write(out, doc, string(o.format), o.view())
	}
	return o.printText(out, doc)
}

func (o *showOptions) printText(out io.Writer, doc *export.Document) error {
	t, opts := doc.Transcript(), o.look.options(o.streams)
	for i := range t.Chunks {
		if _, err := io.WriteString(out, opts.Chunk(&t.Chunks[i], doc.Chunks[i].Turn)); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(out, opts.Unlinked(t)); err != nil {
		return err
	}
	for i := range t.Branches {
		text := fmt.Sprintf("--- left behind at line %d ---\n\n", t.Branches[i].FromLine)
		if _, err := io.WriteString(out, text+opts.Chunks(t.Branches[i].Chunks, 1)); err != nil {
			return err
		}
	}
	return nil
}

func (o *showOptions) printDiff(out io.Writer, chunks []transcript.Chunk) error {
	opts := o.look.options(o.streams)
	changes := transcript.Diffs(chunks)
	for i := range changes {
		if _, err := io.WriteString(out, opts.Diff(&changes[i])); err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		o.warn("no files were changed")
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	line, err := jsonLine(v)
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

// findAgent finds the subagent whose ID begins so.
func findAgent(t *transcript.Transcript, prefix string) (*transcript.Agent, error) {
	var found []*transcript.Agent
	for _, a := range agentsOf(t) {
		if a.ID == prefix && a.Transcript != nil {
			return a, nil
		}
		if strings.HasPrefix(a.ID, prefix) && a.Transcript != nil {
			found = append(found, a)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	text, hint := "there is no subagent ", "The session has none with a transcript."
	if len(found) > 1 {
		text = fmt.Sprintf("%d subagents begin with ", len(found))
	}
	if ids := agentIDs(agentsOf(t)); ids != "" {
		hint = "There are: " + ids
	}
	return nil, &failure{code: exitUsage, err: errors.New(text + printable(prefix)), hint: hint}
}

func agentIDs(agents []*transcript.Agent) string {
	var ids []string
	for _, a := range agents {
		ids = append(ids, render.Line(a.ID))
	}
	return strings.Join(ids, ", ")
}

// agentsOf returns the subagents of a transcript, and those below them.
func agentsOf(t *transcript.Transcript) []*transcript.Agent {
	agents := slices.Clone(t.Unlinked)
	for i := range t.Chunks {
		for j := range t.Chunks[i].Items {
			agents = append(agents, t.Chunks[i].Items[j].Agents...)
		}
	}
	all := agents
	for _, a := range agents {
		if a.Transcript != nil {
			all = append(all, agentsOf(a.Transcript)...)
		}
	}
	return all
}
