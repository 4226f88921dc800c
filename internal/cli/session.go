package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/view"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A source is the session, the file or the stdin that a command reads.
type source struct {
	info  sessions.SessionInfo // of a session; the ID of other sources is ""
	path  string               // of the transcript, or of the file
	stdin bool
	most  int64 // bytes of the largest transcript that is held in memory; 0 means the default

	// The rest is set by open. A session has no input.
	in     *input
	r      *bufio.Reader // of in
	format inputFormat
}

// findSource returns the source that a word names: "-", "last", the ID of a session or its
// beginning, or the path of a file.
func findSource(ctx context.Context, word string) (*source, error) {
	switch word {
	case "":
		return nil, &clikit.Failure{Code: clikit.ExitUsage, Err: errors.New("the name is empty"), Hint: sourceHint}
	case "-":
		return &source{stdin: true}, nil
	case "last":
		return lastSession(ctx)
	}
	if _, err := os.Stat(word); err == nil || strings.ContainsAny(word, `./\`) {
		return &source{path: word}, nil
	}
	return sessionBy(ctx, word)
}

const sourceHint = `Give a session ID or a prefix of one, "last", the path of a file, or - for stdin.
Run "clew ls --all" to list sessions.`

// lastSession finds the newest session of this project, or of all projects if this one has none.
func lastSession(ctx context.Context) (*source, error) {
	for _, project := range []string{".", ""} {
		infos, err := sessions.List(ctx, &sessions.ListOptions{Project: project, Limit: 1})
		if len(infos) > 0 {
			return &source{info: infos[0], path: infos[0].Path}, nil
		}
		if err != nil {
			return nil, findError(ctx, err)
		}
	}
	return nil, &clikit.Failure{Code: clikit.ExitInput, Err: errors.New("there are no sessions yet")}
}

func sessionBy(ctx context.Context, prefix string) (*source, error) {
	found, err := sessionsBy(ctx, prefix)
	switch {
	case len(found) == 1:
		return onlySession(ctx, found[0])
	case len(found) > 1:
		return nil, ambiguous(prefix, found)
	case err != nil:
		return nil, findError(ctx, err)
	}
	return nil, &clikit.Failure{
		Code: clikit.ExitInput, Err: fmt.Errorf("no session or file matches %q", prefix), Hint: sourceHint,
	}
}

// onlySession returns a session, unless another project has one with the same ID.
func onlySession(ctx context.Context, info sessions.SessionInfo) (*source, error) {
	all, _ := sessions.GetAll(ctx, info.ID, nil) // it was found before
	if len(all) > 0 && view.MachineIn(all[0].Path) == "" {
		all = slices.DeleteFunc(all, func(i sessions.SessionInfo) bool { return view.MachineIn(i.Path) != "" })
	}
	// A copy in the archive is newer only if it has more than the agent's file: see archive.Unpack.
	if len(all) < 2 || view.MachineIn(all[0].Path) != "" {
		return &source{info: info, path: info.Path}, nil
	}
	hint := "Give the path of one of them:"
	for _, info := range all {
		hint += "\n  " + clikit.Printable(info.Path)
	}
	return nil, &clikit.Failure{
		Code: clikit.ExitUsage, Err: fmt.Errorf("%d projects have session %s", len(all), clikit.Printable(info.ID)), Hint: hint,
	}
}

// sessionID matches the ID of a session.
var sessionID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
})

// sessionsBy returns the sessions whose ID starts with the prefix, the newest for each ID. For a
// whole ID it does not list the others.
func sessionsBy(ctx context.Context, prefix string) ([]sessions.SessionInfo, error) {
	if id := strings.ToLower(prefix); sessionID().MatchString(id) {
		all, err := sessions.GetAll(ctx, id, nil)
		if len(all) > 0 {
			return all[:1], nil
		}
		if errors.Is(err, sessions.ErrNotFound) && !errors.Is(err, os.ErrPermission) {
			err = nil
		}
		return nil, err
	}
	return sessions.List(ctx, &sessions.ListOptions{ID: strings.ToLower(prefix)})
}

func findError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return clikit.Interrupted()
	}
	return sessionsError(err)
}

// sessionsError reports that the agent's directories could not be read.
func sessionsError(err error) error {
	f := &clikit.Failure{Code: clikit.ExitInput, Err: errors.New(clikit.Printable(err.Error()))}
	if errors.Is(err, os.ErrPermission) {
		f.Hint = "Check the permissions of the directory."
	} else if roots, err := sessions.Roots(); err != nil || len(roots) == 0 {
		f.Hint = "Set CLAUDE_CONFIG_DIR to the directory in which the agent keeps its files."
	}
	return f
}

func ambiguous(prefix string, found []sessions.SessionInfo) error {
	const most = 5
	var ids []string
	for _, info := range found[:min(most, len(found))] {
		ids = append(ids, info.ID)
	}
	if len(found) > most {
		ids = append(ids, "...")
	}
	return &clikit.Failure{
		Code: clikit.ExitUsage,
		Err:  fmt.Errorf("%d sessions begin with %s", len(found), clikit.Printable(prefix)),
		Hint: "Give more of the ID: " + strings.Join(ids, ", "),
	}
}

// open opens a file or stdin, and finds out its format. A session needs no opening.
func (s *source) open(ctx context.Context, stdin io.Reader) error {
	if s.info.ID != "" {
		s.format = transcriptInput
		return nil
	}
	name := s.path
	if s.stdin {
		name = "-"
	}
	in, err := openInput(ctx, name, stdin)
	if err != nil {
		return missingHint(err, sourceHint)
	}
	s.in, s.r = in, bufio.NewReaderSize(in, sniffed)
	s.format = sniff(s.r)
	if ctx.Err() != nil {
		s.close()
		return clikit.Interrupted()
	}
	return nil
}

// missingHint replaces the hint of an error about a missing file.
func missingHint(err error, hint string) error {
	if f, ok := errors.AsType[*clikit.Failure](err); ok && errors.Is(f.Err, fs.ErrNotExist) {
		f.Hint = hint
	}
	return err
}

func (s *source) close() {
	if s.in != nil {
		_ = s.in.Close() // opened to be read
	}
}

// name returns the name of the source for messages.
func (s *source) name() string {
	if s.in != nil {
		return s.in.name
	}
	return s.info.ID
}

// size returns the number of bytes to read, or -1 if it is not known.
func (s *source) size() int64 {
	if s.in != nil {
		return s.in.size
	}
	return s.info.Size
}

// isFile reports whether the source is a file in the agent's layout, beside which there may be
// files of subagents and results.
func (s *source) isFile() bool {
	return s.in != nil && s.format == transcriptInput && s.in.file != nil && s.in.size >= 0 &&
		strings.HasSuffix(s.in.name, ".jsonl")
}

// readError reports that the input could not be read to its end.
func (s *source) readError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return clikit.Interrupted()
	}
	return &clikit.Failure{Code: clikit.ExitInput, Err: s.in.readError(err)}
}

// A reading is a session in memory: a transcript, or a document that was exported before.
type reading struct {
	*transcript.Transcript
	doc   *export.Document // nil for a transcript
	files *sessionFiles    // nil if there are none
}

func (r *reading) close() { r.files.close() }

// maxWhole is the size of the largest transcript that is held in memory.
const maxWhole = 1 << 30

// fits reports whether a transcript of this size is held in memory. A transcript of unknown size
// is.
func (s *source) fits(size int64) bool {
	const small = 64 << 20
	if size > cmp.Or(s.most, maxWhole) {
		return false
	}
	free := freeMemory()
	return size <= small || free < 0 || memoryFor(s.path, size) <= free
}

// entryMemory is the approximate memory of an entry while it is exported, however short it is.
const entryMemory = 2560

// memoryFor estimates the memory for a transcript: twice its size, or more if its lines are short.
// It counts the lines at a few places of the file.
func memoryFor(path string, size int64) int64 {
	file, err := os.Open(path)
	if err != nil {
		return 2 * size // reading it reports the error
	}
	defer file.Close()
	const places = 4
	part := make([]byte, 64<<10)
	var lines, read int64
	for i := range int64(places) {
		n, _ := file.ReadAt(part, max(0, size-int64(len(part)))*i/(places-1))
		lines, read = lines+int64(bytes.Count(part[:n], []byte("\n"))), read+int64(n)
	}
	return max(2*size, lines*size/max(read, 1)*entryMemory)
}

// freeMemory returns the memory that programs can get without swapping, or -1 if it is not known.
func freeMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo") // on Linux
	if err != nil {
		return -1
	}
	_, text, _ = bytes.Cut(text, []byte("\nMemAvailable:"))
	fields := bytes.Fields(text)
	if len(fields) == 0 {
		return -1
	}
	kilobytes, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return -1
	}
	return kilobytes << 10
}

// read reads an open source to its end. It calls warn for each part that it had to leave out.
func (s *source) read(ctx context.Context, warn func(string)) (*reading, error) {
	var t *transcript.Transcript
	var err error
	switch {
	case s.format == exportedInput:
		return s.readExported(ctx, warn)
	case (s.info.ID != "" || s.isFile()) && !s.fits(s.size()):
		return nil, tooLarge(s.name(), s.size(), memoryFor(s.path, s.size()))
	case s.info.ID != "":
		t, err = sessions.Read(ctx, s.info.ID, &sessions.ReadOptions{ProjectName: s.info.Project})
	case s.isFile():
		t, err = sessions.ReadFile(ctx, s.in.name, nil)
	default:
		return s.readStream(ctx, warn)
	}
	switch {
	case ctx.Err() != nil:
		return nil, clikit.Interrupted()
	case t == nil:
		why := clikit.Printable(clikit.Cause(err).Error())
		return nil, &clikit.Failure{Code: clikit.ExitInput, Err: fmt.Errorf("cannot read %s: %s", clikit.Printable(s.name()), why)}
	case err != nil:
		warn(clikit.Printable(err.Error()))
	}
	if err := s.check(t, warn); err != nil {
		return nil, err
	}
	return &reading{Transcript: t, files: filesOf(ctx, s.path)}, nil
}

// readStream reads stream-json, or a transcript from a pipe.
func (s *source) readStream(ctx context.Context, warn func(string)) (*reading, error) {
	builder := transcript.NewBuilder(nil)
	var skipped skippedInput
	err := s.feed(builder, func(msg wire.Message) error {
		skipped.count(msg, false)
		return nil
	})
	if err != nil {
		return nil, s.readError(ctx, err)
	}
	t := builder.Transcript()
	skipped.warn(warn)
	transcript.Link(t, transcript.InlineAgents(t))
	if ctx.Err() != nil {
		return nil, clikit.Interrupted()
	}
	return &reading{Transcript: t}, s.check(t, warn)
}

// feed gives the input to a builder, and calls each after every piece of it: with a message of
// stream-json, or with nil for lines of a transcript.
func (s *source) feed(b *transcript.Builder, each func(wire.Message) error) error {
	defer b.Close() //nolint:errcheck // an incomplete last line is among the invalid ones
	if s.format == streamInput {
		for msg, err := range wire.NewReader(s.r, nil).Messages() {
			if err != nil {
				return err
			}
			b.AddMessage(msg, time.Time{})
			if err := each(msg); err != nil {
				return err
			}
		}
		return nil
	}
	buf := make([]byte, sniffed)
	for {
		n, err := s.r.Read(buf)
		_, _ = b.Write(buf[:n]) // never fails
		if err := each(nil); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readExported reads a document that was exported as JSON.
func (s *source) readExported(ctx context.Context, warn func(string)) (*reading, error) {
	doc, err := export.Read(s.r)
	switch {
	case errors.Is(err, export.ErrFormat):
		why := clikit.Printable(strings.TrimPrefix(err.Error(), "export: "))
		return nil, &clikit.Failure{
			Code: clikit.ExitInput, Err: fmt.Errorf("cannot read %s: %s", clikit.Printable(s.name()), why),
			Hint: "Export the session again.",
		}
	case err != nil:
		return nil, s.readError(ctx, err)
	case ctx.Err() != nil:
		return nil, clikit.Interrupted()
	}
	r := &reading{Transcript: doc.Transcript(), doc: doc}
	return r, s.check(r.Transcript, warn)
}

// check warns about lines that are not entries, and refuses a transcript without a conversation.
func (s *source) check(t *transcript.Transcript, warn func(string)) error {
	warnInvalid(invalidLines(t), warn)
	if len(t.Chunks) == 0 {
		return noConversation(s.name())
	}
	return nil
}

// invalidLines counts the lines of a transcript that are not entries.
func invalidLines(t *transcript.Transcript) lineCount {
	if len(t.Invalid) == 0 {
		return lineCount{}
	}
	return lineCount{n: len(t.Invalid) + t.Noise["invalid"], first: t.Invalid[0].Position.Line}
}

func warnInvalid(lines lineCount, warn func(string)) {
	if lines.n > 0 {
		warn(fmt.Sprintf("skipped lines that are not entries: %d, the first is line %d", lines.n, lines.first))
	}
}

func noConversation(name string) error {
	return &clikit.Failure{
		Code: clikit.ExitInput,
		Err:  fmt.Errorf("%s contains no conversation", clikit.Printable(name)),
		Hint: "Give a transcript or a stream-json file.",
	}
}

func tooLarge(name string, size, memory int64) error {
	return &clikit.Failure{
		Code: clikit.ExitInput,
		Err: fmt.Errorf("%s is too large to read into memory: %s, which would take about %s",
			clikit.Printable(name), wording.Size(size), wording.Size(memory)),
		Hint: `Use "clew show" without --agent, --branches, --diff, --redact and --format: it shows the text while it reads.`,
	}
}

const (
	maxImage  = 5 << 20  // bytes of one image in a document
	maxImages = 64 << 20 // bytes of all images, unless everything is asked for
)

// sessionFiles reads the parts of a session that a transcript in memory does not hold: images, and
// long results in separate files. Nil has nothing.
type sessionFiles struct {
	session *sessions.Session // or nil
	path    string            // of the transcript
	left    int               // bytes of images that there is room for
}

// filesOf returns the files around a transcript.
func filesOf(ctx context.Context, path string) *sessionFiles {
	files := &sessionFiles{path: path}
	id, isTranscript := strings.CutSuffix(filepath.Base(path), ".jsonl")
	project, err := filepath.Abs(filepath.Dir(path))
	if !isTranscript || err != nil {
		return files
	}
	opts := &sessions.Options{Store: sessions.NewFolder(filepath.Dir(project)), ProjectName: filepath.Base(project)}
	if session, err := sessions.Open(ctx, id, opts); err == nil {
		files.session = session
	}
	return files
}

func (f *sessionFiles) close() {
	if f != nil && f.session != nil {
		_ = f.session.Close() // opened to be read
	}
}

// provide makes a document read images and, with full, long results from the files.
func (f *sessionFiles) provide(ctx context.Context, opts *export.Options, full bool) {
	if f == nil {
		return
	}
	f.left = maxImages
	opts.Images = func(agent string, item *transcript.DisplayItem) []transcript.Image {
		entry, err := f.entry(ctx, agent, item.ResultAt)
		if err != nil {
			return nil
		}
		images := export.ImagesIn(&entry, item.ToolID, maxImage)
		for _, image := range images {
			if f.left -= len(image.Data); f.left < 0 && !full {
				return nil
			}
		}
		return images
	}
	if !full || f.session == nil {
		return
	}
	opts.Output = func(item *transcript.DisplayItem) string {
		name, _ := transcript.SpillPath(item)
		text, err := f.session.Spill(name)
		if err != nil {
			return ""
		}
		return string(text)
	}
}

// entry reads one entry again.
func (f *sessionFiles) entry(ctx context.Context, agent string, at wire.Position) (transcript.Entry, error) {
	if f.session != nil {
		return f.session.Entry(ctx, agent, at)
	}
	if agent != "" {
		return transcript.Entry{}, os.ErrNotExist
	}
	file, err := os.Open(f.path)
	if err != nil {
		return transcript.Entry{}, err
	}
	defer file.Close()
	line := make([]byte, at.Bytes)
	if _, err := io.ReadFull(io.NewSectionReader(file, at.Offset, at.Bytes), line); err != nil {
		return transcript.Entry{}, err
	}
	return transcript.DecodeEntry(line)
}

// A style configures how conversations are shown as text.
type style struct {
	expand   bool
	thinking bool
	zone     *time.Location // nil for the local one
}

func (s *style) addFlags(cmd *cobra.Command) {
	clikit.AddOnOff(cmd, &s.expand, "expand", "show complete tool inputs and results, and the work of subagents")
	clikit.AddOnOff(cmd, &s.thinking, "thinking", "show the agent's thinking")
}

func (s *style) options(streams Streams) render.Options {
	return render.Options{
		Width:    clikit.TextWidth(streams.Out, 80),
		Color:    clikit.Colored(streams.Out),
		Expand:   s.expand,
		Thinking: s.thinking,
		Zone:     s.zone,
	}
}

// A selection is the part of a session to show, and its style. The commands show and export share
// it.
type selection struct {
	style    style
	turns    turnRange
	agent    string
	branches bool
	full     bool
	redact   bool
	release  bool // the reading is not used after its document was made
}

func (s *selection) addFlags(cmd *cobra.Command) {
	s.style.addFlags(cmd)
	cmd.Flags().Var(&s.turns, "turn", "show only these turns, such as 3, 3..5 or 3..")
	cmd.Flags().StringVar(&s.agent, "agent", "", "show the subagent with this `ID` or ID prefix")
	clikit.AddOnOff(cmd, &s.branches, "branches", "also show messages that were rewound")
	clikit.AddOnOff(cmd, &s.full, "full", "do not shorten long results (html and markdown)")
	clikit.AddOnOff(cmd, &s.redact, "redact",
		`remove keys, tokens, addresses and home directories; "clew export --list-rules" lists the rules`)
}

func (s *selection) view() *export.View {
	return &export.View{Thinking: s.style.thinking, Expand: s.style.expand, Full: s.full}
}

// selected is the chosen part of a transcript.
type selected struct {
	*transcript.Transcript // of the whole session, or of the subagent
	chunks                 []transcript.Chunk
}

// choose returns the selected part of a session.
func (s *selection) choose(t *transcript.Transcript) (*selected, error) {
	if s.agent != "" {
		agent, err := findAgent(t, s.agent)
		if err != nil {
			return nil, err
		}
		t = agent.Transcript
	}
	chunks := s.turns.of(t.Chunks)
	if s.turns.text != "" && len(chunks) == 0 {
		return nil, s.turns.none(transcript.LastTurn(t.Chunks))
	}
	return &selected{Transcript: t, chunks: chunks}, nil
}

// document returns the selected part of a session as a document, redacted if the flags ask for it,
// and the number of redactions by rule.
func (s *selection) document(ctx context.Context, r *reading) (*export.Document, map[string]int, error) {
	chosen, err := s.choose(r.Transcript)
	if err != nil {
		return nil, nil, err
	}
	opts := &export.Options{Branches: s.branches, Chunks: chosen.chunks, Release: s.release}
	var doc *export.Document
	if r.doc != nil {
		doc = r.doc.Select(chosen.Transcript, opts)
	} else {
		r.files.provide(ctx, opts, s.full)
		doc = export.New(chosen.Transcript, opts)
	}
	if s.release {
		r.Transcript, r.doc = nil, nil
	}
	if s.turns.text != "" {
		doc.Unlinked = nil
	}
	if !s.redact {
		return doc, nil, nil
	}
	redactor := newRedactor()
	export.Redact(doc, redactor)
	return doc, redactor.Counts(), nil
}

// newRedactor returns a redactor that knows the user's home directory.
func newRedactor() *redact.Redactor {
	home, _ := os.UserHomeDir() // without one, there is no path to remove
	return &redact.Redactor{Home: home}
}

// findAgent finds the subagent whose ID starts with the prefix.
func findAgent(t *transcript.Transcript, prefix string) (*transcript.Agent, error) {
	var found []*transcript.Agent
	for _, a := range agentsOf(t) {
		if a.ID == prefix && a.Transcript != nil {
			return a, nil
		}
		if strings.HasPrefix(a.ID, prefix) && a.Transcript != nil {
			found = append(found, a)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	text, hint := "no subagent matches ", "The session has no subagent with a transcript."
	if len(found) > 1 {
		text = fmt.Sprintf("%d subagents begin with ", len(found))
	}
	if ids := agentIDs(agentsOf(t)); ids != "" {
		hint = "The subagents are: " + ids
	}
	return nil, &clikit.Failure{Code: clikit.ExitUsage, Err: errors.New(text + clikit.Printable(prefix)), Hint: hint}
}

func agentIDs(agents []*transcript.Agent) string {
	var ids []string
	for _, a := range agents {
		ids = append(ids, tty.Line(a.ID))
	}
	return strings.Join(ids, ", ")
}

// agentsOf returns the subagents of a transcript, and those below them.
func agentsOf(t *transcript.Transcript) []*transcript.Agent {
	agents := slices.Clone(t.Unlinked)
	for i := range t.Chunks {
		for j := range t.Chunks[i].Items {
			agents = append(agents, t.Chunks[i].Items[j].Agents...)
		}
	}
	all := agents
	for _, a := range agents {
		if a.Transcript != nil {
			all = append(all, agentsOf(a.Transcript)...)
		}
	}
	return all
}
