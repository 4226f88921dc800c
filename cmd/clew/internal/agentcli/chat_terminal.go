package agentcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/compose"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/prompts"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/cmd/clew/internal/tui"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/screens"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A terminalUser is a user at a terminal. It is the driver of the chat on the terminal, and the
// board of the chat's screen: the agent's activity goes to the chat by mail.
type terminalUser struct {
	chat    *chat
	in      *os.File
	out     *os.File
	mail    *tui.Mailbox
	history *prompts.History
	docked  *dockedQuestions
	greeted bool
	keys    *keymap.Map   // or nil for the usual ones
	environ []string      // for agents that the user starts
	prompts chan string   // a prompt that was sent
	ended   chan struct{} // closed when the user ends the chat
	endOnce sync.Once

	mu            sync.Mutex
	columns, rows int
	interrupt     func()         // nil while nothing runs
	unsaved       []string       // prompts for the file of the history
	saving        bool           // a goroutine saves them
	saved         sync.WaitGroup // waits for it
}

func newTerminalUser(ctx context.Context, s clikit.Streams, c *chat) *terminalUser {
	in, out := s.In.(*os.File), s.Out.(*os.File) //nolint:forcetypeassert // they are terminals
	u := &terminalUser{
		chat: c, in: in, out: out, mail: tui.NewMailbox(), prompts: make(chan string, 1), ended: make(chan struct{}),
	}
	u.columns, u.rows = termio.Size(out)
	u.docked = newDockedQuestions(ctx, c, u.mail)
	u.docked.gone = u.ended
	return u
}

// begin shows the chat.
func (u *terminalUser) begin() (end func(), err error) {
	path, _ := clikit.StateFile("history") // without a home, the history is not saved
	u.history = prompts.OpenHistory(path)
	u.chat.screen.useBoard(u)
	opts := tui.ChatOptions{Mail: u.mail, History: u.history.History}
	opts.Keys = u.keys
	opts.Color, opts.Lines, opts.Now = clikit.Colored(u.out), termio.DrawsLines(), clikit.Now
	opts.Dir = u.docked.dir()
	from := view.New(view.Options{
		Dir: opts.Dir, AgentPath: u.chat.opts.AgentPath, AgentEnv: u.environ, In: u.in, Out: u.out, Err: u.out, HandOver: termio.HandOver,
	})
	opts.Source = from
	done := make(chan struct{})
	termio.SetModes(tui.ResetModes(false))
	go func() {
		defer close(done)
		unseen, err := tui.Chat(context.WithoutCancel(u.chat.ctx), tui.TerminalOf(u.in, u.out), u, opts)
		err = errors.Join(err, from.Close())
		u.chat.screen.useBoard(nil)
		_, _ = io.WriteString(u.out, strings.Join(append(unseen, ""), "\n")) // the terminal may be gone
		if err != nil {
			u.chat.screen.note(err.Error())
		}
		u.End(false)
	}()
	return func() {
		u.mail.Post(func(n *tui.News) { n.Ended = true })
		<-done
		u.saved.Wait()
		termio.SetModes("")
		termio.Discard(u.in) // it was typed for the chat
	}, nil
}

// useBoard makes a board show the lines, or with nil the streams again.
func (s *screen) useBoard(b board) {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.board = b
	s.shared = s.shared || b != nil
}

// size returns the size of the terminal, as the chat has last seen it.
func (u *terminalUser) size() (columns, rows int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.columns, u.rows
}

