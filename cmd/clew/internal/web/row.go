package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

const (
	maxImage    = 20 << 20 // bytes of an image
	maxImages   = 100      // of one row
	maxIndented = 4 << 20  // bytes of an entry that is indented
)

// A fragment is an answer that is only HTML.
type fragment struct {
	HTML string `json:"html"`
}

// row answers with a part of a row.
func (s *Server) row(w http.ResponseWriter, r *http.Request) error {
	part := r.URL.Query().Get("part")
	if !slices.Contains([]string{"", "body", "input", "result", "diff", "raw", "image"}, part) {
		return refused(http.StatusBadRequest, "part must be body, input, result, diff, raw or image")
	}
	v, err := s.read(r)
	if err != nil {
		return err
	}
	defer v.close()
	row, err := v.row(r)
	if err != nil {
		return err
	}
	d := s.rowDrawer(v)
	html := ""
	switch part {
	case "", "body":
		html, err = d.body(row, false)
	case "raw":
		html, err = s.raw(r, v, row)
	case "image":
		return s.image(w, r, v, row)
	default:
		html, err = d.part(row, part)
	}
	if err != nil {
		return err
	}
	v.close()
	return reply(w, fragment{html})
}

// moreInParts points to the rest of a text that was cut.
const moreInParts = "the parts of the row have all of it"

// body returns the part below the line of an open row, in full or with long texts cut.
func (d *rowDrawer) body(r *rows.Row, full bool) (string, error) {
	var m markup
	view := &export.View{Zone: d.zone, Full: full, More: moreInParts}
	var err error
	switch r.Kind {
	case rows.Prompt, rows.Notice, rows.Compaction:
		c := *r.Chunk
		c.Interrupted, c.StopReason = false, "" // it has a separate row
		err = export.WriteChunk(&m, &c, view)
		images(&m, r, r.Chunk.Images)
	case rows.Invalid:
		invalidLines(&m, r.Transcript.Invalid)
	case rows.Answer, rows.Thinking, rows.Call, rows.Subagent, rows.Result, rows.Teammate:
		if r.Item == nil { // made by hand
			err = export.WriteText(&m, r.Text, view)
			break
		}
		err = export.WriteItem(&m, r.Item, export.Body, view)
		images(&m, r, r.Item.ResultImages)
	}
	return m.String(), err
}

// images writes images that the page gets by their numbers.
func images(m *markup, r *rows.Row, n int) {
	for i := range min(n, maxImages) {
		m.raw("<img")
		m.attr("data-row", string(r.ID))
		m.attr("data-n", strconv.Itoa(i))
		m.attr("alt", "image "+strconv.Itoa(i+1)+" of "+strconv.Itoa(n))
		m.raw(">")
	}
}

// maxInvalid is the number of invalid lines that are listed.
const maxInvalid = 100

// invalidLines writes the lines of a transcript that are not entries.
func invalidLines(m *markup, lines []transcript.InvalidLine) {
	m.raw("<dl>")
	for i := range lines[:min(len(lines), maxInvalid)] {
		line := &lines[i]
		m.element("dt", "", "line "+strconv.Itoa(line.Position.Line)+": "+line.Err.Error())
		m.element("dd", "plain", line.Head)
	}
	m.raw("</dl>")
}

// part returns the input, the result or the changes of a call in full.
func (d *rowDrawer) part(r *rows.Row, name string) (string, error) {
	if !r.IsCall() {
		return "", refused(http.StatusNotFound, "only calls of tools have this part")
	}
	part := map[string]export.Part{"input": export.Input, "result": export.Result, "diff": export.Changes}[name]
	var m markup
	err := export.WriteItem(&m, r.Item, part, &export.View{Zone: d.zone, Full: true})
	if part == export.Result {
		images(&m, r, r.Item.ResultImages)
	}
	return m.String(), err
}

// raw returns the entries of a row as they were written.
func (s *Server) raw(r *http.Request, v *reading, row *rows.Row) (string, error) {
	var m markup
	for _, at := range entriesOf(row) {
		entry, err := s.opts.Source.Entry(r.Context(), v.entry.SessionInfo, row.Agent, at)
		if err != nil {
			return "", refused(http.StatusNotFound, "the entry can't be read: %v", err)
		}
		m.element("h3", "", "line "+strconv.Itoa(at.Line))
		if err := export.WriteCode(&m, indented(string(entry)), "json", &export.View{Full: true}); err != nil {
			return "", err
		}
	}
	if m.Len() == 0 {
		return "", refused(http.StatusNotFound, "the row has no entry of its own")
	}
	return m.String(), nil
}

