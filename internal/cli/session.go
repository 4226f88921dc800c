package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/export"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A source is what a command shows: a session, a file, or stdin.
type source struct {
	info  sessions.SessionInfo // of a session; the ID of other sources is ""
	path  string               // of the transcript, or of the file
	stdin bool
}

// findSource tells what a word means: "-", "last", the ID of a session or its
// beginning, or the path of a file.
func findSource(ctx context.Context, word string) (source, error) {
	switch word {
	case "":
		return source{}, &failure{code: exitUsage, err: errors.New("the name is empty"), hint: sourceHint}
	case "-":
		return source{stdin: true}, nil
	case "last":
		return lastSession(ctx)
	}
	if _, err := os.Stat(word); err == nil || strings.ContainsAny(word, `./\`) {
		return source{path: word}, nil
	}
	return sessionBy(ctx, word)
}

const sourceHint = `Give the ID of a session or its beginning, "last", the path of a file, or - for stdin.
Run "clew ls --all" for a list of sessions.`

// lastSession finds the newest session of this project, or of all projects if
// this one has none.
func lastSession(ctx context.Context) (source, error) {
	for _, project := range []string{".", ""} {
		infos, err := sessions.List(ctx, &sessions.ListOptions{Project: project, Limit: 1})
		if len(infos) > 0 {
			return source{info: infos[0], path: infos[0].Path}, nil
		}
		if err != nil {
			return source{}, findError(ctx, err)
		}
	}
	return source{}, &failure{code: exitInput, err: errors.New("there are no sessions yet")}
}

func sessionBy(ctx context.Context, prefix string) (source, error) {
	found, err := sessionsBy(ctx, prefix)
	switch {
	case len(found) == 1:
		return source{info: found[0], path: found[0].Path}, nil
	case len(found) > 1:
		return source{}, ambiguous(prefix, found)
	case err != nil:
		return source{}, findError(ctx, err)
	}
	return source{}, &failure{
		code: exitInput, err: fmt.Errorf("there is no session and no file %s", printable(prefix)), hint: sourceHint,
	}
}

// sessionsBy returns the sessions whose ID begins so.
func sessionsBy(ctx context.Context, prefix string) (found []sessions.SessionInfo, err error) {
	infos, err := sessions.List(ctx, nil)
	for _, info := range infos {
		if strings.HasPrefix(info.ID, strings.ToLower(prefix)) {
			found = append(found, info)
		}
	}
	return found, err
}

func findError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted()
	}
	return sessionsError(err)
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
	return &failure{
		code: exitUsage,
		err:  fmt.Errorf("%d sessions begin with %s", len(found), printable(prefix)),
		hint: "Give more of the ID: " + strings.Join(ids, ", "),
	}
}

const (
	maxImage  = 5 << 20  // bytes of a picture in a document
	maxImages = 64 << 20 // bytes of all of them, unless all is asked for
)

// sessionFiles has what a transcript in memory does not: pictures, and long
// results in files of their own. Nil has nothing.
type sessionFiles struct {
	session *sessions.Session // or nil
	path    string            // of the transcript
	left    int               // bytes of pictures that there is room for
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

// provide lets a document have what is in the files.
func (f *sessionFiles) provide(ctx context.Context, opts *export.Options, full bool) {
	if f == nil {
		return
	}
	f.left = maxImages
	opts.Images = func(agent string, item *transcript.DisplayItem) []export.Image {
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

// A part says what is taken of a session, and how it is shown. The commands show
// and export have it in common.
type part struct {
	look     look
	turns    turnRange
	agent    string
	branches bool
	full     bool
	redact   bool
}

func (p *part) addFlags(cmd *cobra.Command) {
	p.look.addFlags(cmd)
	cmd.Flags().Var(&p.turns, "turn", "show these turns only, such as 3, 3..5 or 3..")
	cmd.Flags().StringVar(&p.agent, "agent", "", "show the subagent with this `ID`, or the beginning of one")
	addOnOff(cmd, &p.branches, "branches", "show what was left behind by rewinds, too")
	addOnOff(cmd, &p.full, "full", "show long results whole, in html and markdown")
	addOnOff(cmd, &p.redact, "redact", `take out keys, tokens, addresses, home folders; "clew export --list-rules" tells all`)
}

func (p *part) view() *export.View {
	return &export.View{Thinking: p.look.thinking, Expand: p.look.expand, Full: p.full}
}

// A reading is a session that was read: a transcript, or a document that was
// exported before.
type reading struct {
	*transcript.Transcript
	doc   *export.Document // nil for a transcript
	name  string           // of the file or session
	files *sessionFiles    // nil if there are none
}

// document returns the chosen part of a session, redacted if that is asked for.
func (p *part) document(ctx context.Context, r reading) (*export.Document, map[string]int, error) {
	t := r.Transcript
	if p.agent != "" {
		agent, err := findAgent(t, p.agent)
		if err != nil {
			return nil, nil, err
		}
		t = agent.Transcript
	}
	opts := &export.Options{Branches: p.branches}
	opts.Chunks, opts.Turn = p.turns.of(t.Chunks)
	if p.turns.text != "" && len(opts.Chunks) == 0 {
		return nil, nil, p.turns.none(countTurns(t.Chunks))
	}
	var doc *export.Document
	if r.doc != nil {
		doc = r.doc.Select(t, opts)
	} else {
		r.files.provide(ctx, opts, p.full)
		doc = export.New(t, opts)
	}
	if p.turns.text != "" {
		doc.Unlinked = nil
	}
	if !p.redact {
		return doc, nil, nil
	}
	redactor := newRedactor()
	export.Redact(doc, redactor)
	return doc, redactor.Counts(), nil
}
