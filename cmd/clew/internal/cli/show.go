package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

type showOptions struct {
	selection
	streams Streams
	project string
	format  showFormat
	diff    bool
	context bool
	noPager bool
	most    int64 // bytes of the largest transcript that is held in memory

	head  *showHead     // of a session whose text is shown, once it is known
	paged *clikit.Pager // nil if the output is not paged
}

const showLong = `Show a session: prompts, answers, tools and subagents.

Name the session by its ID, by a prefix of the ID, or as "last": the newest session
of this project, or of all projects if this one has none; --project names another
project, as in "clew ls". FILE is a transcript, stream-json, or JSON written by
"clew export". With -, show reads one of these from stdin and shows it as it
arrives, including partial answers. Lines of stream-json that are not JSON are shown
as text.

Formats:
  text      for a terminal
  markdown  for other programs
  html      a page for a browser; "clew export" writes it to a file
  json      one object with the session's metadata and its chunks
  ndjson    one object per chunk
  messages  one object per message that the agent would continue with, with
            role and content as in the API

A transcript that does not fit into memory, or is larger than 1 GiB, is shown as
text while it is read, and the first line says so. The output then includes rewound
messages, which count as turns, and omits the work of subagents. --agent, --branches,
--diff, --redact and --format are not available.`

func newShow(s Streams) *cobra.Command {
	o := &showOptions{streams: s, format: "text", most: input.MaxWhole}
	cmd := &cobra.Command{
		Use:   "show ID|FILE|-",
		Short: "Show a session",
		Long:  showLong,
		Example: `  clew show last
  clew show 4f1c --turn 3..5 --expand
  clew show last --diff --project website
  claude -p --verbose --output-format stream-json hello | clew show -`,
		Args: clikit.ExactlyOne("a session, a file, or -"),
		RunE: clikit.RunE(o.run),
	}
	cmd.Flags().Var(&o.format, "format", "output format: text, markdown, html, json, ndjson or messages")
	input.AddProjectFlag(cmd, &o.project)
	o.selection.addFlags(cmd)
	clikit.AddOnOff(cmd, &o.diff, "diff", "show only the changes to files")
	clikit.AddOnOff(cmd, &o.context, "context", "show what filled the context, turn by turn, and what turns, tools and subagents cost")
	clikit.AddOnOff(cmd, &o.noPager, "no-pager", "do not use a pager")
	return cmd
}

// run finds the source, reads it, selects a part and prints that. Only text can be printed while
// the source is still being read.
func (o *showOptions) run(ctx context.Context, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	src, err := input.Find(ctx, o.project, args[0])
	if err != nil {
		return err
	}
	if o.format == "messages" {
		return o.messages(ctx, src)
	}
	src.Most = o.most
	if src.Info.ID != "" && !o.whole() && !src.Fits(src.Info.Size) {
		src = &input.Source{Path: src.Path, Most: o.most} // its file
	}
	if err := src.Open(ctx, o.streams.In); err != nil {
		return err
	}
	defer src.Close()
	defer o.page()()
	switch {
	case src.Format == input.Transcript && src.In != nil && src.In.File != nil && !o.whole() && !src.Fits(src.Size()):
		return o.large(ctx, src)
	case src.In != nil && src.Format != input.Exported && !src.IsFile() && !o.whole() && o.turns.text == "":
		return o.live(ctx, src)
	}
	if err := o.begin(src); err != nil {
		return clikit.OutputError(err)
	}
	r, err := src.Read(ctx, o.warn)
	if err != nil {
		return err
	}
	defer r.Close()
	return o.print(ctx, r)
}

// page makes the output of text go through a pager, until the function that it returns is called.
func (o *showOptions) page() (end func()) {
	if o.noPager || o.format != "text" {
		return func() {}
	}
	p := clikit.NewPager(o.streams)
	if p == nil {
		return func() {}
	}
	o.paged = p
	return p.Close
}

// out returns where the output goes.
func (o *showOptions) out() io.Writer {
	if o.paged != nil {
		return o.paged
	}
	return o.streams.Out
}

