package cli

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
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/compose"
	"github.com/clewdev/clew/internal/keymap"
	"github.com/clewdev/clew/internal/permit"
	"github.com/clewdev/clew/internal/prompts"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/tui"
	"github.com/clewdev/clew/internal/view"
	"github.com/clewdev/clew/internal/wording"
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
	full    bool          // the chat has the whole screen
	keys    *keymap.Map   // or nil for the usual ones
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

func newTerminalUser(ctx context.Context, s Streams, c *chat) *terminalUser {
	in, out := s.In.(*os.File), s.Out.(*os.File) //nolint:forcetypeassert // they are terminals
	u := &terminalUser{
		chat: c, in: in, out: out, mail: tui.NewMailbox(), prompts: make(chan string, 1), ended: make(chan struct{}),
	}
	u.columns, u.rows = clikit.TerminalSize(out)
	u.docked = newDockedQuestions(ctx, c, u.mail)
	u.docked.gone = u.ended
	return u
}

// begin shows the chat.
func (u *terminalUser) begin() (end func(), err error) {
	path, _ := stateFile("history") // without a home, the history is not saved
	u.history = prompts.OpenHistory(path)
	u.chat.screen.useBoard(u)
	opts := tui.ChatOptions{Mail: u.mail, History: u.history.History}
	opts.Full, opts.Mouse, opts.Keys = u.full, u.full, u.keys
	opts.Color, opts.Lines, opts.Now = clikit.Colored(u.out), drawsLines(), clock
	opts.Dir = u.docked.dir()
	from := view.New(view.Options{
		Dir: opts.Dir, AgentPath: u.chat.opts.AgentPath, AgentEnv: agentEnviron(), In: u.in, Out: u.out, Err: u.out, HandOver: handOver,
	})
	opts.Source = from
	done := make(chan struct{})
	terminalModes.Store(tui.ResetModes(u.full))
	go func() {
		defer close(done)
		unseen, err := tui.Chat(context.WithoutCancel(u.chat.ctx), terminalOf(u.in, u.out), u, opts)
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
		terminalModes.Store("")
		discardInput(u.in) // it was typed for the chat
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
func (u *terminalUser) Answer(id int, a tui.Answer) { go u.docked.answer(id, a) }

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
	if session := u.chat.connected(); session != nil && session.ID() != "" && !u.chat.opts.Ephemeral {
		found, err = sessions.List(ctx, &sessions.ListOptions{ID: session.ID(), Limit: 1})
	}
	switch {
	case err != nil:
		return sessions.SessionInfo{}, err
	case len(found) == 0:
		return sessions.SessionInfo{}, errors.New("nothing of this conversation is saved")
	}
	terminalModes.Store(tui.ResetModes(true)) // its rows have the whole screen
	return found[0], nil
}

// Edit is a method of [tui.Driver].
func (u *terminalUser) Edit(ctx context.Context, text string) (edited string, err error) {
	defer handOver()()
	dir, err := os.MkdirTemp("", "clew-prompt-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	editor := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi"))
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:], path)...) //nolint:gosec // the user's own variable
	cmd.Stdin, cmd.Stdout, cmd.Stderr = u.in, u.out, u.out
	if err := cmd.Run(); err != nil {
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
		status.Context = fmt.Sprintf("context %.0f %%", s.context.Percentage)
	}
	return status
}

// dockedQuestions asks the agent's questions in the chat on a terminal, several at once.
type dockedQuestions struct {
	ctx       context.Context //nolint:containedctx // of the chat: no questions are asked after its end
	chat      *chat
	mail      *tui.Mailbox
	workspace permit.Workspace
	gone      <-chan struct{} // closed when the user ends the chat

	mu      sync.Mutex
	last    int // the ID of the last one
	open    []*tui.Question
	answers map[int]chan dockedAnswer
}

// A dockedAnswer is an answer, or reports that the user interrupted the turn.
type dockedAnswer struct {
	tui.Answer
	stopped bool
}

func newDockedQuestions(ctx context.Context, c *chat, mail *tui.Mailbox) *dockedQuestions {
	return &dockedQuestions{ctx: ctx, chat: c, mail: mail, answers: map[int]chan dockedAnswer{}}
}

