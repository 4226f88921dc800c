package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/clewdev/clew/internal/render"
)

// ErrFormat says that a text is no document, or one of a newer format.
var ErrFormat = errors.New("export: not a document of this format")

// Looks reports whether a text may be a document in JSON, by how it begins. It
// needs some dozen bytes.
func Looks(head []byte) bool {
	var b strings.Builder
	for _, c := range head[:min(len(head), 100)] {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			b.WriteByte(c)
		}
	}
	return strings.HasPrefix(b.String(), `{"format":"clew-session/`)
}

// Read reads a document in JSON. The error wraps [ErrFormat] if it is none, and
// is that of the reader otherwise.
func Read(r io.Reader) (*Document, error) {
	doc := new(Document)
	dec := json.NewDecoder(r)
	if err := dec.Decode(doc); err != nil {
		return nil, readError(err)
	}
	if doc.Format != Format {
		return nil, fmt.Errorf("%w: it is %q, and this program knows %q", ErrFormat, doc.Format, Format)
	}
	return doc, nil
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

// writeJSON writes a document as one line. Chunks are encoded one by one, so that
// a long session is never in memory twice.
func writeJSON(w io.Writer, d *Document) error {
	head := *d
	head.Chunks = []Chunk{}
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

// marshal returns v in JSON that a terminal can show.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return render.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
