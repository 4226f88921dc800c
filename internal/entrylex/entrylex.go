// Package entrylex reads the members of the lines of a transcript. The packages that decode such
// lines, in full or in part, read a value of each kind in the same way: a value of another type
// than expected counts as absent.
package entrylex

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// A Reader reads values one after the other, and shares strings that repeat from line to line. The
// zero value is ready for [jsonlex.Lexer.Reset].
type Reader struct {
	jsonlex.Lexer
	words wordTable
}

// StringBytes reads a string, and skips any other value. The bytes are valid until the next value
// is read.
func (r *Reader) StringBytes() []byte {
	if r.Peek() != '"' {
		r.Skip()
		return nil
	}
	return r.Bytes()
}

// Text reads a string. It returns "" for any other value.
func (r *Reader) Text() string { return string(r.StringBytes()) }

// Word is like Text for a string that is likely to appear again, such as the name of a model: equal
// words share memory.
func (r *Reader) Word() string { return r.words.get(r.StringBytes()) }

// Flag reads a boolean. It returns false for any other value.
func (r *Reader) Flag() bool {
	if c := r.Peek(); c != 't' && c != 'f' {
		r.Skip()
		return false
	}
	return r.Bool()
}

// SkipObject skips a value, and reports whether it is an object.
func (r *Reader) SkipObject() bool {
	is := r.Peek() == '{'
	r.Skip()
	return is
}

// Cost reads an amount of dollars. It returns 0 for anything that is not a positive number.
func (r *Reader) Cost() float64 {
	var l jsonlex.Lexer
	l.Reset(r.Skip())
	if cost := l.Float(); l.Err() == nil && cost > 0 {
		return cost
	}
	return 0
}

// Time reads a time, see [ParseTime].
func (r *Reader) Time() time.Time { return ParseTime(r.StringBytes()) }

// maxTokenCount is the largest number of tokens that is accepted, so that sums of them always fit.
const maxTokenCount = math.MaxInt32

// count reads a number of tokens. It returns 0 for anything that cannot be one.
func (r *Reader) count() int {
	text := r.Skip()
	if n := digits(text); len(text) < 10 && n >= 0 {
		return n
	}
	var l jsonlex.Lexer
	l.Reset(text)
	n := l.Int()
	if l.Err() != nil || n < 0 || n > maxTokenCount {
		return 0
	}
	return int(n)
}

// Number reads which of several things a line is about, counted from 0, and returns it counted from
// 1. It returns 0 for anything that is not such a number.
func (r *Reader) Number() int {
	if c := r.Peek(); c < '0' || c > '9' {
		r.Skip()
		return 0
	}
	return r.count() + 1
}

// Searches returns how many searches a structured tool result reports, or 0. The agent runs
// them in model calls that the transcript does not have. Only the result of WebSearch counts:
// it has its query and a list of results beside the number.
func Searches(result []byte) int {
	if !bytes.Contains(result, []byte(`Count"`)) { // begins with a rare byte, which is found faster
		return 0
	}
	var r Reader
	r.Reset(jsonlex.Lookup(result, 0, "searchCount"))
	if c := r.Peek(); c < '0' || c > '9' || FirstByte(wire.JSON(jsonlex.Lookup(result, 0, "query"))) != '"' ||
		FirstByte(wire.JSON(jsonlex.Lookup(result, 0, "results"))) != '[' {
		return 0
	}
	return r.count()
}

// ResultID returns the ID of the call that the first result in a content is for, or "".
func ResultID(content []byte) string {
	var r Reader
	r.Reset(content)
	if r.Peek() != '[' {
		return ""
	}
	for ok := r.FirstElem(); ok; ok = r.NextElem() {
		if id, ok := jsonlex.Unquote(jsonlex.Lookup(r.Skip(), 0, "tool_use_id")); ok {
			return string(id)
		}
	}
	return ""
}

// Usage has the fields of usage.Usage, which documents them. Callers convert a pointer to one into
// a pointer to the other, so the two cannot differ.
type Usage struct {
	InputTokens           int
	OutputTokens          int
	CacheReadTokens       int
	CacheCreationTokens   int
	CacheCreation5mTokens int
	CacheCreation1hTokens int
	ThinkingTokens        int
	WebSearches           int
	WebFetches            int
	Fast                  bool
	InferenceUS           bool
	ServiceTier           string
}

