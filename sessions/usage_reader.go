package sessions

import (
	"bytes"
	"errors"
	"io"
	"math"
	"sync"
)

const (
	// readSize is how much a partReader reads at once.
	readSize = 256 << 10
	// largeLine is the length from which on a line is large: only one goroutine at a time has such a line in memory.
	largeLine = 4 << 20
)

// A partReader reads the lines of a part of a file, in bounded memory. The zero value is ready for reset.
type partReader struct {
	large *sync.Mutex
	max   int // the length of the longest line

	file io.ReaderAt
	at   int64  // where to read on
	end  int64  // lines that begin here or behind are not of this part
	buf  []byte // its bytes from r on, before w, were read and belong to lines to come
	r, w int
	eof  bool
	err  error
	held bool // large is locked

	// The line that next has found.
	line   int    // its number in the part, from 1
	offset int64  // where it begins in the file
	text   []byte // without its end; valid until the next call
	ended  bool
	long   bool // longer than max: there is no text
}

// reset makes the reader read the lines of file that begin from start on and before end.
func (p *partReader) reset(file io.ReaderAt, start, end int64) {
	if p.buf == nil {
		p.buf = make([]byte, readSize)
	}
	p.file, p.at, p.end = file, start, end
	p.r, p.w, p.eof, p.err, p.line = 0, 0, false, nil, 0
	if start > 0 { // the line that has begun before belongs to another part
		p.at--
		p.pass(end)
	}
}

// release gives back what a large line took.
func (p *partReader) release() {
	if p.held {
		p.buf = append(make([]byte, 0, readSize), p.buf[p.r:p.w]...)[:readSize]
		p.r, p.w = 0, p.w-p.r
		p.held = false
		p.large.Unlock()
	}
}

// position returns the offset of the next byte.
func (p *partReader) position() int64 { return p.at - int64(p.w-p.r) }

// next finds the next line, and reports false if there is none or reading has failed.
func (p *partReader) next() bool {
	p.release()
	p.text, p.long, p.offset = nil, false, p.position()
	if p.offset >= p.end || p.err != nil {
		return false
	}
	p.ended = false
	for scanned := 0; ; {
		if scanned == 0 {
			p.passNULs()
		}
		i := bytes.IndexByte(p.buf[p.r+scanned:p.w], '\n')
		if i >= 0 {
			scanned, p.ended = scanned+i, true
		} else {
			scanned = p.w - p.r
		}
		switch {
		case scanned > p.max:
			p.line++
			p.long, p.ended = true, p.pass(math.MaxInt64)
			return p.err == nil
		case p.ended:
			p.take(scanned)
			p.r++
			return true
		case p.fill():
		case p.err != nil || scanned == 0:
			return false
		default:
			p.take(scanned)
			return true
		}
	}
}

// take makes the next n bytes the line.
func (p *partReader) take(n int) {
	if p.line++; n > 0 && p.offset == 0 && p.position() == 0 {
		p.text = bytes.TrimPrefix(p.buf[p.r:p.r+n], []byte("\ufeff"))
	} else {
		p.text = p.buf[p.r : p.r+n]
	}
	p.r += n
}

// passNULs drops NUL bytes at the beginning of a line. A crash can leave millions of them.
func (p *partReader) passNULs() {
	for p.r < p.w && p.buf[p.r] == 0 {
		p.r++
	}
}

// pass drops all up to the end of the line, and reports whether there is one. It gives up at an offset of limit.
func (p *partReader) pass(limit int64) bool {
	for {
		if i := bytes.IndexByte(p.buf[p.r:p.w], '\n'); i >= 0 {
			p.r += i + 1
			return true
		}
		p.r = p.w
		if p.at >= limit || !p.fill() {
			return false
		}
	}
}

// fill reads more, and reports false if there is no more.
func (p *partReader) fill() bool {
	if p.eof || p.err != nil {
		return false
	}
	p.makeRoom()
	n, err := p.file.ReadAt(p.buf[p.w:min(len(p.buf), p.w+readSize)], p.at)
	p.w += n
	p.at += int64(n)
	if p.eof = errors.Is(err, io.EOF); err != nil && !p.eof {
		p.err = err
	}
	return n > 0
}

// makeRoom moves what is left to the front of the buffer, or into a larger one if it is full.
func (p *partReader) makeRoom() {
	if p.r > 0 {
		p.w = copy(p.buf, p.buf[p.r:p.w])
		p.r = 0
	}
	if p.w < len(p.buf) {
		return
	}
	if !p.held && len(p.buf) >= largeLine {
		p.large.Lock()
		p.held = true
	}
	larger := make([]byte, min(2*len(p.buf), p.max+readSize))
	copy(larger, p.buf)
	p.buf = larger
}

// blank reports whether there is nothing but white space and NUL bytes in the line.
func (p *partReader) blank() bool {
	p.text = bytes.TrimLeft(p.text, "\x00")
	return len(bytes.TrimSpace(p.text)) == 0
}
