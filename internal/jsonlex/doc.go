// Package jsonlex reads JSON in one pass, straight from bytes to the values a
// caller wants, without reflection and without intermediate trees.
//
// It accepts exactly what encoding/json accepts, and agrees with it on every
// value: bytes that are not UTF-8 and lone surrogates become U+FFFD, control
// characters inside strings are errors, nesting is limited to [MaxDepth]. The one
// difference is that an integer may be written as 3.0 or 1e3. Fuzz tests hold it to
// that.
//
// # Reading
//
// A [Lexer] stands before a value. The typed methods ([Lexer.String],
// [Lexer.Int], …) consume one value; [Lexer.FirstKey] and [Lexer.NextKey] walk
// an object, [Lexer.FirstElem] and [Lexer.NextElem] an array; [Lexer.Skip]
// passes over a value and checks it.
//
// The first error sticks: from then on every method returns a zero value and
// every walk ends, so a decoder checks [Lexer.Err] once, at its end.
//
// # Joining
//
// A [Tracker] follows a JSON object that arrives in pieces, and says after each
// piece whether the object is complete, can still be continued, or cannot be
// JSON any more. It keeps no bytes and never looks at one twice.
package jsonlex
