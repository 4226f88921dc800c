package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A questioner asks the user the agent's questions, one at a time, each below the output that came
// before it. No question is answered by what was typed before it was on the screen.
type questioner struct {
	ctx     context.Context // of the run: no questions are asked after its end
	streams Streams
	screen  *screen
	// workspace is where the agent works.
	workspace workspace
	// claim reserves the terminal for a question until leave is called. The question ends with the
	// context that claim returns.
	claim func(ctx context.Context) (asked context.Context, leave func())

	mu        sync.Mutex // held while there is a question
	console   console
	withdrawn bool // the agent withdrew the last question: the user may be about to answer it
}

func newQuestioner(ctx context.Context, s Streams, scr *screen) *questioner {
	return &questioner{ctx: ctx, streams: s, screen: scr, claim: noClaim}
}

// noClaim is the claim of a terminal that nothing else uses.
func noClaim(ctx context.Context) (asked context.Context, leave func()) { return ctx, func() {} }

// serve makes the agent ask here, unless the options name another way.
func (a *questioner) serve(opts *clew.Options) {
	a.workspace = newWorkspace(opts.Dir)
	if opts.PermissionPromptTool != "" || opts.PermissionPrompts == clew.PermissionPromptsNone {
		return
	}
	opts.CanUseTool = a.decide
	if a.canAsk() {
		opts.OnQuestion = a.choose
	}
}

const (
	nobodyToAsk = "Denied: there is no terminal to ask the user on. " +
		"The user can allow it in advance with --allowedTools or --permission-mode."
	noChoices = "Denied: the user can't choose an answer here. Decide, or end with the question."
)

// decide is a [clew.CanUseToolFunc].
func (a *questioner) decide(ctx context.Context, req *clew.PermissionRequest) (result clew.PermissionResult, err error) {
	err = a.put(ctx, req, func(ctx context.Context) (err error) {
		result, err = a.permit(ctx, req)
		return err
	})
	return result, err
}

// put asks a question about a tool use when it is its turn, unless the agent has withdrawn it.
func (a *questioner) put(ctx context.Context, about *clew.PermissionRequest, ask func(context.Context) error) error {
	a.screen.waitForTool(ctx, about.ToolUseID)
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	asked, leave := a.claim(ctx)
	defer leave()
	return ask(asked)
}

// waitForAnswer waits until no question is open, so that no text is printed within one.
func (a *questioner) waitForAnswer() {
	a.mu.Lock()
	defer a.mu.Unlock()
}

func (a *questioner) permit(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	err := a.open()
	switch {
	case needsChoice(req):
		a.screen.refused(req.ToolUseID, req.ToolName, "choices can't be shown here")
		return clew.Deny(noChoices), nil
	case err != nil:
		a.screen.refused(req.ToolUseID, req.ToolName, err.Error()+"; see --allowedTools and --permission-mode")
		return clew.Deny(nobodyToAsk), nil
	}
	defer a.hold()()
	result, err := a.ask(ctx, req)
	_, allowed := result.(*clew.AllowResult)
	a.screen.decided(req.ToolUseID, allowed)
	if a.ctx.Err() != nil || errors.Is(context.Cause(ctx), errUserStopped) {
		return &clew.DenyResult{Message: "The user interrupted.", Interrupt: true}, nil
	}
	return result, err
}

// needsChoice reports whether the request needs another answer than yes or no. A plan needs only
// yes or no.
func needsChoice(req *clew.PermissionRequest) bool {
	return req.ToolName == "AskUserQuestion" || req.RequiresUserInteraction && req.ToolName != "ExitPlanMode"
}

// canAsk reports whether there is a terminal to ask on.
func (a *questioner) canAsk() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open() == nil
}

// hold pauses the screen until release is called.
func (a *questioner) hold() (release func()) {
	a.screen.pause(true)
	return func() { a.screen.pause(false) }
}

// errUserStopped is the cause of the end of a question that the user interrupted.
var errUserStopped = errors.New("interrupted by the user")

// errInputEnded means that the user can't answer any more.
var errInputEnded = errors.New("the input has ended")

