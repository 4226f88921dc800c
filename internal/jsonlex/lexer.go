// Package jsonlex reads JSON in one pass, straight from bytes to the values a caller wants, without
// reflection and without intermediate trees.
//
// It accepts exactly what encoding/json accepts, and agrees with it on every value: bytes that are
// not UTF-8 and lone surrogates become U+FFFD, control characters inside strings are errors,
// nesting is limited to [MaxDepth]. The one difference is that an integer may be written as 3.0 or
// 1e3. Fuzz tests hold it to that.
//
// # Reading
//
// A [Lexer] stands before a value. The typed methods ([Lexer.String], [Lexer.Int], …) consume one
// value; [Lexer.FirstKey] and [Lexer.NextKey] walk an object, [Lexer.FirstElem] and
// [Lexer.NextElem] an array; [Lexer.Skip] passes over a value and checks it.
//
// The first error sticks: from then on every method returns a zero value and every walk ends, so a
// decoder checks [Lexer.Err] once, at its end.
//
// A lexer that was made [Lexer.Lenient] passes over a value that does not fit what is asked for, as
// if it were not there: only what is not JSON is an error then.
//
// # Joining
//
// A [Tracker] follows a JSON object that arrives in pieces, and says after each piece whether the
// object is complete, can still be continued, or cannot be JSON any more. It keeps no bytes and
// never looks at one twice.
package jsonlex

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A Lexer reads one JSON text. The zero value reads the empty text; [Lexer.Reset] gives it another.
// It may be reused, and is for one goroutine at a time.
type Lexer struct {
	data    []byte // nil after an error, so that every walk ends
	pos     int
	shared  string // the text once more, for strings to point into, or empty
	depth   int
	err     *Error
	scratch []byte // holds a string while its escapes are resolved

	lenient bool         // values that do not fit are passed over
	misfits int          // how many there were
	note    func(*Error) // gets each of them, unless it is nil
}

// Reset makes l read data from its start. The lexer does not change data, and keys that it returns
// may share its memory.
func (l *Lexer) Reset(data []byte) {
	l.shared = ""
	l.Seek(data, 0, 0)
}

// Share lets strings share the memory of text, which l reads. A string does if it stands in the
// text as it is, and is a good part of it: a string that is kept for itself must not hold on to a
// text many times as long.
func (l *Lexer) Share(text string) { l.shared = text }

// Seek makes l read data from pos, where depth containers are open, and forgets any error.
func (l *Lexer) Seek(data []byte, pos, depth int) {
	l.data, l.pos, l.depth, l.err = data, pos, depth, nil
}

// Lenient makes l pass over values that do not fit: of another JSON type than the one asked for, or
// numbers out of range. The method that was called returns its zero value. note, unless it is nil,
// gets an error for each.
func (l *Lexer) Lenient(note func(*Error)) { l.lenient, l.note = true, note }

// Misfits returns how many values a lenient lexer has passed over.
func (l *Lexer) Misfits() int { return l.misfits }

// Pos returns the offset of the next byte.
func (l *Lexer) Pos() int { return l.pos }

// Depth returns how many containers are open.
func (l *Lexer) Depth() int { return l.depth }

// Err returns the first error, or nil.
func (l *Lexer) Err() *Error { return l.err }

// Fail records an error at offset, unless there is one already, and ends every walk.
func (l *Lexer) Fail(fault Fault, offset int, reason string) {
	if l.err == nil {
		l.err = &Error{Fault: fault, Offset: offset, Reason: reason}
	}
	l.data = nil
}

// FailBecause records an error of the caller's about the value at offset.
func (l *Lexer) FailBecause(offset int, cause error) {
	if l.err == nil {
		l.err = &Error{Fault: Mismatch, Offset: offset, Reason: cause.Error(), Cause: cause}
	}
	l.data = nil
}

// Lacks notes that the object that starts at offset lacks a member, and fails unless l is lenient.
func (l *Lexer) Lacks(offset int, name string) {
	if l.lenient {
		l.misfits++
		if l.note != nil {
			l.note(missing(offset, name))
		}
		return
	}
	l.FailMissing(offset, name)
}

func missing(offset int, name string) *Error {
	return &Error{Fault: Missing, Offset: offset, Name: name, Reason: "missing " + name}
}

