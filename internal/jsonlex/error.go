package jsonlex

import "fmt"

// A Fault says what kind of error an [Error] is.
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

// MaxDepth is how deep objects and arrays may be nested, as in encoding/json.
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

// Syntax reports whether the text is not JSON, as against JSON of an unwanted
// shape.
func (e *Error) Syntax() bool { return e.Fault <= TooDeep }
