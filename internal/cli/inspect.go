package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/wire"
)

type inspectOptions struct {
	streams  Streams
	json     bool
	maxFrame clikit.ByteSize
}

const inspectHelp = `Read stream-json from a file or from stdin, and count its frames by type and
subtype. After the table, list the kinds, fields, blocks and events that this
version does not know. Then list invalid frames, invalid blocks and fields that do
not fit, with line and offset. If there are any of these, the exit code is 1.

With --json, print one object per frame instead:
  line, offset, bytes  the position and length of the frame
  type, subtype        its kind; for a control frame, the subtype of its body
  known                whether this version knows the kind
  problem              the first error in the frame, or ""
  unknown_fields       the paths of unknown fields
  unknown_blocks       the types of unknown blocks
  unknown_event        the type of an unknown event
  misfits              the fields that do not fit: of another type, out of range, or
                       missing; each is a JSON pointer and the reason
The last four are left out if there are none.

Inspect does not examine the bodies of control requests and responses, the inputs
of tools, the results of server tools, or the contents of blocks in other tool
results.

Inspect needs memory for a few copies of the longest frame, however long the stream
is.`

func newInspect(s Streams) *cobra.Command {
	o := &inspectOptions{streams: s, maxFrame: wire.DefaultMaxFrameBytes}
	cmd := &cobra.Command{
		Use:   "inspect [FILE|-]",
		Short: "Count the frames of a stream, and find invalid and unknown ones",
		Long:  inspectHelp,
		Example: `  clew inspect session.ndjson
  claude -p --verbose --output-format stream-json hello | clew inspect
  clew inspect --json session.ndjson |
    jq 'select(.problem != "" or (.known | not) or .unknown_fields or .unknown_blocks or .unknown_event)'`,
		Args: clikit.AtMost(1),
		RunE: clikit.RunE(o.run),
	}
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object per frame")
	cmd.Flags().Var(&o.maxFrame, "max-frame-bytes", "longest frame to decode; longer ones are reported as invalid")
	return cmd
}

func (o *inspectOptions) run(ctx context.Context, args []string) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
		if name == "" {
			return clikit.UsageError("the name of the file is empty", "Give the path of a stream-json file, or - for stdin.")
		}
	}
	in, err := openInput(ctx, name, o.streams.In)
	if err != nil {
		return err
	}
	defer in.Close()
	// Almost nothing stays in memory, so that a collection would come every few megabytes.
	defer setGCPercent(setGCPercent(200))
	return o.inspect(ctx, in)
}

// A report collects or prints the findings.
type report interface {
	// maxErrors is the number of invalid blocks per frame that the report can show.
	maxErrors() int
	add(finding) error
	finish() error
}

// inspect reads the input to its end, or as far as possible, and reports on it.
func (o *inspectOptions) inspect(ctx context.Context, in *input) error {
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	i := &inspection{in: in, out: out, report: o.report(out), bar: o.progress(in)}
	readErr, err := i.run(ctx, &wire.ReaderOptions{MaxFrameBytes: int(o.maxFrame)})
	i.bar.Clear()
	if err == nil {
		err = errors.Join(i.report.finish(), out.Flush())
	}
	switch {
	case err != nil:
		return clikit.OutputError(err)
	case ctx.Err() != nil:
		return clikit.Interrupted()
	case readErr != nil:
		return &clikit.Failure{Code: clikit.ExitInput, Err: in.readError(readErr)}
	case i.problems > 0:
		return fmt.Errorf("frames with problems: %s of %s", wording.Number(i.problems), wording.Number(i.frames))
	}
	return nil
}

// An inspection is one run over an input. One goroutine decodes frames while another examines them.
type inspection struct {
	in     *input
	out    *bufio.Writer
	report report
	bar    *clikit.Progress

	frames, problems int64       // number of frames, and of frames with a problem
	unwritable       atomic.Bool // there is nobody to report to
}

// A frame is a message and its position in the input.
type frame struct {
	msg wire.Message
	pos wire.Position
}

const (
	// maxBatchBytes is the size at which a batch of frames is complete.
	maxBatchBytes = 128 << 10
	// longFrame is the size from which on the next frame has to wait until this one is reported.
	longFrame = 1 << 20
)

