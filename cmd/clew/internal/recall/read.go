package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A ReadRequest selects the texts to read.
type ReadRequest struct {
	// Ref is the place to read: a ref from an answer, or a session ID.
	Ref string
	// Before and After are the numbers of texts to read before and after that one. An After of 0
	// means 4.
	Before, After int
	// MaxTokens is the approximate maximum length of the answer. 0 means 1,500.
	MaxTokens int
	// Results asks for whole tool results, instead of their first lines.
	Results bool
}

const (
	usualAfter  = 4
	maxAround   = 40
	usualTokens = 1500
	maxTokens   = 6000
	minTokens   = 100
	// bytesPerToken is the approximate length of a token.
	bytesPerToken = 3.5
	// maxForward and maxBackward are the numbers of transcript bytes read for an answer.
	maxForward  = 64 << 20
	maxBackward = 4 << 20
	readBlock   = 256 << 10
	shortResult = 200       // characters of a result's first line, and of a call
	maxWhole    = 128 << 10 // bytes of one text
	shortBefore = 400       // characters of a text before the one that is read
)

// A ref names a text: a session, for some texts one of its files, an offset, and the length of the
// text that was already read. A model writes it, so it is looked up in the file list, and never
// used as a path.
type ref struct {
	session string // its ID, or a prefix
	part    string // a subagent or a spill, or ""
	offset  int64
	skip    int
}

var refForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9a-f]{8}[0-9a-f-]{0,28})(?:\.([A-Za-z0-9_-]{1,100}))?(?:@([0-9]{1,15}))?(?:\+([0-9]{1,9}))?$`)
})

func parseRef(text string) (ref, error) {
	m := refForm().FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return ref{}, fmt.Errorf("%s is not a ref: give one that search or sessions has returned, such as 3f2a9c1e@48213", quoted(plain(text), 80))
	}
	r := ref{session: m[1], part: m[2]}
	r.offset, _ = strconv.ParseInt(m[3], 10, 64) // it has few digits
	r.skip, _ = strconv.Atoi(m[4])
	return r, nil
}

// refOf returns the ref of a text.
func refOf(l *listing, f *sessions.File, session string, offset int64) string {
	text := l.ref(session)
	if part := partOf(f); part != "" {
		text += "." + part
	}
	return text + "@" + strconv.FormatInt(offset, 10)
}

// partOf returns the name of a file of a session in a ref, or "" for its main transcript.
func partOf(f *sessions.File) string {
	name := f.AgentID
	if f.Spill {
		name = strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path))
	}
	return strings.ToLower(name)
}

// locate returns the file that a ref names.
func (r *Recall) locate(l *listing, at ref) (*sessions.File, error) {
	project := ""
	if r.opts.All {
		project = EveryProject
	}
	files, _, err := r.scope(l, project)
	if err != nil {
		return nil, err
	}
	var match *sessions.File
	for i := range files {
		f := &files[i]
		isSession := strings.HasPrefix(strings.ToLower(f.SessionID), at.session)
		if !isSession && (f.SessionID != "" || at.part == "") || partOf(f) != at.part {
			continue
		}
		if match != nil && match.SessionID != f.SessionID {
			return nil, fmt.Errorf("several sessions begin with %s: give a longer ref", at.session)
		}
		if match == nil || f.Info.ModTime().After(match.Info.ModTime()) {
			match = f
		}
	}
	if match == nil {
		return nil, fmt.Errorf("no session that can be read has the ref %s: it may have been deleted since, or be another project's", at.session)
	}
	return match, nil
}

// budget returns the number of bytes that an answer may have.
func (req *ReadRequest) budget() (int, error) {
	switch {
	case req.MaxTokens == 0:
		return int(usualTokens * bytesPerToken), nil
	case req.MaxTokens < minTokens || req.MaxTokens > maxTokens:
		return 0, fmt.Errorf("max_tokens must be between %d and %d", minTokens, maxTokens)
	}
	return int(float64(req.MaxTokens) * bytesPerToken), nil
}

func (req *ReadRequest) check() error {
	if req.Before < 0 || req.After < 0 || req.Before > maxAround || req.After > maxAround {
		return fmt.Errorf("before and after must be between 0 and %d", maxAround)
	}
	return nil
}

// Read returns the text of a ref and those around it, each on a line with its ref and who wrote it.
func (r *Recall) Read(ctx context.Context, req ReadRequest) (string, error) {
	budget, err := req.budget()
	if err = errors.Join(err, req.check()); err != nil {
		return "", err
	}
	if req.Results && !r.opts.Results {
		return "", errors.New("results of tools can't be read: the server was started without --results")
	}
	at, err := parseRef(req.Ref)
	if err != nil {
		return "", err
	}
	l, err := r.list(ctx)
	if err != nil {
		return "", err
	}
	f, err := r.locate(&l, at)
	if err != nil {
		return "", err
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return "", fmt.Errorf("the session can't be read: %s", reason(err))
	}
	defer file.Close()
	p := &page{recall: r, list: &l, file: f, req: &req, left: budget, tools: map[string]string{}}
	p.foreign = f.AgentID != "" || f.Spill || isMember(file)
	if err := p.fill(ctx, file, at); err != nil {
		return "", err
	}
	return p.text(), nil
}

// A page is the answer to a ReadRequest.
type page struct {
	recall  *Recall
	list    *listing
	file    *sessions.File
	req     *ReadRequest
	foreign bool              // nothing in the file is the user's or the session's own agent's
	tools   map[string]string // by call
	left    int               // bytes

	lines   []string
	omitted int
	at      time.Time // of the first entry
	next    string    // the ref to read on, or "" at the end
}

// A shown is a text of a page.
type shown struct {
	ref, who, text string
	whole          bool // it is shown as a whole if there is room
}

// fill reads the texts of the page.
func (p *page) fill(ctx context.Context, file *os.File, at ref) error {
	if p.file.Spill {
		return p.spill(file, at)
	}
	if err := p.checkStart(file, at.offset); err != nil {
		return err
	}
	before, err := p.backward(ctx, file, at.offset)
	if err != nil {
		return err
	}
	room := p.left / 2 // the rest is for the text itself
	first := len(before)
	for ; first > 0; first-- {
		s := &before[first-1]
		if room -= len(s.ref) + len(s.who) + min(len(s.text), shortBefore); room < 0 {
			break
		}
	}
	for _, s := range before[first:] {
		p.line(s, p.recall.safeHead(s.text, shortBefore))
	}
	return p.forward(ctx, file, at)
}

// checkStart returns an error unless a line starts at the offset.
func (p *page) checkStart(file io.ReaderAt, offset int64) error {
	var last [1]byte
	if offset > 0 {
		if _, err := file.ReadAt(last[:], offset-1); err != nil || last[0] != '\n' {
			return errNoText
		}
	}
	return nil
}

var errNoText = errors.New("the ref names no text: the session has changed since, or the ref is not one that search has returned")

// forward reads the text at the ref and those after it.
func (p *page) forward(ctx context.Context, file *os.File, at ref) error {
	after := p.req.After
	if after == 0 {
		after = usualAfter
	}
	count, first := 0, true
	splitter := transcript.NewLineSplitter(maxEntry)
	reader := io.NewSectionReader(file, at.offset, maxForward)
	err := eachLine(reader, splitter, func(e *transcript.Entry) bool {
		offset := at.offset + e.Position.Offset
		if ctx.Err() != nil {
			return false
		}
		if p.at.IsZero() {
			p.at = e.Timestamp
		}
		if !first && e.Type == queueOperation {
			return true // another entry has the prompt
		}
		for _, s := range p.texts(e, offset, first) {
			if !first && (count > after || p.left <= 0) {
				p.next = s.ref
				return false
			}
			skip := 0
			if first {
				skip = at.skip
			}
			first = false
			count++
			if p.add(s, skip); p.next != "" {
				return false
			}
		}
		if first && offset == at.offset && at.offset > 0 {
			return false // it is not a text that may be read
		}
		return true
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("the session can't be read: %s", reason(err))
	case first && at.offset > 0:
		return errors.New("the ref names no text of the user or the agent, and others can't be read: the server was started without --results")
	case first:
		return errors.New("the session has no text of the user or the agent")
	}
	return nil
}

const queueOperation = "queue-operation"

// backward returns the texts before an offset, as many as are wanted.
func (p *page) backward(ctx context.Context, file *os.File, offset int64) ([]shown, error) {
	var list []shown
	var rest []byte // the end of a line that started before it
	for end, read := offset, 0; end > 0 && read < maxBackward && len(list) < p.req.Before; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		block := make([]byte, min(readBlock, end))
		if _, err := file.ReadAt(block, end-int64(len(block))); err != nil {
			return nil, fmt.Errorf("the session can't be read: %s", reason(err))
		}
		end, read = end-int64(len(block)), read+len(block)
		rest = slices.Concat(block, rest)
		begin := 0
		if end > 0 {
			if begin = bytes.IndexByte(rest, '\n') + 1; begin == 0 {
				continue
			}
		}
		list = append(p.textsOf(rest[begin:], end+int64(begin)), list...)
		rest = rest[:begin:begin]
	}
	return list[max(0, len(list)-p.req.Before):], nil
}

// textsOf returns the texts of whole lines.
func (p *page) textsOf(lines []byte, offset int64) (list []shown) {
	omitted := p.omitted
	_ = eachLine(bytes.NewReader(lines), transcript.NewLineSplitter(maxEntry), func(e *transcript.Entry) bool {
		if e.Type != queueOperation {
			list = append(list, p.texts(e, offset+e.Position.Offset, false)...)
		}
		return true
	})
	p.omitted = omitted // earlier texts are not counted
	return list
}

// texts returns the texts in an entry that may be shown. wanted means that the entry was asked for.
func (p *page) texts(e *transcript.Entry, offset int64, wanted bool) (list []shown) {
	at := refOf(p.list, p.file, p.file.SessionID, offset)
	for _, passage := range search.Passages(e) {
		if p.foreign {
			passage.Source = search.Other
		}
		if passage.Tool != "" {
			p.tools[passage.Call] = passage.Tool
		}
		s := shown{ref: at, who: who(&passage, p.tools[passage.Call]), text: passage.Text, whole: true}
		switch passage.Source {
		case search.Called:
			s.text, s.whole = callText(&passage), wanted
		case search.Other:
			if !p.recall.opts.Results {
				p.omitted++
				continue
			}
			s.whole = wanted || p.req.Results
		}
		list = append(list, s)
	}
	return list
}

// callText returns the name of a tool, and its input on one line.
func callText(p *search.Passage) string { return strings.Replace(p.Text, "\n", ": ", 1) }

// add adds a text to the page, or as much as there is room for.
func (p *page) add(s shown, skip int) {
	if !s.whole {
		p.line(s, p.recall.safeHead(s.text, shortResult))
		return
	}
	p.section(s, 0, skip)
}

// section adds the text after an offset, without its first characters.
func (p *page) section(s shown, from, skip int) {
	text := p.recall.safeSection(s.text, from, from+maxWhole)
	if len(s.text) > from+maxWhole {
		text += "… (the rest of the text is too long to be read)"
	}
	runes := []rune(text)
	start := min(skip, len(runes))
	text = string(runes[start:])
	room := max(p.left, minTokens)
	if len(text) <= room {
		p.line(s, quote(text))
		return
	}
	cut := clip.Bytes(text, room)
	p.line(s, quote(cut+"…"))
	p.next = fmt.Sprintf("%s+%d", s.ref, start+len([]rune(cut)))
	p.left = 0
}

func (p *page) line(s shown, text string) {
	p.lines = append(p.lines, s.ref+" "+s.who+" "+text)
	p.left -= len(text) + len(s.ref) + len(s.who)
}

// spill reads a section of a spilled result. A model may give any offset, so that the text before it
// is searched for secrets as well.
func (p *page) spill(file io.ReaderAt, at ref) error {
	data, from, err := readAround(file, at.offset, maxWhole)
	switch {
	case err != nil:
		return fmt.Errorf("the result can't be read: %s", reason(err))
	case from > 0 && from >= len(data):
		return errNoText
	}
	name := refOf(p.list, p.file, p.file.SessionID, at.offset)
	p.section(shown{ref: name, who: "result", text: string(data)}, from, at.skip)
	return nil
}

// text returns the page.
func (p *page) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s", p.list.ref(p.file.SessionID))
	if !p.at.IsZero() {
		fmt.Fprintf(&b, ", %s", p.at.Local().Format(wording.DateTime))
	}
	b.WriteString(". " + Record + "\n")
	for _, line := range p.lines {
		b.WriteString(line + "\n")
	}
	if p.omitted > 0 {
		fmt.Fprintf(&b, "Left out: %s of tools and others.\n", wording.Count(p.omitted, "text"))
	}
	if p.next != "" {
		b.WriteString("More: read(ref: " + quote(p.next) + ").\n")
	} else {
		b.WriteString("This is the end.\n")
	}
	return b.String()
}

// eachLine calls visit with the entries of lines, until it returns false. Lines that are not entries
// are passed over.
func eachLine(in io.Reader, splitter *transcript.LineSplitter, visit func(*transcript.Entry) bool) error {
	going := true
	take := func(line []byte, at wire.Position) {
		if !going {
			return
		}
		if e, err := transcript.DecodeEntry(line); err == nil {
			e.Position = at
			going = visit(&e)
		}
	}
	ignore := func(transcript.InvalidLine) {}
	var block []byte
	for going {
		if len(block) < readBlock { // often the first line is enough
			block = make([]byte, max(4*len(block), readBlock/16))
		}
		n, err := in.Read(block)
		splitter.Feed(block[:n], take, ignore)
		switch {
		case errors.Is(err, io.EOF):
			if going {
				splitter.Flush(take, ignore)
			}
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// isMember reports whether a transcript belongs to a teammate, according to its first lines.
func isMember(file *os.File) bool {
	member, lines := false, 0
	_ = eachLine(io.NewSectionReader(file, 0, readBlock), transcript.NewLineSplitter(readBlock), func(e *transcript.Entry) bool {
		member = e.TeamName != "" && e.AgentName != ""
		lines++
		return !member && lines < 10
	})
	return member
}
