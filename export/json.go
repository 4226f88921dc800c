package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// ErrFormat means that a text is not a document, or has a newer format.
var ErrFormat = errors.New("export: not a document of this format")

// IsDocument reports whether a text may be a document in JSON, by its first bytes. About 30 bytes
// are enough, and 100 are examined.
func IsDocument(head []byte) bool {
	var b strings.Builder
	for _, c := range head[:min(len(head), 100)] {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			b.WriteByte(c)
		}
	}
	return strings.HasPrefix(b.String(), `{"format":"clew-session/`)
}

// Read reads a document in JSON. Turns without numbers are numbered. The error wraps [ErrFormat] if the text is not a document, or has
// subagents that are nested more than 32 deep. Otherwise it is the reader's error.
func Read(r io.Reader) (*Document, error) {
	doc := new(Document)
	dec := json.NewDecoder(&agentCounter{r: r})
	if err := dec.Decode(doc); err != nil {
		return nil, readError(err)
	}
	if doc.Format != Format {
		return nil, fmt.Errorf("%w: it is %q, and this program knows %q", ErrFormat, doc.Format, Format)
	}
	transcript.Number(doc.Chunks)
	for i := range doc.Branches {
		transcript.Number(doc.Branches[i].Chunks)
	}
	doc.Unlinked = slices.DeleteFunc(doc.Unlinked, func(a *transcript.Agent) bool { return a == nil })
	return doc, nil
}

// maxNested is the limit for nested subagents. Each level is scanned again, so that the time to read
// a document grows with their depth.
const maxNested = 32

var errTooDeep = fmt.Errorf("%w: subagents are nested more than %d deep", ErrFormat, maxNested)

// maxKey is the number of bytes of a string that are kept: "agents" has 36 if all letters are escaped.
const maxKey = 40

// An agentCounter reads JSON, and fails with errTooDeep where lists of subagents are nested too deep.
type agentCounter struct {
	r       io.Reader
	open    []bool // for each open object and array, whether it is a list of subagents
	depth   int    // lists of subagents that are open
	text    []byte // the current or last string, without its quotes: as much as a key can have
	quoted  bool   // inside of a string
	escaped bool   // after a backslash
	list    bool   // after a key and its colon, whether the value is a list of subagents
	isRaw   bool   // after a key and its colon, whether the value is of a tool, and not decoded
	raw     int    // if inside of such a value: the number of objects and arrays that are open, with the value
}

func (a *agentCounter) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	for _, c := range p[:n] {
		if a.next(c); a.depth > maxNested {
			return 0, errTooDeep
		}
	}
	return n, err
}

// next takes the next byte.
func (a *agentCounter) next(c byte) {
	switch {
	case a.quoted:
		a.quoted = a.escaped || c != '"'
		a.escaped = !a.escaped && c == '\\'
		if a.quoted && len(a.text) < maxKey {
			a.text = append(a.text, c)
		}
	case c == '"':
		a.quoted, a.list, a.isRaw, a.text = true, false, false, a.text[:0]
	case c == ':':
		key := keyOf(a.text)
		a.list = a.raw == 0 && strings.EqualFold(key, "agents")
		a.isRaw = a.raw == 0 &&
			(strings.EqualFold(key, "input") || strings.EqualFold(key, "structured") || strings.EqualFold(key, "patch"))
	case c == '[' || c == '{':
		a.open = append(a.open, a.list && c == '[')
		if a.list && c == '[' {
			a.depth++
		}
		if a.isRaw {
			a.raw = len(a.open)
		}
		a.list, a.isRaw = false, false
	case (c == ']' || c == '}') && len(a.open) > 0:
		last := len(a.open) - 1
		if a.open[last] {
			a.depth--
		}
		if a.raw == len(a.open) {
			a.raw = 0
		}
		a.open = a.open[:last]
	case c == ',':
		a.list, a.isRaw = false, false
	}
}

// keyOf returns a key without escapes. The decoder ignores the case of keys.
func keyOf(text []byte) string {
	key := string(text)
	if bytes.IndexByte(text, '\\') >= 0 && json.Unmarshal([]byte(`"`+key+`"`), &key) != nil {
		return ""
	}
	return key
}

func readError(err error) error {
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax), errors.As(err, &mistyped),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

// writeJSON writes a document as one line. It encodes chunks one by one, so that a long session is
// not in memory twice.
func writeJSON(ctx context.Context, w io.Writer, d *Document) error {
	head := *d
	head.Chunks = []transcript.Chunk{}
	text, err := marshal(head)
	if err != nil {
		return err
	}
	before, after, _ := strings.Cut(string(text), `"chunks":[]`)
	out := &lineWriter{w: w}
	out.write(before + `"chunks":[`)
	for i := range d.Chunks {
		if i > 0 {
			out.write(",")
		}
		out.encode(&d.Chunks[i])
		if out.err = cmp.Or(out.err, ctx.Err()); out.err != nil {
			return out.err
		}
	}
	out.write("]" + after + "\n")
	return out.err
}

// A lineWriter writes JSON without line ends, and keeps the first error.
type lineWriter struct {
	w   io.Writer
	err error
}

func (l *lineWriter) write(text string) {
	if l.err == nil {
		_, l.err = io.WriteString(l.w, text)
	}
}

func (l *lineWriter) encode(v any) {
	if l.err != nil {
		return
	}
	text, err := marshal(v)
	if l.err = err; err == nil {
		_, l.err = l.w.Write(text)
	}
}

// marshal returns v as JSON that is safe for a terminal.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return tty.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// Transcript returns the transcript of the document, which shares its chunks. It lacks data that the
// document does not have: the model calls, from which totals are computed, and positions in files.
func (d *Document) Transcript() *transcript.Transcript {
	return &transcript.Transcript{
		Chunks: d.Chunks, Branches: d.Branches, Unlinked: d.Unlinked,
		Info: transcript.Info{
			SessionID: d.SessionID, AgentID: d.AgentID, Title: d.Title, Tag: d.Tag, CWD: d.CWD, GitBranch: d.GitBranch,
			Version: d.Version, Model: d.Model, Created: d.Created, Modified: d.Modified,
		},
	}
}