// FailMissing records that the object that starts at offset lacks a member.
func (l *Lexer) FailMissing(offset int, name string) {
	if l.err == nil {
		l.err = missing(offset, name)
	}
	l.data = nil
}

// Peek returns the first byte of the next value, or 0 at the end of the text.
func (l *Lexer) Peek() byte {
	if i := l.pos; i < len(l.data) {
		if c := l.data[i]; c > ' ' {
			return c
		}
	}
	return l.peekSlow()
}

func (l *Lexer) peekSlow() byte {
	l.pos = skipSpace(l.data, l.pos)
	if l.pos < len(l.data) {
		return l.data[l.pos]
	}
	return 0
}

// FirstKey enters the object that comes next and returns its first key, up to the value that
// belongs to it. It returns false when the object is empty or if the value is not an object. The
// key is valid until the next call.
func (l *Lexer) FirstKey() ([]byte, bool) {
	if l.Peek() != '{' {
		l.Mismatch("object")
		return nil, false
	}
	if !l.enter() {
		return nil, false
	}
	switch l.Peek() {
	case '"':
		return l.key()
	case '}':
		l.leave()
	default:
		l.unexpected("in an object")
	}
	return nil, false
}

// NextKey returns the object's next key, or false after its last.
func (l *Lexer) NextKey() ([]byte, bool) {
	if i := l.pos; i+1 < len(l.data) && l.data[i] == ',' && l.data[i+1] == '"' {
		l.pos++
		return l.key()
	}
	return l.nextKeySlow()
}

func (l *Lexer) nextKeySlow() ([]byte, bool) {
	switch l.Peek() {
	case ',':
		l.pos++
		if l.Peek() == '"' {
			return l.key()
		}
		l.unexpected("where a key belongs")
	case '}':
		l.leave()
	default:
		l.unexpected("after a member")
	}
	return nil, false
}

// FirstElem enters the array that comes next and reports whether it has an element. It also returns
// false if the value is not an array.
func (l *Lexer) FirstElem() bool {
	if l.Peek() != '[' {
		l.Mismatch("array")
		return false
	}
	if !l.enter() {
		return false
	}
	if l.Peek() == ']' {
		l.leave()
		return false
	}
	return l.data != nil
}

// NextElem reports whether the array has another element, and stands before it.
func (l *Lexer) NextElem() bool {
	switch l.Peek() {
	case ',':
		l.pos++
		return true
	case ']':
		l.leave()
	default:
		l.unexpected("after an element")
	}
	return false
}

// End fails unless only white space is left.
func (l *Lexer) End() {
	if l.Peek(); l.pos < len(l.data) {
		l.unexpected("after the value")
	}
}

func (l *Lexer) enter() bool {
	if l.depth >= MaxDepth {
		l.Fail(TooDeep, l.pos, depthReason)
		return false
	}
	l.pos++
	l.depth++
	return true
}

func (l *Lexer) leave() {
	l.pos++
	l.depth--
}

// key reads a key and the colon after it.
func (l *Lexer) key() ([]byte, bool) {
	start := l.pos + 1
	end, ascii := plainEnd(l.data, start)
	if ascii && end+1 < len(l.data) && l.data[end] == '"' && l.data[end+1] == ':' {
		l.pos = end + 2
		return l.data[start:end], true
	}
	key := l.text()
	if l.Peek() == ':' {
		l.pos++
		return key, true
	}
	l.unexpected("after a key")
	return nil, false
}

// Back goes back by one byte.
func (l *Lexer) Back() { l.pos-- }

// Literal consumes s if it comes next, byte for byte, and reports whether it did.
func (l *Lexer) Literal(s string) bool {
	if len(l.data)-l.pos < len(s) || string(l.data[l.pos:l.pos+len(s)]) != s {
		return false
	}
	l.pos += len(s)
	return true
}

// Null consumes a null and reports whether there was one.
func (l *Lexer) Null() bool {
	if l.Peek() != 'n' {
		return false
	}
	l.word("null")
	return true
}

// Bool consumes true or false.
func (l *Lexer) Bool() bool {
	switch l.Peek() {
	case 't':
		l.word("true")
		return l.data != nil
	case 'f':
		l.word("false")
	default:
		l.Mismatch("boolean")
	}
	return false
}

func (l *Lexer) word(w string) {
	end, fault := matchWord(l.data, l.pos, w)
	if fault != 0 {
		l.failAt(end, fault)
		return
	}
	l.pos = end
}

