package export

import (
	"bytes"
	"errors"
	"io"
)

const (
	maxPage     = 10_000_000 // bytes of a page that is not shown in full
	leastPart   = 256        // bytes of a text of a tool, at least
	maxContents = 2000       // turns in the list of them
	maxTodos    = 200        // in one list
)

// bounds keep a page to a size that a browser opens at once. What people read
// first stays as it is: prompts, answers and the names of calls. What tools were
// given and returned is cut. The zero value cuts nothing.
type bounds struct {
	page     int  // bytes of the page
	most     int  // bytes of what a tool was given or has returned
	lines    int  // of a diff
	pictures int  // bytes of pictures that there is still room for
	ends     bool // whether the page ends where it is full
	left     int  // parts that were left out, since the page has ended
}

// errPageFull ends an attempt to write a page.
var errPageFull = errors.New("export: the page is too long")

func writeHTML(w io.Writer, d *Document, view *View) error {
	if view.Full {
		return newPage(w, d, view, bounds{}).write()
	}
	return writeBounded(w, d, view, maxPage)
}

// writeBounded tries narrower and narrower bounds until a page of that size fits
// them. With the last ones it ends where it is full.
func writeBounded(w io.Writer, d *Document, view *View, size int) error {
	b := bounds{page: size, most: maxPart, lines: maxDiffLines, pictures: size / 2}
	var text bytes.Buffer
	for errors.Is(newPage(&text, d, view, b).write(), errPageFull) {
		text.Reset()
		b.most, b.lines = b.most/2, b.lines/2
		b.ends = b.most <= leastPart
	}
	_, err := text.WriteTo(w)
	return err
}

// full reports whether nothing more is to be written. The last tenth of a page
// that ends early is for what is not yet complete.
func (p *page) full() bool {
	switch {
	case p.err != nil:
		return true
	case p.page == 0:
		return false
	case p.ends:
		if p.size < p.page-p.page/10 {
			return false
		}
		p.left++
		return true
	case p.size > p.page:
		p.err = errPageFull
	}
	return p.err != nil
}

// hasRoom reports whether a picture is to be shown.
func (p *page) hasRoom(image *Image) bool {
	size := len(image.Data) / 3 * 4
	if p.page > 0 && size > p.pictures {
		return false
	}
	p.pictures -= size
	return true
}

// cutNote says what was done to keep the page short.
func (p *page) cutNote() {
	if p.page > 0 && p.most < maxPart {
		p.element("p", `class="missing"`, "This session is long: only the first "+formatSize(p.most)+
			" of each input and result of a tool are shown. With --full, clew shows all.")
	}
}

// endNote says that the page has ended early.
func (p *page) endNote() {
	if p.left > 0 {
		p.element("p", `class="missing"`, "The page is full, "+plural(p.left, "part")+
			" more are not shown. With --turn, clew shows chosen turns, and with --full all.")
	}
}