// next lets the user write a prompt.
func (u *terminalUser) next(ctx context.Context, proposal string) (string, error) {
	if !u.greeted {
		u.greeted = true
		u.chat.greet()
	}
	u.mail.Post(func(n *tui.News) {
		n.Idle = true
		if proposal != "" {
			n.Proposal = &tui.Proposal{Text: proposal}
		}
	})
	asked, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { u.chat.updateContext(asked) })
	defer asking.Wait()
	defer cancel()
	select {
	case text := <-u.prompts:
		u.chat.screen.separate(u.size())
		return text, nil
	case <-u.ended:
		return "", io.EOF
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// separate notes that something else was written to the terminal, which now has that size.
func (s *screen) separate(columns, _ int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.width = columns
	s.spoke, s.answered, s.midLine = false, false, false
}

func (u *terminalUser) onInterrupt(interrupt func()) (over func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.interrupt = interrupt
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.interrupt = nil
	}
}

func (u *terminalUser) questions() questions { return u.docked }

// show is a method of [board].
func (u *terminalUser) show(final, open []string) {
	u.mail.Print(slices.Clone(final), slices.Clone(open))
}

// work is a method of [board].
func (u *terminalUser) work(doing string, since time.Time) {
	u.mail.Post(func(n *tui.News) { n.Work = tui.Work{Doing: doing, Since: since} })
}

// notify is a method of [board].
func (u *terminalUser) notify(sequence string) {
	u.mail.Post(func(n *tui.News) { n.Notice += sequence })
}

// showStatus shows the status of the session.
func (u *terminalUser) showStatus(s *chatStatus) {
	status := s.forTerminal()
	u.mail.Post(func(n *tui.News) { n.Status = status })
}

// Send is a method of [tui.Driver].
func (u *terminalUser) Send(prompt string) {
	u.mail.Post(func(n *tui.News) { n.Idle = false })
	select {
	case u.prompts <- prompt:
	default: // the chat sends one prompt at a time
	}
}

// Keep is a method of [tui.Driver].
func (u *terminalUser) Keep(prompt string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unsaved = append(u.unsaved, prompt)
	if !u.saving {
		u.saving = true
		u.saved.Go(u.save)
	}
}

// save writes prompts to the file of the history, in their order.
func (u *terminalUser) save() {
	for {
		u.mu.Lock()
		prompts := u.unsaved
		u.unsaved, u.saving = nil, len(prompts) > 0
		u.mu.Unlock()
		if len(prompts) == 0 {
			return
		}
		for _, prompt := range prompts {
			_ = u.history.Save(prompt) // the chat works without a history
		}
	}
}

// Interrupt is a method of [tui.Driver].
func (u *terminalUser) Interrupt() {
	go u.docked.stop()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.interrupt != nil {
		go u.interrupt()
	}
}