// serve makes the agent ask here, unless the options name another way.
func (d *dockedQuestions) serve(opts *clew.Options) {
	d.workspace = permit.NewWorkspace(opts.Dir)
	if opts.PermissionPromptTool == "" && opts.PermissionPrompts != clew.PermissionPromptsNone {
		opts.CanUseTool, opts.OnQuestion = d.decide, d.choose
	}
}

// waitForAnswer does nothing: questions are beside the text.
func (d *dockedQuestions) waitForAnswer() {}

func (d *dockedQuestions) dir() string { return d.workspace.Dir }

// put asks a question, and waits for its answer.
func (d *dockedQuestions) put(ctx context.Context, q *tui.Question) (dockedAnswer, error) {
	answered := d.add(q)
	defer d.remove(q)
	away := time.NewTimer(d.chat.screen.untilAway())
	defer away.Stop()
	for {
		select {
		case a := <-answered:
			return a, nil
		case <-away.C:
			d.chat.screen.mu.Lock()
			d.chat.screen.noticeLocked(questionWaits)
			d.chat.screen.mu.Unlock()
		case <-ctx.Done():
			return dockedAnswer{}, ctx.Err()
		case <-d.ctx.Done():
			return dockedAnswer{stopped: true}, nil
		case <-d.gone: // nobody can answer
			return dockedAnswer{stopped: true}, nil
		}
	}
}

func (d *dockedQuestions) add(q *tui.Question) <-chan dockedAnswer {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	q.ID = d.last
	answered := make(chan dockedAnswer, 1)
	d.answers[q.ID] = answered
	d.open = append(d.open, q)
	if len(d.open) == 1 {
		d.chat.screen.pause(true)
	}
	d.post()
	return answered
}

func (d *dockedQuestions) remove(q *tui.Question) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.answers, q.ID)
	d.open = slices.DeleteFunc(d.open, func(other *tui.Question) bool { return other == q })
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
func (d *dockedQuestions) answer(id int, a tui.Answer) { d.pass(id, dockedAnswer{Answer: a}) }

func (d *dockedQuestions) pass(id int, a dockedAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case d.answers[id] <- a:
	default: // it is withdrawn, or has an answer
	}
}

// stop ends all questions, because the user interrupted the turn.
func (d *dockedQuestions) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.open {
		select {
		case d.answers[q.ID] <- dockedAnswer{stopped: true}:
		default:
		}
	}
}

// decide is a [clew.CanUseToolFunc].
func (d *dockedQuestions) decide(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	if permit.NeedsChoice(req) {
		d.chat.screen.refused(req.ToolUseID, req.ToolName, "choices can't be shown here")
		return clew.Deny(noChoices), nil
	}
	a, err := d.put(ctx, d.permission(req))
	if err != nil {
		return nil, err
	}
	d.chat.screen.decided(req.ToolUseID, a.Kind != tui.Denied && !a.stopped)
	return permissionResult(req, a), nil
}

// permissionResult returns the answer for the agent.
func permissionResult(req *clew.PermissionRequest, a dockedAnswer) clew.PermissionResult {
	switch {
	case a.stopped:
		return &clew.DenyResult{Message: "The user interrupted.", Interrupt: true}
	case a.Kind == tui.AllowedOnce:
		return &clew.AllowResult{Classification: clew.PermissionClassificationTemporary}
	case a.Kind == tui.AllowedAlways:
		allowed, err := permit.Always(req, a.Changes, a.Rule)
		if err != nil { // the question checked the rule
			return clew.Deny(err.Error())
		}
		return allowed
	}
	return permit.Denied(a.Reason)
}

// permission returns the question about a tool use. It reads the file of a change once.
func (d *dockedQuestions) permission(req *clew.PermissionRequest) *tui.Question {
	w := permit.Workspace{Dir: d.workspace.Dir, Read: readOnce(d.workspace.Read)}
	q := &tui.Question{Sheet: lastOnly(func(columns int, color bool) tui.Sheet {
		return sheetForTerminal(describeCall(req, dockedSurface(columns, color), w))
	})}
	q.Sheet(clikit.DefaultColumns, false) // so that drawing reads no file
	for _, update := range permit.Updates(req) {
		q.Always = append(q.Always, tui.Change{Text: update.Text, Marked: update.Marked})
	}
	if q.Rule = permit.NarrowedRule(req); q.Rule != "" {
		rule := req.Suggestions[0].Rules[0]
		q.Narrow = func(text string) string { return permit.NotNarrower(text, rule) }
	}
	return q
}

