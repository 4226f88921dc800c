package wire

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/clewdev/clew/internal/jsonlex"
)

// Decode decodes one frame. A frame that does not decode, or is followed by anything but white
// space, is an [*InvalidFrame]. The message shares no memory with data. Decode may be called from
// several goroutines.
func Decode(data []byte) Message {
	d := decoders.Get().(*Decoder)
	defer decoders.Put(d)
	return d.Decode(data)
}

var decoders = sync.Pool{New: func() any { return NewDecoder(nil) }}

// A Decoder decodes frames that were separated already, with options. It is for one goroutine at a
// time.
type Decoder struct {
	d decoder
}

// NewDecoder returns a decoder. Of the options, which may be nil, it takes DiscardRaw and Registry.
func NewDecoder(opts *ReaderOptions) *Decoder {
	d := new(Decoder)
	d.d.configure(opts)
	return d
}

// Decode decodes one frame, as [Decode] does.
func (d *Decoder) Decode(data []byte) Message {
	defer d.d.unload()
	msg, n, err := d.d.frame(data)
	if err == nil && len(bytes.Trim(data[n:], " \t\r\n")) == 0 {
		return msg
	}
	if syntax := jsonlex.Valid(data); syntax != nil {
		err = syntax
	}
	if err != nil {
		return d.d.invalid(data, err)
	}
	return msg
}

// DecodeContent decodes the content of a message or of a tool's result: a string, which becomes one
// [*TextBlock], or a list of blocks.
func DecodeContent(data JSON) (Content, error) {
	if data == "" {
		return nil, nil
	}
	var d decoder
	var content Content
	err := d.whole(string(data), func() { content = d.onlyContent() })
	return content, err
}

// A decoder is a lexer that knows the shapes of the wire.
type decoder struct {
	jsonlex.Lexer

	text     []byte // what the lexer reads
	keepRaw  bool   // messages keep what they were read from
	raw      string // text, for them to keep
	names    nameTable
	registry *Registry

	strict  bool             // what does not fit is an error
	survey  bool             // note the members that no field stands for, and those that do not fit
	unknown []int            // where the values of the former are
	misfits []*jsonlex.Error // about the latter

	faults      *faults // of the blocks of this text
	behindEvent int     // see streamEvent
}

func (d *decoder) configure(opts *ReaderOptions) {
	d.keepRaw = opts == nil || !opts.DiscardRaw
	if opts != nil {
		d.registry = opts.Registry
	}
}

// frame decodes the frame at the start of data and returns its length, even if it is JSON that does
// not decode. The caller may change data afterwards.
func (d *decoder) frame(data []byte) (Message, int, *jsonlex.Error) {
	d.load(data)
	msg := d.message()
	if err := d.Err(); err != nil {
		err = d.graver(err)
		return nil, d.Pos(), err
	}
	d.raw = ""
	return msg, d.Pos(), nil
}

// load makes d read text.
func (d *decoder) load(text []byte) {
	d.text, d.faults = text, nil
	d.Reset(text)
	switch {
	case d.survey:
		d.Lenient(d.noteMisfit)
	case !d.strict:
		d.Lenient(nil)
	}
	if d.keepRaw {
		d.raw = string(text)
		d.Share(d.raw)
	}
}

// unload lets go of the text.
func (d *decoder) unload() {
	d.text, d.raw = nil, ""
	d.Reset(nil)
}

// graver returns the error of a text that is not even JSON in place of the first error of decoding.
func (d *decoder) graver(err *jsonlex.Error) *jsonlex.Error {
	if err.Syntax() {
		return err
	}
	d.Reset(d.text)
	d.Skip()
	if syntax := d.Err(); syntax != nil {
		return syntax
	}
	return err
}

// message decodes the frame that comes next into the variant of its type.
func (d *decoder) message() Message {
	if bytes.HasPrefix(d.text, []byte(streamEventStart)) {
		return d.streamEvent()
	}
	kind, ok := jsonlex.Unquote(jsonlex.Lookup(d.text, 0, "type"))
	if !ok || len(kind) == 0 {
		d.untyped()
		return nil
	}
	return d.messageOf(kind)
}

