package wire

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/clewdev/clew/internal/jsonlex"
)

// ErrFrameTooLarge is wrapped by the [InvalidFrame] of a frame that is longer than
// [ReaderOptions.MaxFrameBytes].
var ErrFrameTooLarge = errors.New("wire: frame too large")

// An InvalidFrame is input that can't be a frame: a text that is not JSON, JSON that is not an
// object or has no type, or a frame that is too large. It is an error as well, and wraps a
// [*SyntaxError], a [*FieldError] or a [*TooLargeError]. A frame with a field that does not fit is
// not invalid: see [Misfits].
type InvalidFrame struct {
	// Line is the line that the frame starts on, counted from 1. It is 0 for a frame decoded by
	// itself.
	Line int
	// Offset is the place of its first byte in the stream, counted from 0.
	Offset int64
	// Err describes the problem.
	Err error

	raw  string
	kind Kind
}

// Kind returns the type and subtype that the frame claims, as far as they could be read. A result
// that is cut off before its type is recognized by its other fields.
func (m *InvalidFrame) Kind() Kind { return m.kind }

// Raw returns the frame as it was read, which may not be JSON, without the line ends inside it. For
// a frame that was too large it returns only the beginning.
func (m *InvalidFrame) Raw() string { return m.raw }

// Error returns the place of the frame and the problem.
func (m *InvalidFrame) Error() string {
	if m.Line == 0 {
		return fmt.Sprintf("wire: invalid frame: %v", m.Err)
	}
	return fmt.Sprintf("wire: invalid frame at line %d, offset %d: %v", m.Line, m.Offset, m.Err)
}

// Unwrap returns Err.
func (m *InvalidFrame) Unwrap() error { return m.Err }

func (m *InvalidFrame) sealed() {}

// kindOf returns the type and subtype that a frame claims, as far as they can be read.
func kindOf(text []byte) Kind {
	kind, _ := jsonlex.Unquote(jsonlex.Lookup(text, 0, "type"))
	subtype, _ := jsonlex.Unquote(jsonlex.Lookup(text, 0, "subtype"))
	return Kind{Type: string(kind), Subtype: string(subtype)}
}

// invalidKind is kindOf for a frame that does not decode, and may be cut off.
func invalidKind(text []byte) Kind {
	kind := kindOf(text)
	if kind.Type == "" && jsonlex.Lookup(text, 0, resultMember) != nil {
		kind.Type = "result"
	}
	return kind
}

// resultMember is the first member of a result, and of nothing else. The type comes late in
// results, so a truncated one may lack it.
const resultMember = "duration_api_ms"

// A SyntaxError reports that a frame is not JSON.
type SyntaxError struct {
	// Offset is the offending byte, counted from the start of the frame's Raw.
	Offset int
	// Truncated reports whether the frame ends before its JSON does.
	Truncated bool
	// Reason describes the error.
	Reason string
}

// Error returns the reason and the place of the error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

// A FieldError reports that a frame is JSON, but a field does not have the shape that the frame's
// kind requires. It is the error of an [InvalidFrame] or of an [InvalidBlock], or one of the
// [Misfits] of a message.
type FieldError struct {
	// Pointer is the JSON pointer of the field, empty for the frame itself.
	Pointer string
	// Missing reports whether the field is absent or null.
	Missing bool
	// Reason describes the error.
	Reason string
	// Err is the error of a decoder of a [Registry], or nil.
	Err error
}

// Error returns the place of the field and the reason.
func (e *FieldError) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return e.Pointer + ": " + e.Reason
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// A TooLargeError reports the length of a frame that passed the limit. It wraps [ErrFrameTooLarge].
type TooLargeError struct {
	// Size is the length of the frame in bytes.
	Size int64
	// Limit is the longest frame in bytes that is allowed: [ReaderOptions.MaxFrameBytes].
	Limit int
}

// Error returns the length of the frame and the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("frame too large: %d bytes, the limit is %d", e.Size, e.Limit)
}

// Unwrap returns ErrFrameTooLarge.
func (e *TooLargeError) Unwrap() error { return ErrFrameTooLarge }

// frameError turns an error of the lexer into one for callers. text is the lexer's input.
func frameError(text []byte, err *jsonlex.Error) error {
	if err.Syntax() {
		return &SyntaxError{Offset: err.Offset, Truncated: err.Fault == jsonlex.Incomplete, Reason: err.Reason}
	}
	return fieldError(jsonlex.Pointer(text, err.Offset), err)
}

// fieldError is frameError for a text that is JSON, and a value in it that the pointer points to.
func fieldError(pointer string, err *jsonlex.Error) *FieldError {
	if err.Fault == jsonlex.Missing {
		return &FieldError{Pointer: pointer + "/" + err.Name, Missing: true, Reason: "required field is missing"}
	}
	return &FieldError{Pointer: pointer, Reason: err.Reason, Err: err.Cause}
}

// maxMisfits is the maximum number of fields [Misfits] returns: the frame may be hostile.
const maxMisfits = 100

// Misfits returns the fields of msg that do not fit: fields of an unexpected type, numbers that are
// out of range, and fields that are missing although every frame of this kind has them. Such a
// field, or such an element of a list or a map, has its zero value. The rest of the message is not
// affected. Misfits returns at most 100 fields, in the order of the frame. A block that makes no
// sense without one of its fields is an [*InvalidBlock], and not among them.
//
// Misfits takes as long as decoding the message. It needs the message's text, which is missing with
// [ReaderOptions.DiscardRaw].
func Misfits(msg Message) []*FieldError {
	_, misfits := Survey(msg)
	return misfits
}

// misfitErrors returns the errors that were noted, in the order of the frame.
func (d *decoder) misfitErrors() []*FieldError {
	if len(d.misfits) == 0 {
		return nil
	}
	slices.SortStableFunc(d.misfits, func(a, b *jsonlex.Error) int { return a.Offset - b.Offset })
	offsets := make([]int, len(d.misfits))
	for i, err := range d.misfits {
		offsets[i] = err.Offset
	}
	var all []*FieldError
	for i, pointer := range jsonlex.Pointers(d.text, offsets) {
		all = append(all, fieldError(pointer, d.misfits[i]))
	}
	return slices.CompactFunc(all, func(a, b *FieldError) bool { return *a == *b })
}

// noteMisfit keeps an error for [Misfits].
func (d *decoder) noteMisfit(err *jsonlex.Error) {
	if len(d.misfits) < maxMisfits {
		d.misfits = append(d.misfits, err)
	}
}

// faults are the errors of a text's invalid blocks. All their pointers are found in one walk, when
// the first is asked for.
type faults struct {
	text     string
	errs     []*jsonlex.Error // in the order of their offsets
	once     sync.Once
	pointers []string
}

func (f *faults) err(i int) error {
	f.once.Do(func() {
		offsets := make([]int, len(f.errs))
		for i, err := range f.errs {
			offsets[i] = err.Offset
		}
		f.pointers = jsonlex.Pointers([]byte(f.text), offsets)
	})
	return fieldError(f.pointers[i], f.errs[i])
}
