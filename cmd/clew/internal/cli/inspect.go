package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
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

A line of a transcript counts as a frame. The subtype of an attachment is the type
of what is attached. Only names are checked, as in clew doctor.

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
	in, err := input.Open(ctx, name, o.streams.In)
	if err != nil {
		return err
	}
	defer in.Close()
	return o.inspect(ctx, in)
}

// inspect reads the input to its end, or as far as possible, and reports on it.
func (o *inspectOptions) inspect(ctx context.Context, in *input.Stream) error {
	i := &inspection{
		inspectOptions: o, in: in, out: bufio.NewWriterSize(o.streams.Out, 64<<10),
		summary: summary{on: canvas{width: clikit.TextWidth(o.streams.Out, 0), color: clikit.Colored(o.streams.Out)}},
	}
	bar := o.progress(in)
	readErr, err := i.run(ctx, bar)
	bar.Clear()
	if !o.json && err == nil {
		_, err = i.out.WriteString(i.text())
	}
	if err == nil {
		err = i.out.Flush()
	}
	switch {
	case err != nil:
		return clikit.OutputError(err)
	case ctx.Err() != nil:
		return clikit.Interrupted()
	case readErr != nil:
		return &clikit.Failure{Code: clikit.ExitInput, Err: in.ReadError(readErr)}
	case i.problems > 0:
		return fmt.Errorf("frames with problems: %s of %s", wording.Number(i.problems), wording.Number(i.total.count))
	}
	return nil
}

// An inspection is one run over an input.
type inspection struct {
	*inspectOptions
	in       *input.Stream
	out      *bufio.Writer
	problems int64 // number of frames with a problem
	summary
}

// run examines all frames. It returns the input error and the output error.
func (i *inspection) run(ctx context.Context, bar *clikit.Progress) (readErr, writeErr error) {
	r := wire.NewReader(i.in, &wire.ReaderOptions{MaxFrameBytes: int(i.maxFrame)})
	for msg, err := range r.Messages() {
		if err != nil || ctx.Err() != nil { // after an interrupt, the last frame may be incomplete
			return err, nil
		}
		pos := r.Position()
		if err := i.report(msg, pos); err != nil {
			return nil, err
		}
		bar.Set(pos.Offset + pos.Bytes + 1) // with the end of the line
	}
	return nil, nil
}

// report examines a frame. From a pipe, each frame is listed at once: the next one may take long to
// come.
func (i *inspection) report(msg wire.Message, pos wire.Position) error {
	f := examine(msg, pos, i.maxErrors())
	if f.Problem != "" && !f.isText {
		i.problems++
	}
	if !i.json {
		i.add(f)
		return nil
	}
	i.total.add(pos)
	line, err := clikit.JSONLine(f.frameRecord)
	if err != nil {
		return err
	}
	if _, err := i.out.Write(line); err != nil || i.in.Size >= 0 {
		return err
	}
	return i.out.Flush()
}

// maxErrors is the number of invalid blocks per frame whose errors are shown.
func (o *inspectOptions) maxErrors() int {
	if o.json {
		return 1
	}
	return maxNotes
}

// progress returns the bar for an input, or nil if it would disturb the output.
func (o *inspectOptions) progress(in *input.Stream) *clikit.Progress {
	typed := in.File == nil && clikit.IsTerminal(o.streams.In)
	listed := o.json && clikit.IsTerminal(o.streams.Out)
	if typed || listed {
		return nil
	}
	return clikit.ProgressOn(o.streams.Err, in.Size, time.Now)
}

// A finding is the result of examining a frame.
type finding struct {
	frameRecord
	pos       wire.Position
	kind      wire.Kind
	isText    bool   // it is a line that is not JSON
	text      string // of the line
	isInvalid bool   // the frame does not decode

	invalidBlocks int
	blockErrors   []string // of the first invalid blocks
	maxErrors     int      // number of errors to keep; each costs a pass over the frame
}