// untyped records why a frame has no type.
func (d *decoder) untyped() {
	if d.Peek() != '{' {
		d.FailMismatch("object")
		return
	}
	start := d.Pos()
	at, _ := jsonlex.Find(d.text, start, "type")
	d.Skip()
	if at < 0 || d.text[at] == 'n' {
		d.FailMissing(start, "type")
		return
	}
	if d.stringAt(at) == "" {
		d.Fail(jsonlex.Mismatch, at, "is empty")
	}
}

// stringAt goes to the value at offset, and fails unless it is a string.
func (d *decoder) stringAt(offset int) string {
	if d.Err() == nil {
		d.Seek(d.text, offset, d.Depth()+1)
	}
	return d.needStr()
}

// invalid makes the message for a frame that does not decode.
func (d *decoder) invalid(data []byte, err *jsonlex.Error) *InvalidFrame {
	return &InvalidFrame{Err: frameError(data, err), raw: string(data), kind: invalidKind(data)}
}

// whole decodes a text that is one value, with do.
func (d *decoder) whole(data string, do func()) error {
	defer d.names.free()
	d.load([]byte(data))
	d.keepRaw, d.raw = true, data
	d.Share(data)
	do()
	d.End()
	if err := d.Err(); err != nil {
		return frameError(d.text, d.graver(err))
	}
	return nil
}

// span returns the bytes from start to here, for a value to keep.
func (d *decoder) span(start int) string {
	if !d.keepRaw || start > d.Pos() {
		return ""
	}
	return d.raw[start:d.Pos()]
}

// keep returns the bytes from start to here even if raw bytes are not kept.
func (d *decoder) keep(start int) string {
	if d.keepRaw {
		return d.span(start)
	}
	return string(d.text[start:d.Pos()])
}

// lacks notes the required members that are not among those seen.
func (d *decoder) lacks(start int, seen uint, names ...string) {
	for i, name := range names {
		if seen&(1<<i) == 0 {
			d.Lacks(start, name)
		}
	}
}

// require records the first member that is not among those seen, and that its block is nothing
// without.
func (d *decoder) require(start int, seen uint, names ...string) {
	for i, name := range names {
		if seen&(1<<i) == 0 {
			d.FailMissing(start, name)
			return
		}
	}
}

// A mark is a place to go back to.
type mark struct{ pos, depth, unknown, misfits int }

func (d *decoder) mark() mark {
	d.Peek()
	return mark{d.Pos(), d.Depth(), len(d.unknown), len(d.misfits)}
}

// back goes back to m, and forgets what was found behind it.
func (d *decoder) back(m mark) {
	d.unknown, d.misfits = d.unknown[:m.unknown], d.misfits[:m.misfits]
	d.Seek(d.text, m.pos, m.depth)
}

// forgive passes over the value at m if decoding it failed because of its shape, and reports
// whether it did.
func (d *decoder) forgive(m mark) bool {
	err := d.Err()
	if err == nil || err.Syntax() {
		return false
	}
	d.back(m)
	d.Skip()
	return d.Err() == nil
}

// Content decodes the content of a message or of a tool's result, as [DecodeContent] does, without
// changing data. With [ReaderOptions.DiscardRaw] each block has separate memory, so that keeping
// one block does not keep the others.
func (d *Decoder) Content(data []byte) (Content, error) {
	if len(data) == 0 {
		return nil, nil
	}
	defer d.d.unload()
	d.d.load(data)
	content := d.d.onlyContent()
	d.d.End()
	if err := d.d.Err(); err != nil {
		return content, frameError(d.d.text, d.d.graver(err))
	}
	return content, nil
}

// Nearly every frame of a stream is a delta, and starts with the same bytes in the same order.
// quickDelta reads those without looking for members one by one. Frames that differ in any way are
// decoded like all others.

const (
	streamEventStart = `{"type":"stream_event",`
	eventStart       = streamEventStart + `"event":`
	deltaStart       = eventStart + `{"type":"content_block_delta","index":`
	deltaKind        = `,"delta":{"type":"`
)

// streamEvent decodes a stream_event.
func (d *decoder) streamEvent() Message {
	at := d.mark()
	msg := d.quickDelta()
	d.behindEvent = d.Pos()
	if msg == nil {
		d.back(at)
		msg = new(StreamEventMessage)
	} else {
		d.Seek(d.text, at.pos, at.depth)
	}
	msg.decode(d)
	return msg
}

