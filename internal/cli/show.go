package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/export"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

type showOptions struct {
	part
	streams Streams
	name    string // of the command
	format  showFormat
	diff    bool
	to      func(reading) error // takes what was read, instead of stdout; may be nil
}

const showLong = `Shows a session: prompts, answers, tools and subagents. The session is named by
its ID, by the beginning of it, or as "last": the newest one of this project, or
of all if it has none. A FILE is a transcript, stream-json, or JSON that was
exported, and so is what - reads from stdin; that is shown as it comes, answers
while they are written if they come so. Lines among stream-json that are not JSON
are a part of text.

Formats:
  text      for a terminal
  markdown  for other programs
  html      a page for a browser; "clew export" puts it into a file
  json      one object with what is known of the session, and its chunks
  ndjson    one object for each chunk
  messages  one object for each message that the agent would continue with,
            with role and content as the API takes them

The text of a transcript of more than 16 MiB is shown while it is read: what a
rewind has left behind is among it, and what subagents did is not. Each of
--agent, --branches, --diff, --redact and --format reads the whole first.`

func newShow(s Streams) *cobra.Command {
	o := &showOptions{streams: s, name: "clew show", format: "text"}
	cmd := &cobra.Command{
		Use:   "show ID|FILE|-",
		Short: "Show a session",
		Long:  showLong,
		Example: `  clew show last
  clew show 4f1c --turn 3..5 --expand
  clew show last --diff
  claude -p --verbose --output-format stream-json hello | clew show -`,
		Args: exactlyOne("a session, a file, or -"),
		RunE: runE(o.run),
	}
	cmd.Flags().Var(&o.format, "format", "text, markdown, html, json, ndjson or messages")
	o.part.addFlags(cmd)
	addOnOff(cmd, &o.diff, "diff", "show what was changed in files instead")
	return cmd
}

// exactlyOne asks for one argument.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misused(cmd, errors.New("an argument is missing: "+what))
		}
		return atMost(1)(cmd, args)
	}
}

// largeFile is the size from which on a transcript is shown while it is read.
const largeFile = 16 << 20

func (o *showOptions) run(ctx context.Context, args []string) error {
	if o.diff && o.format != "text" {
		return &failure{code: exitUsage, err: errors.New("--diff is text only"), hint: "Leave out --format."}
	}
	src, err := findSource(ctx, args[0])
	switch {
	case err != nil:
		return err
	case o.format == "messages":
		return o.messages(ctx, src, args[0])
	case src.info.ID != "" && (o.whole() || src.info.Size < largeFile):
		return o.session(ctx, src)
	}
	return o.file(ctx, src, args[0])
}

// whole reports whether everything has to be read before something is shown.
func (o *showOptions) whole() bool {
	return o.format != "text" || o.agent != "" || o.diff || o.branches || o.redact
}

func (o *showOptions) session(ctx context.Context, src source) error {
	if err := o.tooLarge(src.info.ID, src.info.Size); err != nil {
		return err
	}
	t, err := sessions.Read(ctx, src.info.ID, &sessions.ReadOptions{
		Options: sessions.Options{ProjectName: src.info.Project},
	})
	files := filesOf(ctx, src.path)
	defer files.close()
	return o.finish(ctx, reading{Transcript: t, name: src.info.ID, files: files}, err)
}

// file shows a file or stdin.
func (o *showOptions) file(ctx context.Context, src source, name string) error {
	if !src.stdin {
		name = src.path
	}
	in, err := openInput(ctx, name, o.streams.In)
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, sniffed)
	f := sniff(r)
	if ctx.Err() != nil {
		return errInterrupted()
	}
	named := strings.HasSuffix(in.name, ".jsonl") // as a session's, which may have subagents
	switch {
	case f == exportForm:
		return o.exported(ctx, r, in)
	case f == transcriptForm && in.file != nil && named && in.size >= 0 && (o.whole() || in.size < largeFile):
		if err := o.tooLarge(in.name, in.size); err != nil {
			return err
		}
		t, err := sessions.ReadFile(ctx, in.name, nil)
		files := filesOf(ctx, in.name)
		defer files.close()
		return o.finish(ctx, reading{Transcript: t, name: in.name, files: files}, err)
	case f == transcriptForm && in.file != nil && !o.whole() && (in.size < 0 || in.size >= largeFile):
		return o.large(ctx, r, in)
	}
	return o.live(ctx, r, in, f)
}