// ReadUsage reads the usage of an answer, as the API writes it, into u. It returns false, and
// leaves u as it is, if the value is not an object.
func (r *Reader) ReadUsage(u *Usage) bool {
	if r.Peek() != '{' {
		r.Skip()
		return false
	}
	*u = Usage{}
	for key, ok := r.FirstKey(); ok; key, ok = r.NextKey() {
		switch string(key) {
		case "input_tokens":
			u.InputTokens = r.count()
		case "output_tokens":
			u.OutputTokens = r.count()
		case "cache_read_input_tokens":
			u.CacheReadTokens = r.count()
		case "cache_creation_input_tokens":
			u.CacheCreationTokens = r.count()
		case "speed":
			u.Fast = r.Word() == "fast"
		case "inference_geo":
			u.InferenceUS = r.Word() == "us"
		case "service_tier":
			u.ServiceTier = r.Word()
		case "cache_creation", "output_tokens_details", "server_tool_use":
			r.usageDetails(u)
		default:
			r.Skip()
		}
	}
	return true
}

func (r *Reader) usageDetails(u *Usage) {
	if r.Peek() != '{' {
		r.Skip()
		return
	}
	for key, ok := r.FirstKey(); ok; key, ok = r.NextKey() {
		switch string(key) {
		case "ephemeral_5m_input_tokens":
			u.CacheCreation5mTokens = r.count()
		case "ephemeral_1h_input_tokens":
			u.CacheCreation1hTokens = r.count()
		case "thinking_tokens":
			u.ThinkingTokens = r.count()
		case "web_search_requests":
			u.WebSearches = r.count()
		case "web_fetch_requests":
			u.WebFetches = r.count()
		default:
			r.Skip()
		}
	}
}

// A wordTable shares strings that repeat from line to line: the session, the directory, the
// version, the model. A new word replaces the one in the slot of its hash, so the table stays
// small.
type wordTable struct {
	slots [wordSlots]string
}

const (
	wordSlots = 256
	maxWord   = 256
)

func (t *wordTable) get(b []byte) string {
	if len(b) == 0 || len(b) > maxWord {
		return string(b)
	}
	slot := &t.slots[wordHash(b)%wordSlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// wordHash mixes the length and the first and last eight bytes.
func wordHash(b []byte) uint64 {
	h := uint64(len(b))
	if len(b) < 8 {
		for _, c := range b {
			h = h<<8 | uint64(c)
		}
	} else {
		h ^= binary.LittleEndian.Uint64(b)
		h = h*0x9E3779B97F4A7C15 ^ binary.LittleEndian.Uint64(b[len(b)-8:])
	}
	h *= 0x9E3779B97F4A7C15
	return h >> 32
}

// maxTime is longer than any time that can be read.
const maxTime = 64

// ParseTime reads a time with or without a zone. It returns the zero time for anything else.
func ParseTime(text []byte) time.Time {
	if at, ok := parseUTC(text); ok {
		return at
	}
	if len(text) > maxTime {
		return time.Time{}
	}
	return parseAnyTime(string(text))
}

// parseUTC reads a time in the form that the agent writes: 2006-01-02T15:04:05.000Z.
func parseUTC(b []byte) (time.Time, bool) {
	if len(b) != len("2006-01-02T15:04:05.000Z") || b[4] != '-' || b[7] != '-' || b[10] != 'T' ||
		b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return time.Time{}, false
	}
	year, month, day := digits(b[0:4]), digits(b[5:7]), digits(b[8:10])
	hour, minute, second, milli := digits(b[11:13]), digits(b[14:16]), digits(b[17:19]), digits(b[20:23])
	if year|month|day|hour|minute|second|milli < 0 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	at := time.Date(year, time.Month(month), day, hour, minute, second, milli*int(time.Millisecond), time.UTC)
	return at, at.Day() == day
}

// digits returns the number that b is, or -1.
func digits(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func parseAnyTime(text string) time.Time {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC()
	}
	at, err := time.Parse("2006-01-02T15:04:05.999999999", text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// MaxMilliseconds is longer than anything lasts: some centuries.
const MaxMilliseconds = 1e13

// Milliseconds returns a duration, or 0 for a number that is negative or too large.
func Milliseconds(n float64) time.Duration {
	if n < 0 || n > MaxMilliseconds {
		return 0
	}
	return time.Duration(n * float64(time.Millisecond))
}

// DecodeLoosely decodes text into v, and leaves out values that are not of the type that v wants.
func DecodeLoosely(text wire.JSON, v any) error {
	err := text.Decode(v)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// FirstByte returns the first byte of a JSON text after white space, or 0 if there is none.
func FirstByte(text wire.JSON) byte {
	for i := range len(text) {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// Names and texts that the agent writes, and that several packages must know.
const (
	// SyntheticModel is the model of messages that the agent has made up: no model was called.
	SyntheticModel = "<synthetic>"
	// BackgroundSession is the kind of a session that was copied to continue in the background.
	BackgroundSession = "bg"
	// Rejected is the result of a call that the user did not allow.
	Rejected = "User rejected tool use"
)