// run reads and reports all frames. It returns the input error and the output error.
func (i *inspection) run(ctx context.Context, opts *wire.ReaderOptions) (readErr, writeErr error) {
	batches := make(chan []frame)
	go func() {
		defer close(batches)
		readErr = i.read(ctx, opts, batches)
	}()
	for batch := range batches {
		if writeErr == nil {
			writeErr = i.examine(batch)
		}
		if writeErr != nil {
			i.unwritable.Store(true)
		}
	}
	return readErr, writeErr
}

// read sends the frames of the input in batches. From a pipe, it sends each frame at once: the next
// one may take long to come.
func (i *inspection) read(ctx context.Context, opts *wire.ReaderOptions, batches chan<- []frame) error {
	var batch []frame
	var size int64
	r := wire.NewReader(i.in, opts)
	for msg, err := range r.Messages() {
		if err != nil || ctx.Err() != nil || i.unwritable.Load() { // after an interrupt, the last frame may be incomplete
			batches <- batch
			return err
		}
		pos := r.Position()
		batch, size = append(batch, frame{msg, pos}), size+pos.Bytes
		if size < maxBatchBytes && i.in.size >= 0 {
			continue
		}
		batches <- batch
		if pos.Bytes > longFrame {
			batches <- nil // the batch before is examined
			runtime.GC()   // otherwise several long frames are in memory at a time
		}
		batch, size = nil, 0
	}
	batches <- batch
	return nil
}

// examine reports the frames of a batch.
func (i *inspection) examine(batch []frame) error {
	for n, f := range batch {
		found := examine(f.msg, f.pos, i.report.maxErrors())
		i.frames++
		if !found.isText && found.problem() != "" {
			i.problems++
		}
		if err := i.report.add(found); err != nil {
			return err
		}
		i.bar.Set(f.pos.Offset + f.pos.Bytes + 1) // with the end of the line
		batch[n].msg = nil
	}
	if i.in.size >= 0 {
		return nil
	}
	return i.out.Flush()
}

func (o *inspectOptions) report(out *bufio.Writer) report {
	if o.json {
		return newListing(out)
	}
	return &summary{out: out, on: canvas{width: clikit.TextWidth(o.streams.Out, 0), color: clikit.Colored(o.streams.Out)}}
}

// progress returns the bar for an input, or nil if it would disturb the output.
func (o *inspectOptions) progress(in *input) *clikit.Progress {
	typed := in.file == nil && clikit.IsTerminal(o.streams.In)
	listed := o.json && clikit.IsTerminal(o.streams.Out)
	if typed || listed || !clikit.IsTerminal(o.streams.Err) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return clikit.NewProgress(o.streams.Err, in.size, time.Now)
}

// A finding is the result of examining a frame.
type finding struct {
	pos     wire.Position
	kind    wire.Kind
	known   bool
	invalid error  // the frame does not decode
	text    string // of a line that is not a frame
	isText  bool

	unknownFields []string
	unknownBlocks []string
	unknownEvent  string
	invalidBlocks int
	misfits       []*wire.FieldError
	blockErrors   []error // of the first invalid blocks
	maxErrors     int     // number of errors to keep; each costs a pass over the frame
}

func examine(msg wire.Message, pos wire.Position, maxErrors int) finding {
	f := finding{pos: pos, kind: msg.Kind(), known: wire.Known(msg.Kind()), maxErrors: maxErrors}
	switch msg := msg.(type) {
	case *wire.InvalidFrame:
		f.invalid = msg.Err
		return f
	case *wire.TextLine:
		f.text, f.isText = clikit.Clip(msg.Text), true
		return f
	case *wire.SystemMessage:
		f.misfits = wire.Misfits(msg)
		return f // all of its fields are unknown
	case *wire.UnknownMessage:
		f.kind.Subtype = subtypeOf(msg)
		return f
	case *wire.AssistantMessage:
		f.blocks(msg.Content)
	case *wire.UserMessage:
		f.blocks(msg.Content)
	case *wire.StreamEventMessage:
		f.event(msg.Event)
	case *wire.ResultMessage:
		f.known = knownResult(msg.Subtype)
	case *wire.ControlRequestMessage:
		f.kind.Subtype = msg.Request.Subtype
	case *wire.ControlResponseMessage:
		f.kind.Subtype = msg.Response.Subtype
	}
	f.unknownFields, f.misfits = wire.Survey(msg)
	return f
}

// subtypeOf returns the subtype of a frame of unknown type, or "".
func subtypeOf(msg *wire.UnknownMessage) string {
	var frame struct {
		Subtype string `json:"subtype"`
	}
	// A subtype that is not a string is ignored.
	_ = json.Unmarshal([]byte(msg.Raw()), &frame)
	return frame.Subtype
}

