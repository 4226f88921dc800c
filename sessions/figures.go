package sessions

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// Figures count a session's activity, over all lines of its transcript and its subagents'
// transcripts. [Measure] returns them.
type Figures struct {
	// Turns is the number of prompts in the conversation, as it stands at the end of the file.
	Turns int
	// Calls are the answers of the model, each once, by time. Pass them to [usage.Cost].
	Calls []usage.Call
	// FilesChanged is the number of files that tools wrote.
	FilesChanged int
	// Bytes is the size of all transcripts that were counted, as [TranscriptSizes] returns it.
	Bytes int64
	// Err explains why there are no figures: [ErrNotMeasured], or that a file could not be read. It
	// is nil if the figures are complete.
	Err error
}

// ErrNotMeasured is the error of [Figures] that would have needed more bytes than
// [MeasureOptions.MaxBytes] allows.
var ErrNotMeasured = errors.New("sessions: not measured: the transcripts are too long")

// MeasureOptions limit the work of [Measure]. Nil and the zero value mean no limit.
type MeasureOptions struct {
	// MaxBytes limits the total number of transcript bytes that are read, as far as sessions can be
	// left out. The smallest sessions come first, so that as many as possible have figures. 0 or
	// less means no limit.
	MaxBytes int64
}

// Measure reads the whole transcripts of sessions and their subagents, and returns the figures of
// each, in the same order. [List] does not have them, since it reads only the beginning and the end
// of a file. The sessions must be in files, as those in the list of a [Folder] are.
//
//	infos, err := sessions.List(ctx, &sessions.ListOptions{Limit: 20})
//	if err != nil {
//		return err
//	}
//	for i, f := range sessions.Measure(ctx, infos, nil) {
//		cost := usage.Cost(f.Calls, usage.DefaultPrices())
//		fmt.Println(infos[i].Title(), f.Turns, cost.Total)
//	}
//
// It uses as many goroutines as there are processors and reads about a gigabyte a second with each.
// It blocks until everything is read. If the context ends, the remaining figures have its error.
// opts may be nil.
func Measure(ctx context.Context, infos []SessionInfo, opts *MeasureOptions) []Figures {
	m := &measurement{figures: make([]Figures, len(infos)), projects: map[string]*measuredProject{}}
	defer m.close()
	for i := range infos {
		if err := m.add(ctx, i, &infos[i]); err != nil {
			m.figures[i].Err = err
		}
	}
	if opts != nil && opts.MaxBytes > 0 {
		m.limit(opts.MaxBytes)
	}
	// The largest first, so that no goroutine has a large one left at the end.
	slices.SortStableFunc(m.jobs, func(a, b measureJob) int { return cmp.Compare(b.bytes, a.bytes) })
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(m.jobs)) {
		group.Go(func() {
			w := new(measurer)
			for i := next.Add(1) - 1; i < int64(len(m.jobs)); i = next.Add(1) - 1 {
				m.figures[m.jobs[i].index] = w.measure(ctx, &m.jobs[i])
			}
		})
	}
	group.Wait()
	return m.figures
}

// TranscriptSizes returns the size of the transcripts of each session, in the same order: its own and
// its subagents' together, in bytes. It is 0 if they can't be read. Transcripts only grow, so figures
// are up to date if [Figures.Bytes] is the same size; [SessionInfo.Size] does not tell, since subagents
// write on after the session's own transcript has ended.
//
// It looks at the files without reading them, except that it looks for the first entry of transcripts
// that older agents put beside those of sessions. If the context ends, the remaining sizes are 0.
func TranscriptSizes(ctx context.Context, infos []SessionInfo) []int64 {
	m := &measurement{projects: map[string]*measuredProject{}}
	defer m.close()
	for i := range infos {
		_ = m.add(ctx, i, &infos[i]) // its size is not known
	}
	sizes := make([]int64, len(infos))
	for i := range m.jobs {
		sizes[m.jobs[i].index] = m.jobs[i].bytes
	}
	return sizes
}

// A measurement is one call of Measure or TranscriptSizes.
type measurement struct {
	figures  []Figures
	jobs     []measureJob
	projects map[string]*measuredProject // by the path of the directory
}

