package wire

import (
	"bytes"
	"encoding/json"

	"github.com/clewdev/clew/internal/jsonlex"
)

// Decode decodes one frame. A frame that does not decode, or with anything but
// white space behind it, is an [*InvalidFrame]. The message shares no memory
// with data. Decode may be called from several goroutines.
func Decode(data []byte) Message { return NewDecoder(nil).Decode(data) }

// A Decoder decodes frames that have been separated already. It shares strings
// between frames, which makes it faster than [Decode]; it is for one goroutine
// at a time.
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
	msg, n, err := d.d.frame(data)
	if err == nil && n < len(data) {
		d.d.End()
		err = d.d.Err()
	}
	if err != nil {
		return d.d.invalid(data, err)
	}
	return msg
}

// DecodeContent decodes the content of a message or of a tool's result: a
// string, which becomes one [*TextBlock], or a list of blocks.
func DecodeContent(data json.RawMessage) (Content, error) {
	if data == nil {
		return nil, nil
	}
	var d decoder
	var content Content
	err := d.whole(data, func() { content = d.content() })
	return content, err
}

// A decoder is a lexer that knows the shapes of the wire.
type decoder struct {
	jsonlex.Lexer

	text     []byte // what the lexer reads
	keepRaw  bool   // text belongs to the message, which may point into it
	names    nameTable
	registry *Registry

	// A delta event to fill instead of a new one; see streamEvent.
	textDelta     *TextDeltaEvent
	thinkingDelta *ThinkingDeltaEvent
	inputDelta    *InputJSONDeltaEvent
}

func (d *decoder) configure(opts *ReaderOptions) {
	d.keepRaw = opts == nil || !opts.DiscardRaw
	if opts != nil {
		d.registry = opts.Registry
	}
}

// frame decodes the frame at the start of data and returns how much of data it
// takes. data may be changed afterwards.
func (d *decoder) frame(data []byte) (Message, int, *jsonlex.Error) {
	if d.keepRaw {
		data = bytes.Clone(data)
	}
	d.load(data)
	msg := d.message()
	if err := d.Err(); err != nil {
		return nil, 0, d.graver(err)
	}
	return msg, d.Pos(), nil
}

func (d *decoder) load(text []byte) {
	d.text = text
	d.Reset(text)
}

// graver returns the error of a text that is not even JSON in place of the one
// that decoding met first.
func (d *decoder) graver(err *jsonlex.Error) *jsonlex.Error {
	if err.Syntax() {
		return err
	}
	d.load(d.text)
	d.Skip()
	if syntax := d.Err(); syntax != nil {
		return syntax
	}
	return err
}

// message decodes the frame that comes next into the variant of its type.
func (d *decoder) message() Message {
	value := jsonlex.Lookup(d.text, 0, "type")
	kind, ok := jsonlex.Unquote(value)
	if !ok || len(kind) == 0 {
		d.untyped(value)
		return nil
	}
	return d.messageOf(kind)
}

// untyped records why a frame has no type.
func (d *decoder) untyped(value []byte) {
	if d.Peek() != '{' {
		d.FirstKey()
		return
	}
	start := d.Pos()
	d.Skip()
	if value == nil || value[0] == 'n' {
		d.FailMissing(start, "type")
		return
	}
	offset := len(d.text) - len(d.text[start:]) + bytes.Index(d.text[start:], value)
	d.Seek(d.text, offset, d.Depth())
	if len(d.Bytes()) == 0 {
		d.Fail(jsonlex.Mismatch, offset, "is empty")
	}
}

// invalid makes the message for a frame that does not decode.
func (d *decoder) invalid(data []byte, err *jsonlex.Error) *InvalidFrame {
	kind, _ := jsonlex.Unquote(jsonlex.Lookup(data, 0, "type"))
	subtype, _ := jsonlex.Unquote(jsonlex.Lookup(data, 0, "subtype"))
	return &InvalidFrame{
		Err:  frameError(data, err),
		raw:  bytes.Clone(data),
		kind: Kind{Type: string(kind), Subtype: string(subtype)},
	}
}

// whole decodes a text that is one value, with do.
func (d *decoder) whole(data []byte, do func()) error {
	d.keepRaw = true
	d.load(bytes.Clone(data))
	do()
	d.End()
	if err := d.Err(); err != nil {
		return frameError(d.text, d.graver(err))
	}
	return nil
}

// span returns the bytes from start to here, for a value to keep.
func (d *decoder) span(start int) json.RawMessage {
	if !d.keepRaw {
		return nil
	}
	return d.text[start:d.Pos():d.Pos()]
}

// keep returns the bytes from start to here even if raw bytes are not kept.
func (d *decoder) keep(start int) json.RawMessage {
	end := d.Pos()
	if d.keepRaw {
		return d.text[start:end:end]
	}
	return bytes.Clone(d.text[start:end])
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
type mark struct{ pos, depth int }

func (d *decoder) mark() mark {
	d.Peek()
	return mark{d.Pos(), d.Depth()}
}

// forgive passes over the value at m if decoding it failed because of its shape,
// and reports whether it did.
func (d *decoder) forgive(m mark) bool {
	err := d.Err()
	if err == nil || err.Syntax() {
		return false
	}
	d.Seek(d.text, m.pos, m.depth)
	d.Skip()
	return d.Err() == nil
}