// knownResult reports whether there is a constant for the subtype of a result.
func knownResult(subtype wire.ResultSubtype) bool {
	switch subtype {
	case wire.ResultSuccess, wire.ResultErrorDuringExecution, wire.ResultErrorMaxTurns,
		wire.ResultErrorMaxBudgetUSD, wire.ResultErrorMaxStructuredOutputRetries:
		return true
	}
	return false
}

func (f *finding) blocks(content wire.Content) {
	for _, b := range content {
		f.block(b)
		switch b := b.(type) {
		case *wire.ToolResultBlock:
			f.inside(b.Content)
		case *wire.MCPToolResultBlock:
			f.inside(b.Content)
		}
	}
}

func (f *finding) block(b wire.Block) {
	switch b := b.(type) {
	case *wire.UnknownBlock:
		f.unknownBlocks = append(f.unknownBlocks, b.BlockType())
	case *wire.InvalidBlock:
		f.invalidBlock(b.Err)
	}
}

// inside examines the blocks of a tool's result, but not their contents. A result that is a text
// has no blocks.
func (f *finding) inside(result wire.JSON) {
	if strings.HasPrefix(string(result), `"`) {
		return
	}
	content, err := wire.DecodeContent(result)
	if err != nil {
		f.invalidBlock(func() error { return fmt.Errorf("in a tool result: %w", err) })
	}
	for _, b := range content {
		if bad, ok := b.(*wire.InvalidBlock); ok {
			f.invalidBlock(func() error { return fmt.Errorf("in a tool result: %w", bad.Err()) })
			continue
		}
		f.block(b)
	}
}

func (f *finding) invalidBlock(err func() error) {
	f.invalidBlocks++
	if len(f.blockErrors) < f.maxErrors {
		f.blockErrors = append(f.blockErrors, err())
	}
}

func (f *finding) event(e wire.Event) {
	switch e := e.(type) {
	case *wire.MessageStartEvent:
		if e.Message != nil {
			f.blocks(e.Message.Content)
		}
	case *wire.ContentBlockStartEvent:
		f.blocks(wire.Content{e.ContentBlock})
	case *wire.UnknownEvent:
		f.unknownEvent = eventName(e)
	}
}

// eventName returns the type of an unknown event. If the delta is unknown, its type follows after a
// slash.
func eventName(e *wire.UnknownEvent) string {
	var event struct {
		Delta struct {
			Type string `json:"type"`
		} `json:"delta"`
	}
	if json.Unmarshal([]byte(e.Raw()), &event) != nil || event.Delta.Type == "" {
		return e.EventType()
	}
	return e.EventType() + "/" + event.Delta.Type
}

// problem returns the first error in the frame, or "".
func (f *finding) problem() string {
	switch {
	case f.isText:
		return "not JSON"
	case f.invalid != nil:
		return f.invalid.Error()
	case len(f.blockErrors) > 0:
		return "invalid block: " + f.blockErrors[0].Error()
	case len(f.misfits) > 0:
		return f.misfits[0].Error()
	}
	return ""
}

// A frameRecord is a frame in JSON.
type frameRecord struct {
	Line    int    `json:"line"`
	Offset  int64  `json:"offset"`
	Bytes   int64  `json:"bytes"`
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Known   bool   `json:"known"`
	Problem string `json:"problem"`

	UnknownFields []string `json:"unknown_fields,omitempty"`
	UnknownBlocks []string `json:"unknown_blocks,omitempty"`
	UnknownEvent  string   `json:"unknown_event,omitempty"`
	Misfits       []string `json:"misfits,omitempty"`
}

func newRecord(f finding) frameRecord {
	var misfits []string
	for _, field := range f.misfits {
		misfits = append(misfits, field.Error())
	}
	return frameRecord{
		Line:          f.pos.Line,
		Offset:        f.pos.Offset,
		Bytes:         f.pos.Bytes,
		Type:          f.kind.Type,
		Subtype:       f.kind.Subtype,
		Known:         f.known,
		Problem:       f.problem(),
		UnknownFields: f.unknownFields,
		UnknownBlocks: f.unknownBlocks,
		UnknownEvent:  f.unknownEvent,
		Misfits:       misfits,
	}
}

// A listing is the report with one JSON object per frame.
type listing struct {
	w    io.Writer
	line bytes.Buffer
	enc  *json.Encoder
}

