package cli

import (
	"bytes"
	"encoding/json"
	"io"
)

// A frameRecord is a line of the listing.
type frameRecord struct {
	Line    int    `json:"line"`
	Offset  int64  `json:"offset"`
	Bytes   int64  `json:"bytes"`
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Known   bool   `json:"known"`
	Problem string `json:"problem"`

	UnknownFields []string `json:"unknown_fields,omitempty"`
	UnknownBlocks []string `json:"unknown_blocks,omitempty"`
	UnknownEvent  string   `json:"unknown_event,omitempty"`
}

func newRecord(f finding) frameRecord {
	return frameRecord{
		Line:          f.pos.Line,
		Offset:        f.pos.Offset,
		Bytes:         f.pos.Bytes,
		Type:          f.kind.Type,
		Subtype:       f.kind.Subtype,
		Known:         f.known,
		Problem:       f.problem(),
		UnknownFields: f.unknownFields,
		UnknownBlocks: f.unknownBlocks,
		UnknownEvent:  f.unknownEvent,
	}
}

// A listing is the report with one JSON object for each frame.
type listing struct {
	w    io.Writer
	line bytes.Buffer
	enc  *json.Encoder
}

func newListing(w io.Writer) *listing {
	l := &listing{w: w}
	l.enc = json.NewEncoder(&l.line)
	l.enc.SetEscapeHTML(false)
	return l
}

func (l *listing) maxErrors() int { return 1 }

func (l *listing) add(f finding) error {
	l.line.Reset()
	if err := l.enc.Encode(newRecord(f)); err != nil {
		return err
	}
	_, err := l.w.Write(escapeLine(l.line.Bytes()))
	return err
}

func (l *listing) finish() error { return nil }

// problem says what is wrong with the frame, or nothing.
func (f *finding) problem() string {
	switch {
	case f.isText:
		return "not JSON"
	case f.invalid != nil:
		return f.invalid.Error()
	case len(f.blockErrors) > 0:
		return "invalid block: " + f.blockErrors[0].Error()
	}
	return ""
}
