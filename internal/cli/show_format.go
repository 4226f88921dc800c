package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// A showFormat is a flag for what a session is shown as. Formats for documents
// come from internal/export: they need a name here and a case in print.
type showFormat string

var showFormats = []string{"text", "json", "ndjson", "messages"}

// Type is what the help calls the value.
func (f *showFormat) Type() string { return "format" }

func (f *showFormat) String() string { return string(*f) }

// Set reads the name of a format.
func (f *showFormat) Set(text string) error {
	if !slices.Contains(showFormats, text) {
		return errors.New("it is text, json, ndjson or messages")
	}
	*f = showFormat(text)
	return nil
}

// print shows a transcript that is there whole.
func (o *showOptions) print(t *transcript.Transcript) error {
	if o.agent != "" {
		agent, err := findAgent(t, o.agent)
		if err != nil {
			return err
		}
		t = agent.Transcript
	}
	chunks, turn := o.turns.of(t.Chunks)
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	var err error
	switch {
	case o.diff:
		err = o.printDiff(out, chunks)
	case o.format == "json":
		err = writeJSON(out, newTranscriptRecord(t, chunks, turn, o.branches))
	case o.format == "ndjson":
		for _, record := range chunkRecords(chunks, turn) {
			err = errors.Join(err, writeJSON(out, record))
		}
	default:
		err = o.printText(out, t, chunks, turn)
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return outputError(err)
	}
	return nil
}

func (o *showOptions) printText(out io.Writer, t *transcript.Transcript, chunks []transcript.Chunk, turn int) error {
	opts := o.look.options(o.streams)
	for i := range chunks {
		if i > 0 && chunks[i].Type == transcript.UserChunk {
			turn++
		}
		if _, err := io.WriteString(out, opts.Chunk(&chunks[i], turn)); err != nil {
			return err
		}
	}
	if o.turns.text == "" {
		if _, err := io.WriteString(out, opts.Unlinked(t)); err != nil {
			return err
		}
	}
	if !o.branches {
		return nil
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

// messages prints the conversation that the agent would continue.
func (o *showOptions) messages(ctx context.Context, src source) error {
	if src.info.ID == "" || o.turns.text != "" || o.branches {
		return &failure{
			code: exitUsage,
			err:  errors.New("messages are those of a session, without --turn and --branches"),
			hint: "Give the ID of a session, or use --format=ndjson.",
		}
	}
	folder := sessions.NewFolder(filepath.Dir(filepath.Dir(src.path)))
	folder.Skipped = func(l sessions.SkippedLine) { o.warn(fmt.Sprintf("line %d is no entry and was left out", l.Line)) }
	opts := &sessions.Options{Store: folder, ProjectName: src.info.Project}
	all := sessions.Messages(ctx, src.info.ID, opts)
	if o.agent != "" {
		all = sessions.SubagentMessages(ctx, src.info.ID, o.agent, opts)
	}
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	for m, err := range all {
		if err != nil {
			return errors.Join(findError(ctx, err), out.Flush())
		}
		if err := writeMessage(out, m); err != nil {
			return outputError(err)
		}
	}
	if err := out.Flush(); err != nil {
		return outputError(err)
	}
	return nil
}

func writeMessage(w io.Writer, m *sessions.Message) error {
	var entry struct {
		Message struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal([]byte(m.Raw()), &entry) != nil || entry.Message.Content == nil {
		return nil //nolint:nilerr // an entry that is no message, which the agent would pass over, too
	}
	return writeJSON(w, entry.Message)
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