// End is a method of [tui.Driver].
func (u *terminalUser) End(force bool) {
	if !force {
		u.endOnce.Do(func() { close(u.ended) })
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	interrupt := u.interrupt
	go func() {
		u.docked.stop()
		if interrupt != nil { // once stops the turn, twice the chat
			interrupt()
			interrupt()
		}
		u.chat.end(errChatInterrupted)
	}()
}

// NextMode is a method of [tui.Driver].
func (u *terminalUser) NextMode() {
	next := map[wire.PermissionMode]wire.PermissionMode{
		wire.PermissionModeDefault: wire.PermissionModeAcceptEdits, wire.PermissionModeAcceptEdits: wire.PermissionModePlan,
	}
	mode := cmp.Or(next[u.chat.status.permissionMode()], wire.PermissionModeDefault)
	go u.chat.changeMode(mode)
}

// Answer is a method of [tui.Driver].
func (u *terminalUser) Answer(id string, a ask.Answer) { go u.docked.answer(id, a) }

// Resize is a method of [tui.Driver].
func (u *terminalUser) Resize(columns, rows int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.columns, u.rows = columns, rows
}

// Acted is a method of [tui.Driver].
func (u *terminalUser) Acted() { go u.chat.screen.userActed() }

// Complete is a method of [tui.Driver].
func (u *terminalUser) Complete(ctx context.Context, q compose.Query) []compose.Choice {
	switch q.Kind {
	case compose.CommandQuery:
		return choicesWith(q.Word, u.chat.commandChoices())
	case compose.ArgumentQuery:
		return choicesWith(q.Word, u.chat.argumentChoices(q.Command))
	}
	return u.chat.fileChoices(ctx, q.Word)
}

// fileChoices returns the files for the word typed after an @: the agent's suggestions or, if it
// has none, files in the working directory.
func (c *chat) fileChoices(ctx context.Context, word string) []compose.Choice {
	var paths []string
	if session := c.connected(); session != nil {
		asked, cancel := context.WithTimeout(ctx, suggestLimit)
		defer cancel()
		if files, err := screens.SuggestFiles(asked, session, word); err == nil {
			for _, file := range files.Suggestions {
				paths = append(paths, file.Path)
			}
		}
	}
	if len(paths) == 0 {
		paths = prompts.Files(ctx, c.user.questions().dir(), word)
	}
	const most = 50
	var choices []compose.Choice
	for _, path := range paths[:min(len(paths), most)] {
		choices = append(choices, compose.Choice{Text: path})
	}
	return choices
}

// Session is a method of [tui.Driver].
func (u *terminalUser) Session(ctx context.Context) (sessions.SessionInfo, error) {
	var found []sessions.SessionInfo
	var err error
	if session := u.chat.connected(); session != nil && session.ID() != "" && !u.chat.opts.Session.Ephemeral {
		found, err = sessions.List(ctx, &sessions.ListOptions{ID: session.ID(), Limit: 1})
	}
	switch {
	case err != nil:
		return sessions.SessionInfo{}, err
	case len(found) == 0:
		return sessions.SessionInfo{}, errors.New("nothing of this conversation is saved")
	}
	termio.SetModes(tui.ResetModes(true)) // its rows have the whole screen
	return found[0], nil
}

// Edit is a method of [tui.Driver].
func (u *terminalUser) Edit(ctx context.Context, text string) (edited string, err error) {
	defer termio.HandOver()()
	dir, err := os.MkdirTemp("", "clew-prompt-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	cmd := view.Editor(ctx, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = u.in, u.out, u.out
	if err := cmd.Run(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("the editor in $VISUAL or $EDITOR failed: %w", exit)
		}
		return "", err
	}
	content, err := os.ReadFile(path)
	return string(content), err
}

// greet introduces the agent and the possible input in a line.
func (c *chat) greet() {
	c.say(c.agentName() + " · / commands, @ files, ! shell · ? keys · ctrl+d ends")
}

// agentName returns the agent's name.
func (c *chat) agentName() string {
	return strings.TrimSpace("Claude Code " + c.session.Info().Version)
}

// say writes a line of the chat itself.
func (c *chat) say(line string) {
	for _, row := range tty.Wrap(clikit.Printable(line), max(c.screen.width-1, 1)) {
		c.screen.say(tty.Dim.Paint(row, c.screen.color) + "\n")
	}
}

// forTerminal returns the status as the last line of the terminal shows it.
func (s *chatStatus) forTerminal() tui.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := tui.Status{Model: render.ShortModel(s.model), Mode: clikit.Printable(string(s.mode))}
	if s.counted {
		status.Cost = wording.Dollars(s.cost).Cents()
	}
	if s.context != nil && s.context.MaxTokens > 0 {
		status.Context = "context " + wording.Percent(s.context.Percentage)
	}
	return status
}

// dockedQuestions asks the agent's questions in the chat on a terminal, several at once.
type dockedQuestions struct {
	ctx       context.Context //nolint:containedctx // of the chat: no questions are asked after its end
	chat      *chat
	mail      *tui.Mailbox
	workspace ask.Workspace
	gone      <-chan struct{} // closed when the user ends the chat

	mu      sync.Mutex
	last    int // the number of the last one
	open    []*ask.Question
	answers map[string]chan ask.Answer // by the IDs of the questions
}