// A frameRecord is a frame in JSON.
type frameRecord struct {
	Line    int    `json:"line"`
	Offset  int64  `json:"offset"`
	Bytes   int64  `json:"bytes"`
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Known   bool   `json:"known"`
	Problem string `json:"problem"` // the first error in the frame, or ""

	UnknownFields []string `json:"unknown_fields,omitempty"`
	UnknownBlocks []string `json:"unknown_blocks,omitempty"`
	UnknownEvent  string   `json:"unknown_event,omitempty"`
	Misfits       []string `json:"misfits,omitempty"`
}

func examine(msg wire.Message, pos wire.Position, maxErrors int) finding {
	f := finding{pos: pos, kind: msg.Kind(), maxErrors: maxErrors}
	f.Line, f.Offset, f.Bytes = pos.Line, pos.Offset, pos.Bytes
	if e, ok := entryOf(msg); ok {
		f.entry(e)
	} else {
		f.Known = wire.Known(f.kind)
		f.examine(msg)
	}
	f.Type, f.Subtype = f.kind.Type, f.kind.Subtype
	switch {
	case f.Problem != "":
	case len(f.blockErrors) > 0:
		f.Problem = "invalid block: " + f.blockErrors[0]
	case len(f.Misfits) > 0:
		f.Problem = f.Misfits[0]
	}
	return f
}

func (f *finding) examine(msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.InvalidFrame:
		f.isInvalid, f.Problem = true, msg.Err.Error()
		return
	case *wire.TextLine:
		f.isText, f.text, f.Problem = true, clikit.Clip(msg.Text), "not JSON"
		return
	case *wire.UnknownMessage:
		f.kind.Subtype = subtypeOf(msg)
		return
	case *wire.AssistantMessage:
		f.blocks(msg.Content)
	case *wire.UserMessage:
		f.blocks(msg.Content)
	case *wire.StreamEventMessage:
		f.event(msg.Event)
	case *wire.ResultMessage:
		f.Known = knownResult(msg.Subtype)
	case *wire.ControlRequestMessage:
		f.kind.Subtype = msg.Request.Subtype
	case *wire.ControlResponseMessage:
		f.kind.Subtype = msg.Response.Subtype
	}
	unknown, misfits := wire.Survey(msg)
	f.UnknownFields = unknown
	for _, field := range misfits {
		f.Misfits = append(f.Misfits, field.Error())
	}
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
		f.UnknownBlocks = append(f.UnknownBlocks, b.BlockType())
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
		f.blockErrors = append(f.blockErrors, err().Error())
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
		f.UnknownEvent = eventName(e)
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

// A summary collects the findings, and is printed as tables.
type summary struct {
	on canvas

	total         stat
	kinds         tally
	unknownKinds  tally
	unknownFields tally
	unknownBlocks tally
	unknownEvents tally
	invalidFrames notes
	invalidBlocks notes
	misfits       notes
	textLines     notes
}

func (s *summary) add(f finding) {
	s.total.add(f.pos)
	switch {
	case f.isText:
		s.textLines.add(f.pos, f.text)
	case f.isInvalid:
		s.invalidFrames.add(f.pos, f.Problem)
	default:
		s.addFrame(f)
	}
}

func (s *summary) addFrame(f finding) {
	kind := wire.Kind{Type: clikit.Clip(f.Type), Subtype: clikit.Clip(f.Subtype)}
	s.kinds.add(tallyKey{kind: kind}, f.pos)
	if !f.Known {
		s.unknownKinds.add(tallyKey{kind: kind}, f.pos)
	}
	for _, path := range f.UnknownFields {
		s.unknownFields.add(tallyKey{kind, clikit.Clip(path) + " in " + kind.String()}, f.pos)
	}
	for _, block := range f.UnknownBlocks {
		s.unknownBlocks.add(tallyKey{text: clikit.Clip(block)}, f.pos)
	}
	if f.UnknownEvent != "" {
		s.unknownEvents.add(tallyKey{text: clikit.Clip(f.UnknownEvent)}, f.pos)
	}
	for _, err := range f.blockErrors {
		s.invalidBlocks.add(f.pos, err)
	}
	s.invalidBlocks.total.count += int64(f.invalidBlocks - len(f.blockErrors))
	for _, field := range f.Misfits {
		s.misfits.add(f.pos, field)
	}
}