// A measureJob is a session to measure.
type measureJob struct {
	index   int
	files   *sessionFiles
	sources []source // the session's own transcript, then those of subagents
	bytes   int64
}

// close closes the directories of the projects.
func (m *measurement) close() {
	for _, p := range m.projects {
		_ = p.root.Close() // it was only read
	}
}

// add adds the job for a session.
func (m *measurement) add(ctx context.Context, index int, info *SessionInfo) error {
	switch {
	case info.Err != nil:
		return info.Err
	case info.Path == "":
		return fmt.Errorf("sessions: measuring session %s: it is not in a file", info.ID)
	}
	project, err := m.project(filepath.Dir(info.Path))
	if err != nil {
		return err
	}
	j := measureJob{index: index, files: &sessionFiles{root: project.root, name: info.ID}}
	own, err := j.files.own()
	if err != nil {
		return fmt.Errorf("sessions: measuring session %s: %w", info.ID, err)
	}
	agents, err := j.files.agentsBelow(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sessions: measuring session %s: %w", info.ID, err)
	}
	j.sources = slices.Concat([]source{own}, agents, project.agentsOf(j.files, info))
	j.sources = slices.DeleteFunc(j.sources, func(s source) bool { // these repeat a conversation
		return strings.HasPrefix(path.Base(s.name), compactionPrefix)
	})
	for _, s := range j.sources {
		j.bytes += s.size
	}
	m.jobs = append(m.jobs, j)
	return nil
}

// limit leaves out the largest sessions, so that the others have at most so many bytes.
func (m *measurement) limit(most int64) {
	slices.SortStableFunc(m.jobs, func(a, b measureJob) int { return cmp.Compare(a.bytes, b.bytes) })
	m.jobs = slices.DeleteFunc(m.jobs, func(j measureJob) bool {
		if most -= j.bytes; most < 0 {
			m.figures[j.index].Err = ErrNotMeasured
		}
		return most < 0
	})
}

// A measuredProject is the directory of a project, with the transcripts of subagents that older
// agents put beside session transcripts.
type measuredProject struct {
	root   *os.Root
	agents []besideAgent
}

// A besideAgent is such a transcript. Its first entry names the session.
type besideAgent struct {
	info    fs.FileInfo
	session string // "" until it was read, and "-" if there is none
}