// entriesOf returns the positions of a row's entries: the call's and the result's.
func entriesOf(row *rows.Row) (found []wire.Position) {
	for _, at := range []wire.Position{row.At(), row.ResultAt()} {
		if at.Line > 0 && !slices.Contains(found, at) {
			found = append(found, at)
		}
	}
	return found
}

// indented indents a JSON text, unless it is very long.
func indented(text string) string {
	var b bytes.Buffer
	if len(text) > maxIndented || json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// image answers with an image in a prompt or a result. Its type is detected from its bytes.
func (s *Server) image(w http.ResponseWriter, r *http.Request, v *reading, row *rows.Row) error {
	n, err := number(r.URL.Query(), "n", 0)
	if err != nil {
		return err
	}
	at, call := row.ResultAt(), ""
	switch {
	case row.Item != nil:
		call = row.Item.ToolID
	default:
		at = row.At()
	}
	if at.Line == 0 {
		return refused(http.StatusNotFound, "the row has no image")
	}
	text, err := s.opts.Source.Entry(r.Context(), v.entry.SessionInfo, row.Agent, at)
	if err != nil {
		return refused(http.StatusNotFound, "the entry can't be read: %v", err)
	}
	entry, err := transcript.DecodeEntry([]byte(text))
	if err != nil {
		return refused(http.StatusNotFound, "the entry can't be read: %v", err)
	}
	found := export.ImagesIn(&entry, call, maxImage)
	if n >= len(found) {
		return refused(http.StatusUnsupportedMediaType, "the image is not a PNG, JPEG, GIF or WebP image, or is too large")
	}
	v.close()
	w.Header().Set("Content-Type", found[n].MediaType)
	_, _ = w.Write(found[n].Data) // the client is gone if this fails
	return nil
}

// markdown answers with a row, or with the whole session, as Markdown.
func (s *Server) markdown(w http.ResponseWriter, r *http.Request) error {
	v, err := s.read(r)
	if err != nil {
		return err
	}
	defer v.close()
	text := ""
	if r.URL.Query().Get("row") == "" {
		text, err = s.opts.Source.Markdown(r.Context(), v.entry.SessionInfo, nil)
	} else {
		text, err = rowMarkdown(r, v)
	}
	if err != nil {
		return err
	}
	v.close()
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	_, _ = w.Write([]byte(text)) // the client is gone if this fails
	return nil
}

// export answers with a session in a file, redacted unless the request asks for the original. A
// browser downloads the file rather than showing it: all pages of this origin are the viewer's own.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	format := r.URL.Query().Get("format")
	if !slices.Contains(export.Formats(), format) {
		return refused(http.StatusBadRequest, "format must be html, markdown or json")
	}
	entry, _, err := s.listing.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	doc, err := s.opts.Source.Document(r.Context(), entry.SessionInfo, isSet(r.URL.Query().Get("whole")))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment")
	view := &export.View{Zone: s.opts.Zone, Thinking: true, Full: format == export.Markdown}
	_ = export.Write(r.Context(), w, doc, format, view) // the client is gone if this fails
	return nil
}

// rowMarkdown returns the row that a request names as Markdown.
func rowMarkdown(r *http.Request, v *reading) (string, error) {
	row, err := v.row(r)
	if err != nil {
		return "", err
	}
	if row.Chunk == nil || row.Kind == rows.Branch {
		return row.Text, nil
	}
	c := *row.Chunk
	c.Turn = row.Turn
	if row.Item != nil {
		item := *row.Item
		item.Agents = nil
		c.Items = []transcript.DisplayItem{item}
	}
	doc := export.New(&transcript.Transcript{}, &export.Options{Chunks: []transcript.Chunk{c}})
	var b strings.Builder
	err = export.Write(r.Context(), &b, doc, export.Markdown, &export.View{Thinking: true, Full: true})
	text := b.String()
	if _, body, ok := strings.Cut(text, "\n## "); ok {
		text = "## " + body // without the facts about the session
	}
	return text, err
}