// lastOnly returns a function that makes a sheet again only for another width.
func lastOnly(sheet func(columns int, color bool) tui.Sheet) func(columns int, color bool) tui.Sheet {
	var last tui.Sheet
	var lastColumns int
	var lastColor bool
	return func(columns int, color bool) tui.Sheet {
		if columns != lastColumns || color != lastColor {
			last, lastColumns, lastColor = sheet(columns, color), columns, color
		}
		return last
	}
}

// readOnce returns a function that reads a file only the first time.
func readOnce(read func(string) (string, error)) func(string) (string, error) {
	type content struct {
		text string
		err  error
	}
	var mu sync.Mutex
	known := map[string]content{}
	return func(path string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		c, ok := known[path]
		if !ok {
			c.text, c.err = read(path)
			known[path] = c
		}
		return c.text, c.err
	}
}

// dockedSurface returns the surface for a question in a chat: unlimited, since the chat pages it.
func dockedSurface(columns int, color bool) surface {
	const everything = 1 << 20
	return surface{columns: columns, rows: everything, color: color, lines: drawsLines()}
}

// sheetForTerminal returns a question for the chat.
func sheetForTerminal(s *sheet) tui.Sheet {
	return tui.Sheet{
		Rows: s.body(0, len(s.rows)),
		Top: func(aside string) string {
			t := *s
			if t.aside != "" && aside != "" {
				aside = t.aside + ", " + aside
			}
			if aside != "" {
				t.aside = aside
			}
			return strings.TrimSuffix(t.top(), "\n")
		},
		Bottom: func(count string) string { return strings.TrimSuffix(s.underline(count), "\n") },
	}
}

// choose is a [clew.QuestionFunc].
func (d *dockedQuestions) choose(ctx context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	if !canBeChosen(req.Questions) {
		d.chat.screen.refused(req.Permission.ToolUseID, req.Permission.ToolName, "choices can't be shown here")
		return nil, errNoChoices
	}
	q := &tui.Question{}
	for i := range req.Questions {
		q.Choices = append(q.Choices, choiceForTerminal(&req.Questions[i]))
	}
	a, err := d.put(ctx, q)
	if err != nil {
		return nil, err
	}
	d.chat.screen.decided(req.Permission.ToolUseID, !a.stopped)
	if a.stopped {
		return nil, errors.New("the user interrupted")
	}
	answers := map[string][]string{}
	for i, chosen := range a.Chosen {
		if len(chosen) > 0 {
			answers[req.Questions[i].Question] = chosen
		}
	}
	if len(answers) == 0 {
		return nil, nil // the user won't answer
	}
	return &clew.QuestionResult{Answers: answers}, nil
}

// canBeChosen reports whether questions have options that a digit can choose.
func canBeChosen(questions []clew.Question) bool {
	const digits = 8 // and one for own words
	return len(questions) > 0 && !slices.ContainsFunc(questions, func(q clew.Question) bool { return len(q.Options) > digits })
}

// choiceForTerminal returns a question with options. Options that fit on a row are below the box;
// others are in it as well.
func choiceForTerminal(q *clew.Question) tui.Choice {
	c := tui.Choice{Multiple: q.MultiSelect}
	for _, o := range q.Options {
		c.Options = append(c.Options, tui.Option{Label: o.Label, Description: o.Description})
	}
	c.Sheet = func(columns int, color bool) tui.Sheet {
		if optionsFit(q, columns) {
			short := *q
			short.Options = nil
			return sheetForTerminal(describeQuestion(&short, dockedSurface(columns, color)))
		}
		return sheetForTerminal(describeQuestion(q, dockedSurface(columns, color)))
	}
	return c
}

func optionsFit(q *clew.Question, columns int) bool {
	for _, o := range q.Options {
		row := fmt.Sprintf("> 1  [ ] %s  %s", tty.CleanLine(o.Label), tty.CleanLine(o.Description))
		if o.Preview != "" || tty.WidestWidth(row) >= columns {
			return false
		}
	}
	return true
}