// ask shows a question, page by page, and repeats it until it has an answer.
func (a *questioner) ask(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	if err := a.settle(ctx); err != nil {
		return orDenied(err)
	}
	s := describe(req, a.view(), a.workspace)
	a.screen.state("waits for you")
	for above := s.page(longestPrompt(req, s)); ; {
		line, err := a.answer(ctx, above, promptOf(req, s))
		if err != nil {
			return orDenied(err)
		}
		switch r := replyOf(s.letter(line), req, s.complete()); {
		case r.result != nil:
			return r.result, nil
		case r.why:
			return a.askWhy(ctx, s)
		case r.help:
			above = explanation(req, s) + s.repeat()
		case r.refusal == "" && !s.complete():
			_, s.view.rows = a.console.size()
			above = s.page(longestPrompt(req, s))
		case r.refusal == "":
			above = s.repeat()
		default:
			above = lines(s.ours(r.refusal, 0)) + s.repeat()
		}
	}
}

// view returns what questions are shown on now.
func (a *questioner) view() view {
	columns, rows := a.console.size()
	plain := a.screen.plain || os.Getenv("TERM") == "dumb"
	return view{columns: columns, rows: rows, color: a.colored(), plain: plain, lines: drawsLines()}
}

// askWhy asks for a reason, and returns a denial with it.
func (a *questioner) askWhy(ctx context.Context, s *sheet) (clew.PermissionResult, error) {
	line, err := a.answer(ctx, "", s.prompt("Tell the agent why, or what to do instead: "))
	if err != nil {
		return orDenied(err)
	}
	return denied(line), nil
}

// settle lets the user catch up if another question was withdrawn, or a prompt is being typed: what
// they type next is not meant for the question that follows.
func (a *questioner) settle(ctx context.Context) error {
	if !a.withdrawn && !a.console.in.awaited() {
		return nil
	}
	line, err := a.answer(ctx, "", "Press Enter to see a question from the agent: ")
	if err != nil {
		return err
	}
	if strings.TrimSpace(line) != "" {
		a.say("This line was ignored.\n")
	}
	a.withdrawn = false
	return nil
}

// answer returns the line that the user types below a text and a prompt. It discards
// anything that was typed before the text was shown.
func (a *questioner) answer(ctx context.Context, text, prompt string) (line string, err error) {
	a.say(text)
	lines := a.console.in.want()
	a.say(prompt)
	away := time.NewTimer(a.screen.untilAway())
	defer away.Stop()
	for asked := true; asked; {
		select {
		case line, more := <-lines:
			if !more {
				return "", errInputEnded
			}
			a.screen.userActed()
			return line, nil
		case <-a.ctx.Done():
			return "", a.ctx.Err()
		case <-away.C:
			a.notify()
		case <-ctx.Done():
			asked = false
		}
	}
	a.say("\n")
	if a.ctx.Err() == nil && !errors.Is(context.Cause(ctx), errUserStopped) {
		a.withdrawn = true
		a.say("The agent has withdrawn the question.\n")
	}
	return "", ctx.Err()
}

// orDenied returns a denial if the input has ended without an answer.
func orDenied(err error) (clew.PermissionResult, error) {
	if errors.Is(err, errInputEnded) {
		return clew.Deny("The user gave no answer."), nil
	}
	return nil, err
}

// A workspace is where the agent works: its questions show what becomes of the files there.
type workspace struct {
	dir string // absolute, or ""
	// read returns the content of a file. Nil means that files are not read.
	read func(path string) (string, error)
}

// newWorkspace returns the working directory of an agent.
func newWorkspace(dir string) workspace {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return workspace{}
	}
	return workspace{dir: dir, read: readText}
}

// A change is what a call does to a file, as far as it is known before.
type change struct {
	diff     *transcript.FileDiff
	replaced []string // the members of the input that diff tells all of
	remark   string   // why diff does not tell more, or ""
}

// pathNames are the members that name the file of a call.
var pathNames = map[string]string{
	"Read": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path",
}

// changeNames are the members of a call that a diff replaces.
var changeNames = map[string][]string{
	"Edit": {"old_string", "new_string"}, "MultiEdit": {"edits"}, "Write": {"content"}, "NotebookEdit": {"new_source"},
}

// pathOf returns the path of the file that a call is about. It is not ok unless there is exactly one,
// and it can be shown as it is.
func pathOf(tool string, members []member) (path string, ok bool) {
	if !isUnique(members, pathNames[tool], '"') {
		return "", false
	}
	path, _ = valueOf(members, pathNames[tool])
	return path, path != "" && strings.TrimSpace(path) == path
}

// isUnique reports whether there is exactly one member of a name, however it is spelled, and its
// value is of a kind: JSON that begins with this character.
func isUnique(members []member, name string, kind byte) bool {
	found := 0
	for _, m := range members {
		if strings.EqualFold(m.name, name) {
			found++
			if m.name != name || m.value[0] != kind {
				return false
			}
		}
	}
	return found == 1 && name != ""
}