// quickDelta reads the event of a frame that starts as usual, up to the event's end, into one
// allocation with its message. Otherwise it returns nil.
func (d *decoder) quickDelta() *StreamEventMessage {
	start := d.Pos() + len(eventStart)
	if !d.Literal(deltaStart) || d.Peek() < '0' || d.Peek() > '9' {
		return nil
	}
	index := d.int()
	if !d.Literal(deltaKind) {
		return nil
	}
	switch {
	case d.Literal(`text_delta","text":"`):
		msg, delta := withDelta[TextDeltaEvent]()
		delta.Text = d.quickText()
		return d.quickEnd(msg, delta, index, start)
	case d.Literal(`input_json_delta","partial_json":"`):
		msg, delta := withDelta[InputJSONDeltaEvent]()
		delta.PartialJSON = d.quickText()
		return d.quickEnd(msg, delta, index, start)
	case d.Literal(`thinking_delta","thinking":"`):
		msg, delta := withDelta[ThinkingDeltaEvent]()
		delta.Thinking = d.quickText()
		if d.Literal(`,"estimated_tokens":`) {
			delta.EstimatedTokens = d.int()
		}
		return d.quickEnd(msg, delta, index, start)
	}
	return nil
}

// withDelta makes a message and its event in one allocation.
func withDelta[T any]() (*StreamEventMessage, *T) {
	both := new(struct {
		message StreamEventMessage
		delta   T
	})
	return &both.message, &both.delta
}

// quickText reads a string whose opening quote was taken.
func (d *decoder) quickText() string {
	d.Back()
	return d.str()
}

// quickName is quickText for a string that is likely to come again.
func (d *decoder) quickName() string {
	d.Back()
	return d.name()
}

func (d *decoder) quickEnd(m *StreamEventMessage, event deltaEvent, index, start int) *StreamEventMessage {
	if !d.Literal("}}") {
		return nil
	}
	event.place(index, d.span(start))
	m.Event = event
	return m
}

// firstKey enters the frame. If quickDelta read the event, it continues after the event and the
// members that usually follow it.
func (v *StreamEventMessage) firstKey(d *decoder, seen *uint) ([]byte, bool) {
	if v.Event == nil {
		return d.FirstKey()
	}
	d.Seek(d.text, d.behindEvent, d.Depth()+1)
	if d.Literal(`,"session_id":"`) {
		v.SessionID = d.quickName()
		*seen |= seenStreamEventMessageSessionID
	}
	d.Literal(`,"parent_tool_use_id":null`)
	if d.Literal(`,"uuid":"`) {
		v.UUID = d.quickText()
		*seen |= seenStreamEventMessageUUID
	}
	if d.Literal(`,"api_message_id":"`) {
		v.APIMessageID = d.quickName()
	}
	return d.NextKey()
}

// check notes that a frame has no event.
func (v *StreamEventMessage) check(d *decoder, start int) {
	if v.Event == nil {
		v.Event = new(UnknownEvent)
		d.Lacks(start, "event")
	}
}

// The methods below decode one value each. A null is the zero value, and so is a value that does
// not fit.

func (d *decoder) str() string { return d.StringOrNull() }

// needStr decodes a string that its block is nothing without.
func (d *decoder) needStr() string {
	if d.Peek() != '"' {
		d.FailMismatch("string")
		return ""
	}
	return d.String()
}

// needName is needStr for a string that is likely to come again.
func (d *decoder) needName() string {
	if d.Peek() != '"' {
		d.FailMismatch("string")
		return ""
	}
	return d.name()
}

// name decodes a string that is likely to come again.
func (d *decoder) name() string { return d.names.get(d.BytesOrNull()) }

func (d *decoder) boolean() bool { return !d.Null() && d.Bool() }

func (d *decoder) booleanPtr() *bool { return optional(d, d.Bool) }

func (d *decoder) int64() int64 {
	if d.Null() {
		return 0
	}
	return d.Int()
}

func (d *decoder) int() int {
	d.Peek()
	at := d.Pos()
	n := d.int64()
	if strconv.IntSize == 32 && n != int64(int32(n)) {
		d.OutOfRange(at, func() string { return "number does not fit into 32 bits" })
		return 0
	}
	return int(n)
}