func newListing(w io.Writer) *listing {
	l := &listing{w: w}
	l.enc = json.NewEncoder(&l.line)
	l.enc.SetEscapeHTML(false)
	return l
}

func (l *listing) maxErrors() int { return 1 }

func (l *listing) add(f finding) error {
	l.line.Reset()
	if err := l.enc.Encode(newRecord(f)); err != nil {
		return err
	}
	_, err := l.w.Write(tty.JSON(l.line.Bytes()))
	return err
}

func (l *listing) finish() error { return nil }

// A summary is the report as text, with tables.
type summary struct {
	out io.Writer
	on  canvas

	total         stat
	kinds         tally[wire.Kind]
	unknownKinds  tally[wire.Kind]
	unknownFields tally[fieldName]
	unknownBlocks tally[string]
	unknownEvents tally[string]
	invalidFrames notes
	invalidBlocks notes
	misfits       notes
	textLines     notes
}

// A fieldName is a field of frames of one kind.
type fieldName struct {
	path string
	kind wire.Kind
}

func (s *summary) maxErrors() int { return maxNotes }

func (s *summary) add(f finding) error {
	s.total.add(f.pos)
	switch {
	case f.isText:
		s.textLines.add(f.pos, f.text)
	case f.invalid != nil:
		s.invalidFrames.add(f.pos, f.invalid.Error())
	default:
		s.addFrame(f)
	}
	return nil
}

func (s *summary) addFrame(f finding) {
	kind := wire.Kind{Type: clikit.Clip(f.kind.Type), Subtype: clikit.Clip(f.kind.Subtype)}
	s.kinds.add(kind, f.pos)
	if !f.known {
		s.unknownKinds.add(kind, f.pos)
	}
	for _, path := range f.unknownFields {
		s.unknownFields.add(fieldName{clikit.Clip(path), kind}, f.pos)
	}
	for _, name := range f.unknownBlocks {
		s.unknownBlocks.add(clikit.Clip(name), f.pos)
	}
	if f.unknownEvent != "" {
		s.unknownEvents.add(clikit.Clip(f.unknownEvent), f.pos)
	}
	for _, err := range f.blockErrors {
		s.invalidBlocks.add(f.pos, err.Error())
	}
	s.invalidBlocks.total.count += int64(f.invalidBlocks - len(f.blockErrors))
	for _, field := range f.misfits {
		s.misfits.add(f.pos, field.Error())
	}
}

func (s *summary) finish() error {
	_, err := io.WriteString(s.out, s.text())
	return err
}

func (s *summary) text() string {
	if s.total.count == 0 {
		return "no frames\n"
	}
	w := &page{canvas: s.on}
	s.printKinds(w)
	printTally(w, "unknown kinds", &s.unknownKinds, compareKinds, wire.Kind.String)
	printTally(w, "unknown fields", &s.unknownFields, compareFields, fieldName.String)
	printTally(w, "unknown blocks", &s.unknownBlocks, strings.Compare, itself)
	printTally(w, "unknown events", &s.unknownEvents, strings.Compare, itself)
	printNotes(w, "invalid frames", "PROBLEM", &s.invalidFrames)
	printNotes(w, "invalid blocks", "PROBLEM", &s.invalidBlocks)
	printNotes(w, "fields that do not fit", "PROBLEM", &s.misfits)
	printNotes(w, "lines that are not JSON", "TEXT", &s.textLines)
	return w.String()
}

// A page is the text of a summary, and the canvas that it is printed on.
type page struct {
	strings.Builder
	canvas
}

// table starts a table below a title, in a style that expresses its severity.
func (w *page) table(title string, style tty.Style, headings ...string) *clikit.Table {
	if title != "" {
		w.WriteString("\n" + style.Paint(strings.TrimSuffix(clikit.Wrapped(title+":", w.width), "\n"), w.color) + "\n")
	}
	t := clikit.NewTable(headings...)
	t.Color = w.color
	return t
}