// maxWhole is the size of the largest transcript that is held in memory.
const maxWhole = 1 << 30

// tooLarge refuses a transcript of which the memory would have to hold too much.
func (o *showOptions) tooLarge(name string, size int64) error {
	if size <= maxWhole {
		return nil
	}
	return &failure{
		code: exitInput,
		err:  fmt.Errorf("%s is too large to be read whole: %s", printable(name), formatSize(size)),
		hint: `Use "clew show" without --agent, --branches, --diff, --redact and --format: it shows the text while it reads.`,
	}
}

// exported shows a document that was exported as JSON.
func (o *showOptions) exported(ctx context.Context, r io.Reader, in *input) error {
	doc, err := export.Read(r)
	switch {
	case errors.Is(err, export.ErrFormat):
		why := escaped(strings.TrimPrefix(err.Error(), "export: "))
		return &failure{
			code: exitInput, err: fmt.Errorf("%s cannot be read: %s", printable(in.name), why),
			hint: "Export the session again.",
		}
	case err != nil:
		return o.readFailure(ctx, in, err, nil)
	}
	return o.finish(ctx, reading{Transcript: doc.Transcript(), doc: doc, name: in.name}, nil)
}

// finish shows a transcript that was read whole, or as far as err let it.
func (o *showOptions) finish(ctx context.Context, r reading, err error) error {
	switch {
	case ctx.Err() != nil:
		return errInterrupted()
	case r.Transcript == nil:
		why := escaped(cause(err).Error())
		return &failure{code: exitInput, err: fmt.Errorf("%s cannot be read: %s", printable(r.name), why)}
	case err != nil:
		o.warn(escaped(err.Error()))
	}
	o.warnInvalid(r.Transcript)
	if len(r.Chunks) == 0 {
		return noConversation(r.name)
	}
	if o.to != nil {
		return o.to(r)
	}
	return o.print(ctx, r)
}

func noConversation(name string) error {
	return &failure{
		code: exitInput,
		err:  fmt.Errorf("there is no conversation in %s", printable(name)),
		hint: "Give a transcript or a file of stream-json.",
	}
}

// warn tells of something that is not shown, if stderr can be written.
func (o *showOptions) warn(text string) { _, _ = fmt.Fprintln(o.streams.Err, o.name+": "+text) }

func (o *showOptions) warnInvalid(t *transcript.Transcript) {
	if n := len(t.Invalid); n > 0 {
		first := t.Invalid[0].Position.Line
		o.warn(fmt.Sprintf("lines that are no entries were left out: %d, the first is line %d", n, first))
	}
}

// large shows a long transcript while it is read.
func (o *showOptions) large(ctx context.Context, r io.Reader, in *input) error {
	if o.look.expand {
		o.warn("what subagents did is left out of so long a session; --agent shows one, --format=markdown all")
	}
	out := bufio.NewWriterSize(o.streams.Out, 16<<10)
	opts, turn, empty, shown := o.look.options(o.streams), 0, true, false
	for c, err := range transcript.Stream(&patient{ctx: ctx, src: r}, nil) {
		if err != nil {
			return o.readFailure(ctx, in, err, out.Flush())
		}
		empty = false
		if c.Type == transcript.UserChunk {
			turn++
		}
		if o.turns.last > 0 && turn > o.turns.last {
			break
		}
		if !o.turns.has(turn) {
			continue
		}
		shown = true
		if _, err := io.WriteString(out, opts.Chunk(c, turn)); err != nil {
			return outputError(err)
		}
	}
	if err := out.Flush(); err != nil {
		return outputError(err)
	}
	switch {
	case empty:
		return noConversation(in.name)
	case !shown:
		return o.turns.none(turn)
	}
	return nil
}

func (o *showOptions) readFailure(ctx context.Context, in *input, err, flushErr error) error {
	switch {
	case flushErr != nil:
		return outputError(flushErr)
	case ctx.Err() != nil:
		return errInterrupted()
	}
	return &failure{code: exitInput, err: in.readError(err)}
}

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