// begin writes the head of a session before it is read, so that there is something to see
// immediately.
func (o *showOptions) begin(src *input.Source) error {
	if src.Info.ID == "" || o.whole() || o.turns.text != "" {
		return nil
	}
	o.head = headOf(&src.Info, o.style.options(o.streams))
	return o.head.begin(o.out())
}

func (o *showOptions) check() error {
	switch {
	case o.diff && o.format != "text":
		return clikit.UsageError("--diff can't be used with --format", "Leave out one of them.")
	case o.format == "messages" && (o.turns.text != "" || o.branches):
		return clikit.UsageError("--format messages can't be used with --turn or --branches",
			"Leave them out, or use --format ndjson.")
	}
	return nil
}

// whole reports whether the whole session has to be read before anything is shown.
func (o *showOptions) whole() bool {
	return o.format != "text" || o.agent != "" || o.diff || o.context || o.branches || o.redact
}

// warn reports something that is not shown.
func (o *showOptions) warn(text string) { clikit.Remark(o.streams.Err, tty.Waiting, "clew show", text) }

// print prints the selected part of a session.
func (o *showOptions) print(ctx context.Context, r *input.Reading) error {
	var write func(io.Writer) error
	var err error
	if o.format == "text" {
		write, err = o.text(ctx, r)
	} else {
		write, err = o.document(ctx, r)
	}
	if err != nil {
		return err
	}
	out := &lineWriter{w: &ctxWriter{ctx: ctx, w: o.out()}}
	if err = errors.Join(write(out), out.Flush()); err != nil {
		if ctx.Err() != nil {
			return clikit.Interrupted()
		}
		return clikit.OutputError(err)
	}
	return nil
}

