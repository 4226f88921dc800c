// Package input finds and reads the session, the file or the stream that a command line names.
package input

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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A Source is the session, the file or the stdin that a command reads.
type Source struct {
	Info  sessions.SessionInfo // of a session; the ID of other sources is ""
	Path  string               // of the transcript, or of the file
	Stdin bool
	Most  int64 // bytes of the largest transcript that is held in memory; 0 means the default

	// The rest is set by Open. A session has no input.
	In     *Stream
	R      *bufio.Reader // of in
	Format Format
}

// find is [Find] in all projects.
func find(ctx context.Context, word string) (*Source, error) {
	switch word {
	case "":
		return nil, &clikit.Failure{Code: clikit.ExitUsage, Err: errors.New("the name is empty"), Hint: sourceHint}
	case "-":
		return &Source{Stdin: true}, nil
	case "last":
		return lastSession(ctx)
	}
	if _, err := os.Stat(word); err == nil || strings.ContainsAny(word, `./\`) {
		return &Source{Path: word}, nil
	}
	return sessionBy(ctx, word)
}

const sourceHint = `Give a session ID or a prefix of one, "last", the path of a file, or - for stdin.
Run "clew ls --all" to list sessions.`

// lastSession finds the newest session of this project, or of all projects if this one has none.
func lastSession(ctx context.Context) (*Source, error) {
	for _, project := range []string{".", ""} {
		infos, err := sessions.List(ctx, &sessions.ListOptions{Project: project, Limit: 1})
		if len(infos) > 0 {
			return &Source{Info: infos[0], Path: infos[0].Path}, nil
		}
		if err != nil {
			return nil, FindError(ctx, err)
		}
	}
	return nil, &clikit.Failure{Code: clikit.ExitInput, Err: errors.New("there are no sessions yet")}
}

func sessionBy(ctx context.Context, prefix string) (*Source, error) {
	found, err := ByPrefix(ctx, prefix)
	switch {
	case len(found) == 1:
		return onlySession(ctx, found[0])
	case len(found) > 1:
		return nil, Ambiguous(prefix, found)
	case err != nil:
		return nil, FindError(ctx, err)
	}
	return nil, &clikit.Failure{
		Code: clikit.ExitInput, Err: fmt.Errorf("no session or file matches %q", prefix), Hint: sourceHint,
	}
}

// onlySession returns a session, unless another project has one with the same ID.
func onlySession(ctx context.Context, info sessions.SessionInfo) (*Source, error) {
	all, _ := sessions.GetAll(ctx, info.ID, nil) // it was found before
	if len(all) > 0 && view.MachineIn(all[0].Path) == "" {
		all = slices.DeleteFunc(all, func(i sessions.SessionInfo) bool { return view.MachineIn(i.Path) != "" })
	}
	// A copy in the archive is newer only if it has more than the agent's file: see archive.Unpack.
	if len(all) < 2 || view.MachineIn(all[0].Path) != "" {
		return &Source{Info: info, Path: info.Path}, nil
	}
	hint := "Give the path of one of them:"
	for _, info := range all {
		hint += "\n  " + clikit.Printable(info.Path)
	}
	return nil, &clikit.Failure{
		Code: clikit.ExitUsage, Err: fmt.Errorf("%d projects have session %s", len(all), clikit.Printable(info.ID)), Hint: hint,
	}
}

// ByPrefix returns the sessions whose ID starts with the prefix, the newest for each ID. For a
// whole ID it does not list the others.
func ByPrefix(ctx context.Context, prefix string) ([]sessions.SessionInfo, error) {
	if id := strings.ToLower(prefix); newid.IsUUID(id) {
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

// FindError reports that sessions could not be listed, or that the user interrupted that.
func FindError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return clikit.Interrupted()
	}
	return SessionsError(err)
}

// SessionsError reports that the agent's directories could not be read.
func SessionsError(err error) error {
	f := &clikit.Failure{Code: clikit.ExitInput, Err: errors.New(clikit.Printable(err.Error()))}
	if errors.Is(err, os.ErrPermission) {
		f.Hint = "Check the permissions of the directory."
	} else if roots, err := sessions.Roots(); err != nil || len(roots) == 0 {
		f.Hint = "Set CLAUDE_CONFIG_DIR to the directory in which the agent keeps its files."
	}
	return f
}

// Ambiguous reports that several sessions match a prefix.
func Ambiguous(prefix string, found []sessions.SessionInfo) error {
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

// Open opens a file or stdin, and finds out its format. A session needs no opening.
func (s *Source) Open(ctx context.Context, stdin io.Reader) error {
	if s.Info.ID != "" {
		s.Format = Transcript
		return nil
	}
	name := s.Path
	if s.Stdin {
		name = "-"
	}
	in, err := Open(ctx, name, stdin)
	if err != nil {
		return MissingHint(err, sourceHint)
	}
	s.In, s.R = in, bufio.NewReaderSize(in, sniffed)
	s.Format = sniff(s.R)
	if ctx.Err() != nil {
		s.Close()
		return clikit.Interrupted()
	}
	return nil
}

// MissingHint replaces the hint of an error about a missing file.
func MissingHint(err error, hint string) error {
	if f, ok := errors.AsType[*clikit.Failure](err); ok && errors.Is(f.Err, fs.ErrNotExist) {
		f.Hint = hint
	}
	return err
}

// Close closes what Open opened.
func (s *Source) Close() {
	if s.In != nil {
		_ = s.In.Close() // opened to be read
	}
}

// Name returns the name of the source for messages.
func (s *Source) Name() string {
	if s.In != nil {
		return s.In.Name
	}
	return s.Info.ID
}

// Size returns the number of bytes to read, or -1 if it is not known.
func (s *Source) Size() int64 {
	if s.In != nil {
		return s.In.Size
	}
	return s.Info.Size
}

// IsFile reports whether the source is a file in the agent's layout, beside which there may be
// files of subagents and results.
func (s *Source) IsFile() bool {
	return s.In != nil && s.Format == Transcript && s.In.File != nil && s.In.Size >= 0 &&
		strings.HasSuffix(s.In.Name, ".jsonl")
}

// ReadError reports that the input could not be read to its end.
func (s *Source) ReadError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return clikit.Interrupted()
	}
	return &clikit.Failure{Code: clikit.ExitInput, Err: s.In.ReadError(err)}
}

// A Reading is a session in memory: a transcript, or a document that was exported before.
type Reading struct {
	*transcript.Transcript
	Doc   *export.Document // nil for a transcript
	Files *Files           // nil if there are none
}

// Close closes the files.
func (r *Reading) Close() { r.Files.close() }

// MaxWhole is the size of the largest transcript that is held in memory.
const MaxWhole = 1 << 30

// Fits reports whether a transcript of this size is held in memory. A transcript of unknown size
// is.
func (s *Source) Fits(size int64) bool {
	const small = 64 << 20
	if size > cmp.Or(s.Most, MaxWhole) {
		return false
	}
	free := freeMemory()
	return size <= small || free < 0 || memoryFor(s.Path, size) <= free
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

// Read reads an open source to its end. It calls warn for each part that it had to leave out.
func (s *Source) Read(ctx context.Context, warn func(string)) (*Reading, error) {
	var t *transcript.Transcript
	var err error
	switch {
	case s.Format == Exported:
		return s.readExported(ctx, warn)
	case (s.Info.ID != "" || s.IsFile()) && !s.Fits(s.Size()):
		return nil, tooLarge(s.Name(), s.Size(), memoryFor(s.Path, s.Size()))
	case s.Info.ID != "":
		t, err = sessions.Read(ctx, s.Info.ID, &sessions.ReadOptions{ProjectName: s.Info.Project})
	case s.IsFile():
		t, err = sessions.ReadFile(ctx, s.In.Name, nil)
	default:
		return s.readStream(ctx, warn)
	}
	switch {
	case ctx.Err() != nil:
		return nil, clikit.Interrupted()
	case t == nil:
		why := clikit.Printable(clikit.Cause(err).Error())
		return nil, &clikit.Failure{Code: clikit.ExitInput, Err: fmt.Errorf("cannot read %s: %s", clikit.Printable(s.Name()), why)}
	case err != nil:
		warn(clikit.Printable(err.Error()))
	}
	if err := s.check(t, warn); err != nil {
		return nil, err
	}
	return &Reading{Transcript: t, Files: filesOf(ctx, s.Path)}, nil
}

// readStream reads stream-json, or a transcript from a pipe.
func (s *Source) readStream(ctx context.Context, warn func(string)) (*Reading, error) {
	builder := transcript.NewBuilder(nil)
	var skipped Skipped
	err := s.Feed(builder, func(msg wire.Message) error {
		skipped.Count(msg, false)
		return nil
	})
	if err != nil {
		return nil, s.ReadError(ctx, err)
	}
	t := builder.Transcript()
	skipped.Warn(warn)
	transcript.Link(t, transcript.InlineAgents(t))
	if ctx.Err() != nil {
		return nil, clikit.Interrupted()
	}
	return &Reading{Transcript: t}, s.check(t, warn)
}

// Feed gives the input to a builder, and calls each after every piece of it: with a message of
// stream-json, or with nil for lines of a transcript.
func (s *Source) Feed(b *transcript.Builder, each func(wire.Message) error) error {
	defer b.Close() //nolint:errcheck // an incomplete last line is among the invalid ones
	if s.Format == StreamJSON {
		for msg, err := range wire.NewReader(s.R, nil).Messages() {
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
		n, err := s.R.Read(buf)
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
func (s *Source) readExported(ctx context.Context, warn func(string)) (*Reading, error) {
	doc, err := export.Read(s.R)
	switch {
	case errors.Is(err, export.ErrFormat):
		why := clikit.Printable(strings.TrimPrefix(err.Error(), "export: "))
		return nil, &clikit.Failure{
			Code: clikit.ExitInput, Err: fmt.Errorf("cannot read %s: %s", clikit.Printable(s.Name()), why),
			Hint: "Export the session again.",
		}
	case err != nil:
		return nil, s.ReadError(ctx, err)
	case ctx.Err() != nil:
		return nil, clikit.Interrupted()
	}
	r := &Reading{Transcript: doc.Transcript(), Doc: doc}
	return r, s.check(r.Transcript, warn)
}

// check warns about lines that are not entries, and refuses a transcript without a conversation.
func (s *Source) check(t *transcript.Transcript, warn func(string)) error {
	WarnInvalid(InvalidLines(t), warn)
	if len(t.Chunks) == 0 {
		return NoConversation(s.Name())
	}
	return nil
}

// InvalidLines counts the lines of a transcript that are not entries.
func InvalidLines(t *transcript.Transcript) Lines {
	if len(t.Invalid) == 0 {
		return Lines{}
	}
	return Lines{N: len(t.Invalid) + t.Noise["invalid"], First: t.Invalid[0].Position.Line}
}

// WarnInvalid warns about lines that are not entries, if there are any.
func WarnInvalid(lines Lines, warn func(string)) {
	if lines.N > 0 {
		warn(fmt.Sprintf("skipped lines that are not entries: %d, the first is line %d", lines.N, lines.First))
	}
}

// NoConversation reports that the source of this name contains no conversation.
func NoConversation(name string) error {
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

// Files reads the parts of a session that a transcript in memory does not hold: images, and
// long results in separate files. Nil has nothing.
type Files struct {
	session *sessions.Session // or nil
	path    string            // of the transcript
}

// filesOf returns the files around a transcript.
func filesOf(ctx context.Context, path string) *Files {
	files := &Files{path: path}
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

func (f *Files) close() {
	if f != nil && f.session != nil {
		_ = f.session.Close() // opened to be read
	}
}

// Provide makes a document read images and, with full, long results from the files.
func (f *Files) Provide(ctx context.Context, opts *export.Options, full bool) {
	if f == nil {
		return
	}
	opts.Images = view.Images(func(agent string, at wire.Position) (transcript.Entry, error) { return f.entry(ctx, agent, at) }, full)
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
func (f *Files) entry(ctx context.Context, agent string, at wire.Position) (transcript.Entry, error) {
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

// A Skipped counts the parts of a stream that are not messages.
type Skipped struct{ lines, frames Lines }

// Count counts lines that are not JSON, unless they are shown, and frames that are invalid.
func (s *Skipped) Count(msg wire.Message, linesShown bool) {
	switch m := msg.(type) {
	case *wire.TextLine:
		if !linesShown {
			s.lines.Add(m.Line)
		}
	case *wire.InvalidFrame:
		s.frames.Add(m.Line)
	}
}

// Warn warns about the counted parts, if any.
func (s *Skipped) Warn(warn func(string)) {
	for _, skipped := range []struct {
		Lines
		what string
	}{{s.lines, "lines that are not JSON"}, {s.frames, "invalid frames"}} {
		if skipped.N > 0 {
			warn(fmt.Sprintf("skipped %s: %d, the first is line %d", skipped.what, skipped.N, skipped.First))
		}
	}
}

// Lines are N lines, of which one is the first.
type Lines struct{ N, First int }

// Add adds a line by its number.
func (c *Lines) Add(line int) {
	if c.N++; c.N == 1 {
		c.First = line
	}
}
