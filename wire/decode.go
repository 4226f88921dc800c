package wire

import (
	"bytes"
	"sync"

	"github.com/clewdev/clew/internal/jsonlex"
)

// Decode decodes one frame. A frame that does not decode, or with anything but
// white space behind it, is an [*InvalidFrame]. The message shares no memory
// with data. Decode may be called from several goroutines.
func Decode(data []byte) Message {
	d := decoders.Get().(*Decoder)
	defer decoders.Put(d)
	return d.Decode(data)
}

var decoders = sync.Pool{New: func() any { return NewDecoder(nil) }}

// A Decoder decodes frames that have been separated already, with options. It is
// for one goroutine at a time.
type Decoder struct {
	d decoder
}

// NewDecoder returns a decoder. Of the options, which may be nil, it takes
// DiscardRaw and Registry.
func NewDecoder(opts *ReaderOptions) *Decoder {
	d := new(Decoder)
	d.d.configure(opts)
	return d
}

// Decode decodes one frame, as [Decode] does.
func (d *Decoder) Decode(data []byte) Message {
	defer d.d.unload()
	msg, n, err := d.d.frame(data)
	if err == nil && n == len(data) {
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

// DecodeContent decodes the content of a message or of a tool's result: a
// string, which becomes one [*TextBlock], or a list of blocks.
func DecodeContent(data JSON) (Content, error) {
	if data == "" {
		return nil, nil
	}
	var d decoder
	var content Content
	err := d.whole([]byte(data), func() { content = d.content() })
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

	survey  bool  // note the members that no field stands for
	unknown []int // where their values are

	faults      *faults // of the blocks of this text
	behindEvent int     // see streamEvent
}

func (d *decoder) configure(opts *ReaderOptions) {
	d.keepRaw = opts == nil || !opts.DiscardRaw
	if opts != nil {
		d.registry = opts.Registry
	}
}

// frame decodes the frame at the start of data and returns how much of data it
// takes, also where it is JSON but does not decode. data may be changed
// afterwards.
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

// graver returns the error of a text that is not even JSON in place of the one
// that decoding met first.
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
		d.FirstKey()
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
	return d.String()
}

// invalid makes the message for a frame that does not decode.
func (d *decoder) invalid(data []byte, err *jsonlex.Error) *InvalidFrame {
	return &InvalidFrame{Err: frameError(data, err), raw: string(data), kind: kindOf(data)}
}

// whole decodes a text that is one value, with do.
func (d *decoder) whole(data []byte, do func()) error {
	d.keepRaw = true
	d.load(data)
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

// require records the first required member that is not among those seen.
func (d *decoder) require(start int, seen uint, names ...string) {
	for i, name := range names {
		if seen&(1<<i) == 0 {
			d.FailMissing(start, name)
			return
		}
	}
}

// A mark is a place to go back to.
type mark struct{ pos, depth, unknown int }

func (d *decoder) mark() mark {
	d.Peek()
	return mark{d.Pos(), d.Depth(), len(d.unknown)}
}

// forgive passes over the value at m if decoding it failed because of its shape,
// and reports whether it did.
func (d *decoder) forgive(m mark) bool {
	err := d.Err()
	if err == nil || err.Syntax() {
		return false
	}
	d.unknown = d.unknown[:m.unknown]
	d.Seek(d.text, m.pos, m.depth)
	d.Skip()
	return d.Err() == nil
}