// project opens the directory of a project.
func (m *measurement) project(dir string) (*measuredProject, error) {
	if p := m.projects[dir]; p != nil {
		return p, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	p := &measuredProject{root: root}
	m.projects[dir] = p
	names, err := namesIn(root)
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	for _, name := range names {
		if newAgent(name) == nil {
			continue
		}
		if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() { // else it is gone
			p.agents = append(p.agents, besideAgent{info: info})
		}
	}
	return p, nil
}

// namesIn returns the names in a directory, sorted. To read its entries would cost a system call for
// each.
func namesIn(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// agentsOf returns the subagents of a session. One that has not been written to since the session
// started is not read.
func (p *measuredProject) agentsOf(f *sessionFiles, info *SessionInfo) []source {
	var found []source
	for i := range p.agents {
		a := &p.agents[i]
		if a.info.ModTime().Before(info.Created) {
			continue
		}
		if a.session == "" {
			first, _ := f.first(a.info.Name())
			a.session = cmp.Or(first.session, "-")
		}
		if a.session == info.ID {
			found = append(found, source{name: a.info.Name(), size: a.info.Size()})
		}
	}
	return found
}

// A measurer measures one session after the other.
type measurer struct {
	large   sync.Mutex // for the reader
	reader  segmentReader
	decoder usage.CallDecoder

	tally   usage.Tally
	changed map[string]bool
	turns   turnTracker
}

// measure reads the transcripts of a session.
func (w *measurer) measure(ctx context.Context, j *measureJob) Figures {
	w.tally, w.changed, w.turns = usage.Tally{}, map[string]bool{}, turnTracker{}
	for i, s := range j.sources {
		if err := w.read(ctx, j.files, s, i == 0); err != nil {
			return Figures{Err: fmt.Errorf("sessions: measuring %s: %w", s.name, err)}
		}
	}
	f := Figures{Turns: w.turns.end(), Calls: w.tally.Calls(), FilesChanged: len(w.changed), Bytes: j.bytes}
	if w.turns.rewound {
		f.Turns, f.Err = countTurns(ctx, j.files, j.sources[0])
	}
	return f
}

// read adds up the lines of a transcript. Lines that are not entries count for nothing.
func (w *measurer) read(ctx context.Context, f *sessionFiles, s source, own bool) error {
	file, _, err := f.open(s.name)
	if err != nil {
		return err
	}
	defer file.Close()
	w.reader.large, w.reader.max = &w.large, maxEntry
	defer w.reader.release()
	w.reader.reset(&endingReader{ctx, file}, 0, s.size)
	for ctx.Err() == nil && w.reader.next() {
		if !w.reader.long && !w.reader.blank() {
			for line := range entrylex.Lines(w.reader.text) {
				w.line(line, own)
			}
		}
	}
	return cmp.Or(ctx.Err(), w.reader.err)
}

// line adds up one entry.
func (w *measurer) line(line []byte, own bool) {
	call, ok, err := w.decoder.Decode(line)
	if err != nil {
		return
	}
	if ok {
		w.tally.Add(call)
	}
	kind := w.decoder.EntryType()
	if kind == "user" && bytes.Contains(line, []byte(`"structuredPatch"`)) {
		if name := unquoted(jsonlex.Lookup(jsonlex.Lookup(line, 0, entrylex.KeyToolUseResult), 0, "filePath")); name != "" {
			w.changed[name] = true
		}
	}
	if own {
		w.turns.add(line, kind)
	}
}

// A turnTracker counts the turns of a transcript whose lines it gets one by one.
type turnTracker struct {
	turns   int
	tip     string // the last entry of the conversation
	queue   transcript.PromptQueue
	rewound bool // only the whole transcript has the turns
}

// add counts an entry of this type.
func (t *turnTracker) add(line []byte, kind string) {
	switch {
	case t.rewound:
	case kind == entryfacts.QueueOperation || !t.queue.IsZero():
		t.decode(line)
	case kind == "user" && !bytes.Contains(line, []byte(`"tool_result"`)):
		t.decode(line)
	case kind == "attachment" && bytes.Contains(line, []byte(`"queued_command"`)),
		kind == "system" && bytes.Contains(line, []byte(`"local_command"`)):
		t.decode(line)
	default:
		h, _ := readHead(line)
		t.follow(&h)
		t.rewound = t.rewound || kind == "last-prompt" && bytes.Contains(line, []byte(`"rewound"`))
	}
}

// follow notes the place of an entry in the conversation. An entry that does not follow the last
// one belongs to a rewind.
func (t *turnTracker) follow(h *head) {
	if h.sidechain || !h.chained() {
		return
	}
	if h.toolResult == nil && h.parent != "" && t.tip != "" && h.parent != t.tip || len(h.retracted) > 0 {
		t.rewound = true
	}
	t.tip = h.uuid
}

// decode counts the prompts of an entry.
func (t *turnTracker) decode(line []byte) {
	e, err := transcript.DecodeEntry(line)
	if err != nil {
		return
	}
	for _, queued := range t.queue.Next(&e) {
		t.count(queued)
	}
	if e.Type != entryfacts.QueueOperation {
		t.count(e)
	}
	h, _ := readHead(line)
	t.follow(&h)
}

func (t *turnTracker) count(e transcript.Entry) {
	if e.IsSidechain {
		return
	}
	if msg, _ := transcript.Classify(e); msg != nil {
		if _, ok := msg.(*transcript.UserMsg); ok {
			t.turns++
		}
	}
}

// end returns the number of turns after the last entry.
func (t *turnTracker) end() int {
	for _, queued := range t.queue.Rest() {
		t.count(queued)
	}
	return t.turns
}

// countTurns counts the turns of a conversation that was rewound, which needs all of its entries.
func countTurns(ctx context.Context, f *sessionFiles, s source) (int, error) {
	file, _, err := f.open(s.name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	section := io.NewSectionReader(&endingReader{ctx, file}, 0, s.size)
	t, err := transcript.Read(section, &transcript.ReadOptions{MaxResultBytes: 1})
	return transcript.LastTurn(t.Chunks), err
}