// printKinds prints the main table. On a narrow screen it has fewer columns.
func (s *summary) printKinds(w *page) {
	brief := w.width > 0 && w.width < clikit.Narrow
	t := w.table("", tty.Plain, "TYPE", "SUBTYPE", "COUNT>", "BYTES>", "LARGEST>")
	if brief {
		t = w.table("", tty.Plain, "TYPE", "COUNT>", "BYTES>")
	}
	row := func(kind wire.Kind, s *stat, style tty.Style) {
		switch {
		case s.count == 0:
			return
		case brief:
			t.Add(kind.String(), wording.Number(s.count), wording.Number(s.bytes))
		default:
			t.Add(kind.Type, kind.Subtype, wording.Number(s.count), wording.Number(s.bytes), wording.Number(s.largest))
		}
		t.Style(style)
	}
	for _, kind := range s.kinds.names(compareKinds) {
		row(kind, s.kinds.stats[kind], tty.Plain)
	}
	row(wire.Kind{Type: "(other kinds)"}, &s.kinds.rest, tty.Dim)
	row(wire.Kind{Type: "(invalid frames)"}, &s.invalidFrames.total, tty.Failure)
	row(wire.Kind{Type: "(not JSON)"}, &s.textLines.total, tty.Waiting)
	row(wire.Kind{Type: "total"}, &s.total, tty.Title)
	t.Print(&w.Builder, w.width)
}

// printTally prints the number and the first line of each name.
func printTally[K comparable](w *page, title string, names *tally[K], compare func(a, b K) int, show func(K) string) {
	if len(names.stats) == 0 {
		return
	}
	t := w.table(title, tty.Waiting, "  NAME", "COUNT>", "FIRST LINE>")
	for _, name := range names.names(compare) {
		s := names.stats[name]
		t.Add("  "+show(name), wording.Number(s.count), strconv.Itoa(s.line))
	}
	t.Print(&w.Builder, w.width)
	if n := names.rest.count; n > 0 {
		w.WriteString(w.secondary(fmt.Sprintf("  and %s more, with names that are not listed", wording.Number(n))))
	}
}

// printNotes prints the first notes of one kind.
func printNotes(w *page, title, heading string, all *notes) {
	if len(all.kept) == 0 {
		return
	}
	t := w.table(title, tty.Failure, "  LINE>", "OFFSET>", heading)
	for _, n := range all.kept {
		t.Add(strconv.Itoa(n.pos.Line), strconv.FormatInt(n.pos.Offset, 10), n.text)
	}
	t.Print(&w.Builder, w.width)
	if more := all.total.count - int64(len(all.kept)); more > 0 {
		w.WriteString(w.secondary(fmt.Sprintf("  and %s more", wording.Number(more))))
	}
}

func itself(name string) string { return name }

func (n fieldName) String() string { return n.path + " in " + n.kind.String() }

func compareKinds(a, b wire.Kind) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Subtype, b.Subtype))
}

func compareFields(a, b fieldName) int {
	return cmp.Or(compareKinds(a.kind, b.kind), cmp.Compare(a.path, b.path))
}

// A stat counts frames.
type stat struct {
	count   int64
	bytes   int64
	largest int64
	line    int // of the first frame
}

func (s *stat) add(pos wire.Position) {
	if s.count == 0 {
		s.line = pos.Line
	}
	s.count++
	s.bytes += pos.Bytes
	s.largest = max(s.largest, pos.Bytes)
}

// maxNames is the number of names in a tally. The agent uses a few dozen; without a limit, garbage
// could fill the memory.
const maxNames = 1000

// A tally counts by name.
type tally[K comparable] struct {
	stats map[K]*stat
	rest  stat // of names beyond the limit
}

func (t *tally[K]) add(name K, pos wire.Position) {
	s := t.stats[name]
	switch {
	case s != nil:
	case len(t.stats) == maxNames:
		s = &t.rest
	default:
		s = new(stat)
		if t.stats == nil {
			t.stats = map[K]*stat{}
		}
		t.stats[name] = s
	}
	s.add(pos)
}

// names returns the names, the most frequent first. Equally frequent ones are sorted by their
// bytes, and then by compare.
func (t *tally[K]) names(compare func(a, b K) int) []K {
	names := make([]K, 0, len(t.stats))
	for name := range t.stats {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b K) int {
		x, y := t.stats[a], t.stats[b]
		return cmp.Or(cmp.Compare(y.count, x.count), cmp.Compare(y.bytes, x.bytes), compare(a, b))
	})
	return names
}

// A note is a text about one frame.
type note struct {
	pos  wire.Position
	text string
}

// maxNotes is the number of notes that are kept.
const maxNotes = 20

// notes are the first notes of one kind, and the number of all.
type notes struct {
	kept  []note
	total stat
}

func (n *notes) add(pos wire.Position, text string) {
	n.total.add(pos)
	if len(n.kept) < maxNotes {
		n.kept = append(n.kept, note{pos, clikit.Clip(text)})
	}
}