func (d *decoder) intPtr() *int { return optional(d, d.int) }

// optional decodes a value with read. It returns nil for a value that is null or does not fit.
func optional[T any](d *decoder, read func() T) *T {
	if d.Null() {
		return nil
	}
	before := d.Misfits()
	v := read()
	if d.Misfits() != before {
		return nil
	}
	return &v
}

func (d *decoder) float() float64 {
	if d.Null() {
		return 0
	}
	return d.Float()
}

func (d *decoder) rawJSON() JSON {
	if d.Null() {
		return ""
	}
	return d.anyJSON()
}

func (d *decoder) anyJSON() JSON {
	d.Peek()
	start := d.Pos()
	value := d.Skip()
	if d.keepRaw {
		return JSON(d.span(start))
	}
	return JSON(value)
}

func (d *decoder) rawJSONs() []JSON { return list(d, d.anyJSON) }

func (d *decoder) nameList() []string { return list(d, d.name) }

// list decodes an array, each element with elem. It is nil for null, and not nil for an empty
// array.
func list[T any](d *decoder, elem func() T) []T {
	if d.Peek() != '[' {
		if !d.Null() {
			d.Mismatch("array")
		}
		return nil
	}
	all := []T{}
	for ok := d.FirstElem(); ok; ok = d.NextElem() {
		all = append(all, elem())
	}
	return all
}

// dict decodes an object, each value with elem.
func dict[T any](d *decoder, elem func() T) map[string]T {
	if !d.isObject() {
		return nil
	}
	all := map[string]T{}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		name := d.names.get(key)
		all[name] = elem()
	}
	return all
}

// A shape is a struct of the wire.
type shape[T any] interface {
	*T
	decode(*decoder)
}

func structOf[T any, P shape[T]](d *decoder) T {
	var v T
	if d.isObject() {
		P(&v).decode(d)
	}
	return v
}

func pointerTo[T any, P shape[T]](d *decoder) P {
	if !d.isObject() {
		return nil
	}
	v := P(new(T))
	v.decode(d)
	return v
}

// wholePointerTo is pointerTo for a struct that is nil unless it is whole.
func wholePointerTo[T any, P interface {
	shape[T]
	whole() bool
}](d *decoder) P {
	v := pointerTo[T, P](d)
	if v == nil || !v.whole() {
		return nil
	}
	return v
}

// isObject reports whether an object comes next. It passes over a null, and over what does not fit.
func (d *decoder) isObject() bool {
	if d.Peek() == '{' {
		return true
	}
	if !d.Null() {
		d.Mismatch("object")
	}
	return false
}

func structs[T any, P shape[T]](d *decoder) []T {
	return list(d, func() T { return structOf[T, P](d) })
}

func structDict[T any, P shape[T]](d *decoder) map[string]T {
	return dict(d, func() T { return structOf[T, P](d) })
}

// A nameTable shares strings that come again and again: ids of a session, names of models and
// tools, values of enums. A newcomer takes the slot of its hash, so that the table stays small. A
// reader that waits for input has no table.
type nameTable struct {
	slots *[nameSlots]string
}

var nameTables = sync.Pool{New: func() any { return new([nameSlots]string) }}

const (
	nameSlots  = 1024
	maxNameLen = 80
)

func (t *nameTable) get(b []byte) string {
	if len(b) == 0 || len(b) > maxNameLen {
		return string(b)
	}
	if t.slots == nil {
		t.slots = nameTables.Get().(*[nameSlots]string) //nolint:forcetypeassert // nothing else is in there
	}
	slot := &t.slots[nameHash(b)%nameSlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// free returns the table to the pool.
func (t *nameTable) free() {
	if t.slots != nil {
		nameTables.Put(t.slots)
		t.slots = nil
	}
}

// nameHash mixes the length and the first and last eight bytes.
func nameHash(b []byte) uint64 {
	h := uint64(len(b))
	if len(b) >= 8 {
		h ^= binary.LittleEndian.Uint64(b)
		h = h*0x9E3779B97F4A7C15 ^ binary.LittleEndian.Uint64(b[len(b)-8:])
	} else {
		for _, c := range b {
			h = h<<8 | uint64(c)
		}
	}
	h *= 0x9E3779B97F4A7C15
	return h >> 32
}