func newDockedQuestions(ctx context.Context, c *chat, mail *tui.Mailbox) *dockedQuestions {
	return &dockedQuestions{ctx: ctx, chat: c, mail: mail, answers: map[string]chan ask.Answer{}}
}

// serve makes the agent ask here, unless the options name another way.
func (d *dockedQuestions) serve(opts *clew.Options) {
	d.workspace = ask.NewWorkspace(opts.Dir)
	if opts.PermissionPromptTool == "" && opts.PermissionPrompts != clew.PermissionPromptsNone {
		opts.CanUseTool, opts.OnQuestion = d.decide, d.choose
	}
}

// waitForAnswer does nothing: questions are beside the text.
func (d *dockedQuestions) waitForAnswer() {}

func (d *dockedQuestions) dir() string { return d.workspace.Dir }

// decide is a [permission.Func].
func (d *dockedQuestions) decide(ctx context.Context, req *permission.Request) (permission.Result, error) {
	if ask.NeedsChoice(req) {
		d.chat.screen.refused(req.ToolUseID, req.ToolName, "choices can't be shown here")
		return permission.Deny(ask.NoChoice), nil
	}
	q := ask.New(req, nil, d.workspace)
	a, err := d.put(ctx, req, q)
	if err != nil {
		return nil, err
	}
	return q.Permission(a)
}

// choose is a [clew.QuestionFunc].
func (d *dockedQuestions) choose(ctx context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	q := ask.New(req.Permission, req.Questions, d.workspace)
	if len(q.Choices) == 0 || !tui.CanAsk(q) {
		d.chat.screen.refused(req.Permission.ToolUseID, req.Permission.ToolName, "choices can't be shown here")
		return nil, errors.New(ask.NoChoice) //nolint:staticcheck // the agent gets the sentence
	}
	a, err := d.put(ctx, req.Permission, q)
	if err != nil {
		return nil, err
	}
	return q.Choice(a)
}

// put asks a question, waits for its answer, and shows whether the call is allowed.
func (d *dockedQuestions) put(ctx context.Context, req *permission.Request, q *ask.Question) (a ask.Answer, err error) {
	answered := d.add(q)
	defer d.remove(q)
	defer time.AfterFunc(d.chat.screen.untilAway(), d.chat.screen.noticeQuestion).Stop()
	select {
	case a = <-answered:
	case <-ctx.Done():
		return a, ctx.Err()
	case <-d.ctx.Done():
		a.Stopped = true
	case <-d.gone: // nobody can answer
		a.Stopped = true
	}
	d.chat.screen.decided(req.ToolUseID, !q.Denies(a))
	return a, nil
}

func (d *dockedQuestions) add(q *ask.Question) <-chan ask.Answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	q.ID = strconv.Itoa(d.last)
	answered := make(chan ask.Answer, 1)
	d.answers[q.ID] = answered
	d.open = append(d.open, q)
	if len(d.open) == 1 {
		d.chat.screen.pause(true)
	}
	d.post()
	return answered
}

func (d *dockedQuestions) remove(q *ask.Question) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.answers, q.ID)
	d.open = slices.DeleteFunc(d.open, func(other *ask.Question) bool { return other == q })
	if len(d.open) == 0 {
		d.chat.screen.pause(false)
	}
	d.post()
}

func (d *dockedQuestions) post() {
	open := slices.Clone(d.open)
	d.mail.Post(func(n *tui.News) { n.Questions = open })
}

// answer passes an answer to its question, unless that was withdrawn.
func (d *dockedQuestions) answer(id string, a ask.Answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answerLocked(id, a)
}

// stop ends all questions, because the user interrupted the turn.
func (d *dockedQuestions) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.open {
		d.answerLocked(q.ID, ask.Answer{Stopped: true})
	}
}

func (d *dockedQuestions) answerLocked(id string, a ask.Answer) {
	select {
	case d.answers[id] <- a:
	default: // it is withdrawn, or has an answer
	}
}