// Skip consumes the next value, whatever it is, and checks that it is JSON. It returns the value's
// bytes, which share the memory of the text.
func (l *Lexer) Skip() []byte {
	l.Peek()
	end, fault := skipValue(l.data, l.pos, l.depth)
	if fault != 0 {
		l.failAt(end, fault)
		return nil
	}
	value := l.data[l.pos:end:end]
	l.pos = end
	return value
}

const depthReason = "nested deeper than 10,000 levels"

// failAt records a fault of the syntax that a scan met at offset.
func (l *Lexer) failAt(offset int, fault Fault) {
	switch fault {
	case Incomplete:
		l.Fail(Incomplete, len(l.data), "unexpected end of JSON")
	case TooDeep:
		l.Fail(TooDeep, offset, depthReason)
	default:
		l.Fail(Malformed, offset, "unexpected "+describe(l.data, offset))
	}
}

func (l *Lexer) unexpected(where string) {
	if l.pos >= len(l.data) {
		l.failAt(l.pos, Incomplete)
		return
	}
	l.Fail(Malformed, l.pos, "unexpected "+describe(l.data, l.pos)+" "+where)
}

// Mismatch records that the next value is not of the JSON type asked for, or that it is not a value
// at all. A lenient lexer passes over the value.
func (l *Lexer) Mismatch(want string) {
	if !l.lenient {
		l.FailMismatch(want)
		return
	}
	at := l.pos
	end, fault := skipValue(l.data, at, l.depth)
	if fault != 0 {
		l.failAt(end, fault)
		return
	}
	l.pos = end
	l.misfit(Mismatch, at, func() string { return mismatchReason(want, l.data[at]) })
}

// FailMismatch is Mismatch for a value that even a lenient lexer can't do without.
func (l *Lexer) FailMismatch(want string) {
	at := l.pos
	if end, fault := skipValue(l.data, at, l.depth); fault != 0 {
		l.failAt(end, fault)
		return
	}
	l.Fail(Mismatch, at, mismatchReason(want, l.data[at]))
}

func mismatchReason(want string, first byte) string {
	return "expected " + want + ", found " + typeName(first)
}

// OutOfRange records that the Go type asked for cannot hold the number at offset, which has been
// passed over.
func (l *Lexer) OutOfRange(offset int, reason func() string) { l.misfit(OutOfRange, offset, reason) }

// misfit notes a value that does not fit, and fails unless l is lenient.
func (l *Lexer) misfit(fault Fault, offset int, reason func() string) {
	if !l.lenient {
		l.Fail(fault, offset, reason())
		return
	}
	l.misfits++
	if l.note != nil {
		l.note(&Error{Fault: fault, Offset: offset, Reason: reason()})
	}
}

// Valid returns nil if data is one JSON value with nothing but white space around it.
func Valid(data []byte) *Error {
	var l Lexer
	l.Reset(data)
	l.Skip()
	l.End()
	return l.err
}

// A Fault is the kind of an [Error].
type Fault uint8

// The faults of a JSON text.
const (
	Malformed  Fault = iota + 1 // not JSON
	Incomplete                  // the text ends before the value does
	TooDeep                     // nested deeper than MaxDepth
	Mismatch                    // a value of another JSON type than the one asked for
	OutOfRange                  // a number that the Go type asked for cannot hold
	Missing                     // a member that has to be there is not
)

// MaxDepth is the maximum depth of nested objects and arrays, as in encoding/json.
const MaxDepth = 10_000

// An Error is a fault of a JSON text and the place of it.
type Error struct {
	Fault  Fault
	Offset int    // of the offending byte or value
	Name   string // the absent member, when Fault is Missing
	Reason string
	Cause  error // of a caller, or nil
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

// Syntax reports whether the text is not JSON, as against JSON of an unwanted shape.
func (e *Error) Syntax() bool { return e.Fault <= TooDeep }

// typeName returns the name of the JSON type by a value's first byte.
func typeName(first byte) string {
	switch first {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// describe names the character at offset for an error message.
func describe(data []byte, offset int) string {
	if offset >= len(data) {
		return "end of JSON"
	}
	r, size := utf8.DecodeRune(data[offset:])
	if r == utf8.RuneError && size == 1 {
		return "byte 0x" + strconv.FormatUint(uint64(data[offset]), 16)
	}
	return strconv.QuoteRune(r)
}