// document returns a function that writes the session in one of the formats for programs.
func (o *showOptions) document(ctx context.Context, r *input.Reading) (func(io.Writer) error, error) {
	doc, _, err := o.selection.document(ctx, r)
	if err != nil {
		return nil, err
	}
	if o.format != "ndjson" {
		return func(out io.Writer) error { return export.Write(ctx, out, doc, string(o.format), o.view()) }, nil
	}
	return func(out io.Writer) error {
		for i := range doc.Chunks {
			if err := clikit.WriteJSON(out, &doc.Chunks[i]); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// text returns a function that writes the session as text. Redaction works on documents, so a
// redacted session becomes one for a while.
func (o *showOptions) text(ctx context.Context, r *input.Reading) (func(io.Writer) error, error) {
	chosen, err := o.choose(r.Transcript)
	if err != nil {
		return nil, err
	}
	if o.redact {
		doc, _, err := o.selection.document(ctx, r)
		if err != nil {
			return nil, err
		}
		chosen.Transcript = doc.Transcript()
		chosen.chunks = chosen.Transcript.Chunks
	}
	switch {
	case o.diff:
		return func(out io.Writer) error { return o.printDiff(out, chosen) }, nil
	case o.context:
		return func(out io.Writer) error { return o.printContext(out, chosen) }, nil
	}
	figures := figuresOf(chosen.Transcript, totalsOf(r))
	return func(out io.Writer) error {
		if o.turns.text != "" {
			return o.printText(out, chosen)
		}
		head := o.head
		if head == nil {
			head = headOfTranscript(chosen.Transcript, o.style.options(o.streams))
		}
		if err := errors.Join(head.begin(out), head.figures(out, figures)); err != nil {
			return err
		}
		if err := o.printText(out, chosen); err != nil {
			return err
		}
		return head.end(out, figures)
	}, nil
}

// totalsOf returns the totals of a document, or nil for a transcript.
func totalsOf(r *input.Reading) *usage.Totals {
	if r.Doc == nil {
		return nil
	}
	return &r.Doc.Totals
}

func (o *showOptions) printText(out io.Writer, chosen *selected) error {
	opts := o.style.options(o.streams)
	opts.Day, opts.Dir = chosen.Created, chosen.CWD
	for i := range chosen.chunks {
		if _, err := io.WriteString(out, opts.Chunk(&chosen.chunks[i])); err != nil {
			return err
		}
	}
	if o.turns.text == "" {
		if _, err := io.WriteString(out, opts.Unlinked(chosen.Transcript)); err != nil {
			return err
		}
	}
	if !o.branches {
		return nil
	}
	for i := range chosen.Branches {
		b := &chosen.Branches[i]
		text := fmt.Sprintf("--- rewound at line %d ---\n\n", b.FromLine)
		if _, err := io.WriteString(out, text+opts.Chunks(b.Chunks)); err != nil {
			return err
		}
	}
	return nil
}

// printDiff writes the changes: for a person on a terminal, and otherwise as unified diffs.
func (o *showOptions) printDiff(out io.Writer, chosen *selected) error {
	opts := o.style.options(o.streams)
	opts.Dir = chosen.CWD
	changes := transcript.Diffs(chosen.chunks)
	show := opts.Diff
	if clikit.IsTerminal(o.streams.Out) {
		show = opts.FileChanges
	}
	for i := range changes {
		if _, err := io.WriteString(out, show(&changes[i])); err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		o.warn("no files were changed")
	}
	return nil
}

// large shows a transcript that does not fit into memory while it is read.
func (o *showOptions) large(ctx context.Context, src *input.Source) error {
	notice := "the transcript is too large to read into memory (" + wording.Size(src.Size()) +
		"): showing rewound messages, without subagents"
	o.warn(notice)
	out := bufio.NewWriterSize(o.out(), 16<<10)
	_, _ = out.WriteString("--- " + notice + " ---\n\n") // Flush returns the error
	opts, turns, empty, shown := o.style.options(o.streams), 0, true, false
	var invalid input.Lines
	defer func() { input.WarnInvalid(invalid, o.warn) }()
	read := &transcript.ReadOptions{Invalid: func(l transcript.InvalidLine) { invalid.Add(l.Position.Line) }}
	for c, err := range transcript.Stream(input.Reader(ctx, src.R), read) {
		if err != nil {
			if flushErr := out.Flush(); flushErr != nil {
				return clikit.OutputError(flushErr)
			}
			return src.ReadError(ctx, err)
		}
		if empty {
			opts.Day = c.Timestamp
		}
		empty = false
		if turns = c.Turn; o.turns.last > 0 && turns > o.turns.last {
			break
		}
		if !o.turns.has(c.Turn) {
			continue
		}
		shown = true
		if _, err := io.WriteString(out, opts.Chunk(c)); err != nil {
			return clikit.OutputError(err)
		}
	}
	if err := out.Flush(); err != nil {
		return clikit.OutputError(err)
	}
	switch {
	case empty:
		return input.NoConversation(src.Name())
	case !shown:
		return o.turns.none(wording.Count(turns, "turn"))
	}
	return nil
}

// A showFormat is a flag for the format in which a session is shown. Formats of documents are those
// of package export.
type showFormat string

var showFormats = []string{"text", export.Markdown, export.HTML, export.JSON, "ndjson", "messages"}

// Type names the value in the help.
func (f *showFormat) Type() string { return "format" }

func (f *showFormat) String() string { return string(*f) }

// Set reads the name of a format.
func (f *showFormat) Set(text string) error {
	if !slices.Contains(showFormats, text) {
		return errors.New("must be text, markdown, html, json, ndjson or messages")
	}
	*f = showFormat(text)
	return nil
}

// A ctxWriter fails once its context ends.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (u *ctxWriter) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(p)
}

// A lineWriter writes whole lines, so that output that is interrupted ends with a line. Call Flush
// at the end.
type lineWriter struct {
	w   io.Writer
	buf []byte
	end int // of the last whole line in buf
}

func (l *lineWriter) Write(p []byte) (int, error) {
	const enough, most = 64 << 10, 1 << 20 // a longer line is written in pieces
	if end := bytes.LastIndexByte(p, '\n') + 1; end > 0 {
		l.end = len(l.buf) + end
	}
	l.buf = append(l.buf, p...)
	switch {
	case len(l.buf) < enough || l.end == 0 && len(l.buf) < most:
		return len(p), nil
	case l.end == 0:
		l.end = len(l.buf)
	}
	_, err := l.w.Write(l.buf[:l.end])
	l.buf, l.end = append(l.buf[:0], l.buf[l.end:]...), 0
	return len(p), err
}

// Flush writes the rest.
func (l *lineWriter) Flush() error {
	_, err := l.w.Write(l.buf)
	l.buf = l.buf[:0]
	return err
}