func (s *summary) text() string {
	if s.total.count == 0 {
		return "no frames\n"
	}
	w := &page{canvas: s.on}
	s.printKinds(w)
	w.tally("unknown kinds", &s.unknownKinds)
	w.tally("unknown fields", &s.unknownFields)
	w.tally("unknown blocks", &s.unknownBlocks)
	w.tally("unknown events", &s.unknownEvents)
	w.notes("invalid frames", "PROBLEM", &s.invalidFrames)
	w.notes("invalid blocks", "PROBLEM", &s.invalidBlocks)
	w.notes("fields that do not fit", "PROBLEM", &s.misfits)
	w.notes("lines that are not JSON", "TEXT", &s.textLines)
	return w.String()
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
	for _, k := range s.kinds.keys() {
		row(k.kind, s.kinds.stats[k], tty.Plain)
	}
	row(wire.Kind{Type: "(other kinds)"}, &s.kinds.rest, tty.Dim)
	row(wire.Kind{Type: "(invalid frames)"}, &s.invalidFrames.total, tty.Failure)
	row(wire.Kind{Type: "(not JSON)"}, &s.textLines.total, tty.Waiting)
	row(wire.Kind{Type: "total"}, &s.total, tty.Title)
	t.Print(&w.Builder, w.width)
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

// tally prints the number and the first line of each name.
func (w *page) tally(title string, names *tally) {
	if len(names.stats) == 0 {
		return
	}
	t := w.table(title, tty.Waiting, "  NAME", "COUNT>", "FIRST LINE>")
	for _, k := range names.keys() {
		s := names.stats[k]
		t.Add("  "+k.String(), wording.Number(s.count), strconv.Itoa(s.line))
	}
	t.Print(&w.Builder, w.width)
	if n := names.rest.count; n > 0 {
		w.WriteString(w.secondary(fmt.Sprintf("  and %s more, with names that are not listed", wording.Number(n))))
	}
}

// notes prints the first notes of one kind.
func (w *page) notes(title, heading string, all *notes) {
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

// A tallyKey is a kind of frames, a field of frames of that kind, or the type of a block or an event.
type tallyKey struct {
	kind wire.Kind
	text string // "" for a kind
}

func (k tallyKey) String() string { return cmp.Or(k.text, k.kind.String()) }

// maxNames is the number of names in a tally. The agent uses a few dozen; without a limit, garbage
// could fill the memory.
const maxNames = 1000

// A tally counts by key.
type tally struct {
	stats map[tallyKey]*stat
	rest  stat // of keys beyond the limit
}

func (t *tally) add(k tallyKey, pos wire.Position) {
	s := t.stats[k]
	switch {
	case s != nil:
	case len(t.stats) == maxNames:
		s = &t.rest
	default:
		s = new(stat)
		if t.stats == nil {
			t.stats = map[tallyKey]*stat{}
		}
		t.stats[k] = s
	}
	s.add(pos)
}

// keys returns the keys, the most frequent first. Equally frequent ones are sorted by their bytes.
func (t *tally) keys() []tallyKey {
	return slices.SortedFunc(maps.Keys(t.stats), func(a, b tallyKey) int {
		x, y := t.stats[a], t.stats[b]
		return cmp.Or(cmp.Compare(y.count, x.count), cmp.Compare(y.bytes, x.bytes), cmp.Compare(a.kind.Type, b.kind.Type),
			cmp.Compare(a.kind.Subtype, b.kind.Subtype), cmp.Compare(a.text, b.text))
	})
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