// changeOfFile returns what a call does to a file. There is no diff if it would not tell everything:
// if a member is repeated or of another type, or if another one differs from it only in case.
func changeOfFile(req *clew.PermissionRequest, members []member, w workspace) change {
	path, ok := pathOf(req.ToolName, members)
	names := changeNames[req.ToolName]
	if !ok || len(names) == 0 || !isPlainChange(req.ToolName, members) {
		return change{}
	}
	diff, err := w.diff(req, path)
	if err == nil {
		if mode, _ := valueOf(members, "edit_mode"); mode == "delete" { // the new source is not used
			names = nil
		}
		if all, _ := valueOf(members, "replace_all"); all == "false" {
			names = append(slices.Clone(names), "replace_all") // it is the default
		}
		return change{diff: diff, replaced: names}
	}
	c := change{remark: err.Error()}
	if errors.Is(err, errNotRead) {
		c.remark = ""
	}
	proposed, ok := transcript.InputDiff(req.ToolName, req.Input)
	if !ok || len(proposed.Hunks) == 0 || req.ToolName == "MultiEdit" || isPartialLine(members, names) {
		return c
	}
	proposed.Relative, proposed.Created = true, false
	c.diff, c.replaced = proposed, names
	return c
}

// isPlainChange reports whether the members of a change mean the same to every reader of JSON.
func isPlainChange(tool string, members []member) bool {
	for _, name := range changeNames[tool] {
		kind := byte('"')
		if name == "edits" {
			kind = '['
		}
		if !isUnique(members, name, kind) {
			return false
		}
	}
	for _, m := range members {
		if strings.EqualFold(m.name, "replace_all") && (m.name != "replace_all" || m.value != "true" && m.value != "false") ||
			strings.EqualFold(m.name, "edit_mode") && m.name != "edit_mode" ||
			strings.EqualFold(m.name, "cell_id") && m.name != "cell_id" || m.name == "edits" && !arePlainEdits(m.value) {
			return false
		}
	}
	return true
}

// arePlainEdits reports whether the edits of a MultiEdit have the usual members, and no others.
func arePlainEdits(list string) bool {
	var edits []wire.JSON
	err := json.Unmarshal([]byte(list), &edits)
	for _, edit := range edits {
		members, wrong := membersOf(edit)
		if wrong != nil || !isUnique(members, "old_string", '"') || !isUnique(members, "new_string", '"') {
			return false
		}
		for _, m := range members {
			if m.name != "old_string" && m.name != "new_string" && (m.name != "replace_all" || m.value != "true" && m.value != "false") {
				return false
			}
		}
	}
	return err == nil
}

// isPartialLine reports whether only one of two texts ends its last line, which a diff of the texts
// alone does not tell.
func isPartialLine(members []member, names []string) bool {
	ended := 0
	for _, name := range names {
		text, _ := valueOf(members, name)
		ended += boolOrder(strings.HasSuffix(text, "\n"))
	}
	return ended == 1 && len(names) == 2
}

var errNotRead = errors.New("files are not read here")

// diff returns what becomes of the file of a call.
func (w workspace) diff(req *clew.PermissionRequest, path string) (*transcript.FileDiff, error) {
	if w.read == nil {
		return nil, errNotRead
	}
	if strings.HasPrefix(path, "~") {
		return nil, errors.New("the file was not read: its path begins with ~")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.dir, path)
	}
	text, err := w.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		diff, ok := transcript.InputDiff(req.ToolName, req.Input)
		if !ok || !diff.Created || len(diff.Hunks) == 0 {
			return nil, errors.New("there is no such file")
		}
		return diff, nil
	}
	if err != nil {
		return nil, errors.New("the file was not read: " + cause(err).Error())
	}
	return transcript.InputDiffOf(req.ToolName, req.Input, text)
}

// maxEdited is the size of the largest file that a question compares.
const maxEdited = 4 << 20

var (
	errNotRegular = errors.New("it is not a regular file")
	errTooLarge   = errors.New("it is larger than 4 MiB")
	errBinary     = errors.New("it is not a text")
)

// readText returns the content of a text file. It does not wait for what is not a file, even if that
// takes the place of one in between.
func readText(path string) (string, error) {
	flag := os.O_RDONLY
	if runtime.GOOS != "windows" {
		flag |= syscall.O_NONBLOCK // opening a named pipe would wait for a writer
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errNotRegular
	case info.Size() > maxEdited:
		return "", errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEdited+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxEdited:
		return "", errTooLarge
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "", errBinary
	}
	return string(data), nil
}
