package agentcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

type runOptions struct {
	streams clikit.Streams
	format  outputFormat
	timeout time.Duration
	partial bool
	flags   Flags
}

const runHelp = `Send a prompt to Claude Code and show what it does. The prompt is the argument. If
the argument is - or missing, the prompt is read from stdin.

With --output-format text, the answer appears on stdout as it is written, and tool
calls on stderr. With json, stdout gets one object at the end, even if the turn
fails:
  result             the final text, or the text up to the failure
  structured_output  the answer that matches --json-schema, if one is given
  session_id         the ID for --resume
  total_cost_usd     the estimated cost of the whole session
  usage              the tokens of this turn, as the API counts them
  num_turns          the number of answers from the model
  duration_ms        the duration in milliseconds
  error              the reason for the failure, or ""
With stream-json, stdout gets the agent's messages, one JSON object per line. Other
output of the agent is included in text output, and goes to stderr in the other
formats.

Tools that no rule and no permission mode allows need your answer on the terminal,
even if the prompt comes from a pipe. The question shows the whole input of the
tool, and for a change the diff of the file. The answers are:
  y  yes, once
  a  always, which changes the permissions as the question says
  n  no; "no, because ..." tells the agent why
  e  no, and the next line tells the agent why, or what to do instead
  ?  explains the answers
If the input does not fit on the screen, press Enter for more. Until you reach the
end, type "yes" or "always" in full. Anything you type before the question appears is
discarded. The agent's own questions appear on the terminal as well. Without a
terminal, these tools are denied.

When the turn ends or a question waits, and you have not typed for 10 seconds, the
terminal notifies you by its bell and OSC 9 or 777. To turn that off, set notify to
false: see "clew config".

A directory can have files that make the agent run programs: hooks in .claude,
servers in .mcp.json. Unless you have trusted the directory, here or in Claude Code,
or it is below one of trusted_dirs (see "clew config"), you are asked whether to use
them. Without a terminal, or if you say no, the agent gets only your own settings.
You are not asked with --trust, which uses them, with --trust=false, which does not,
or with --setting-sources. The answer yes is remembered for the repository, in
$XDG_STATE_HOME/clew/trusted.json, or ~/.local/state/clew/trusted.json.

The first Ctrl-C interrupts the turn, the second one ends the program.`

func newRun(s clikit.Streams) *cobra.Command {
	o := &runOptions{streams: s, format: formatText}
	cmd := &cobra.Command{
		Use:   "run [PROMPT|-]",
		Short: "Send a prompt to Claude Code and show what it does",
		Long:  runHelp,
		Example: `  clew run "Why does the build fail?"
  git diff | clew run --append-system-prompt "Review this change." -
  clew run --continue --allowedTools Edit "Now fix it."
  clew run --output-format json --json-schema schema.json "List the packages." | jq .structured_output`,
		Args: clikit.AtMost(1),
		RunE: clikit.RunE(o.run),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(&o.format, "output-format", "output format: text, json or stream-json")
	clikit.AddOnOff(cmd, &o.partial, "include-partial-messages", "with stream-json, also print partial answers")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "interrupt the turn after this `duration`, such as 90s or 5m")
	o.flags.add(cmd)
	o.flags.addReports(cmd)
	return cmd
}

var errTimeout = errors.New("the turn took longer than --timeout and was interrupted")

func (o *runOptions) run(ctx context.Context, args []string) error {
	if o.timeout < 0 {
		return badFlag("--timeout must not be negative")
	}
	opts, err := o.flags.Options(ctx)
	if err != nil {
		return err
	}
	prompt, err := readPrompt(ctx, args, o.streams.In)
	if err != nil {
		return err
	}
	note, err := o.flags.settleTrust(ctx, o.streams, opts)
	if err != nil {
		return err
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimeout)
		defer cancel()
	}
	scr := newScreen(o.streams)
	defer scr.close()
	if note != "" {
		scr.note(note)
	}
	opts.IncludePartialMessages = o.partial || o.format == formatText
	questioner := newQuestioner(ctx, o.streams, scr)
	questioner.serve(opts)
	scr.worksIn(questioner.workspace.Dir, opts.Session.Title)
	p := o.printer(scr, len(opts.OutputSchema) > 0)
	err = explain(ctx, converse(ctx, conversation{prompt: prompt, opts: opts, printer: p, questioner: questioner}))
	scr.idle()
	if unwritten := p.finish(err); unwritten != nil {
		return unwritten
	}
	if text, ok := p.(*textPrinter); ok && clikit.IsTerminal(o.streams.Err) {
		scr.conclude(text.account.parts(scr.elapsed(), opts.Session.Ephemeral))
	}
	if ctx.Err() == nil || timedOut(ctx) {
		scr.turnEnded()
	}
	return runFailure(ctx, err)
}

// A turnAccount holds the known facts about a turn, which may end without a result.
type turnAccount struct {
	session string
	tokens  int    // of complete messages
	message string // the last of them
	result  *wire.ResultMessage
}

func (a *turnAccount) follow(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.InitMessage:
		a.session = cmp.Or(m.SessionID, a.session)
	case *wire.AssistantMessage:
		a.session = cmp.Or(m.SessionID, a.session)
		if m.ID == "" || m.ID != a.message { // the blocks of a message come one by one
			a.tokens += m.Usage.TotalTokens()
		}
		a.message = m.ID
	case *wire.ResultMessage:
		a.session, a.result = cmp.Or(m.SessionID, a.session), m
	}
}

// parts returns the turn's duration, tokens and cost, and how to continue the session. It returns
// nil if nothing is known.
func (a *turnAccount) parts(elapsed time.Duration, ephemeral bool) []string {
	if a.session == "" && a.result == nil {
		return nil
	}
	tokens, cost := a.tokens, ""
	if r := a.result; r != nil {
		elapsed = cmp.Or(r.Duration.Duration(), elapsed)
		cost = wording.Dollars(r.TotalCostUSD).Long()
		tokens = cmp.Or(r.Usage.TotalTokens(), tokens)
	}
	parts := []string{wording.Duration(elapsed)}
	if tokens > 0 {
		parts = append(parts, wording.Tokens(tokens))
	}
	if cost != "" {
		parts = append(parts, cost)
	}
	if id := tty.Line(a.session); id != "" && !ephemeral {
		parts = append(parts, "session "+tty.Cut(id, 8), `clew run --continue "..."`)
	}
	return parts
}

func (o *runOptions) printer(scr *screen, structured bool) printer {
	switch o.format {
	case formatJSON:
		return newObjectPrinter(scr)
	case formatStreamJSON:
		return &framePrinter{screen: scr}
	}
	return &textPrinter{screen: scr, structured: structured}
}

// A conversation is a prompt, with everything needed to get an answer.
type conversation struct {
	prompt     string
	opts       *clew.Options
	printer    printer
	questioner *questioner
}

// converse runs a turn. When ctx ends, it interrupts the agent and waits for the rest of the
// output.
func converse(ctx context.Context, c conversation) error {
	scr := c.questioner.screen
	scr.busy("starting")
	session, err := clew.Connect(ctx, c.opts)
	if err != nil {
		return err
	}
	defer session.Close() //nolint:errcheck // the turn is over
	scr.busy("thinking")
	turn, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopped := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(stopped)
		time.AfterFunc(stopLimit, cancel)
		scr.stop() // the program ends with this turn
		scr.interrupting()
		_, _ = session.Interrupt(turn, nil) // if that fails, the limit ends the turn
	})
	defer func() {
		if !keep() {
			cancel()
			<-stopped
		}
	}()
	for msg, err := range session.Turn(turn, clew.Text(c.prompt)) {
		if err != nil {
			return err
		}
		c.questioner.waitForAnswer()
		if err := c.printer.print(msg); err != nil {
			return &clikit.WriteError{Err: err} // Close interrupts the turn
		}
		scr.follow(msg)
	}
	return nil
}

// A Turn is a turn of another command, shown as run shows its own.
type Turn struct {
	clikit.Streams
	Prompt    string
	Options   *clew.Options
	Workspace ask.Workspace
	// Yes allows each call in place of the user, if it is not nil. It is called when the question is on
	// the screen, and returns the answer that is shown.
	Yes func() (answer string)
}

// Run runs the turn.
func (t *Turn) Run(ctx context.Context) error {
	scr := newScreen(t.Streams)
	defer scr.close()
	t.Options.IncludePartialMessages = true
	questioner := newQuestioner(ctx, t.Streams, scr)
	questioner.workspace = t.Workspace
	scr.worksIn(questioner.workspace.Dir, "")
	t.Options.CanUseTool = questioner.decide
	if t.Yes != nil {
		t.Options.CanUseTool = t.sayYes(scr)
	}
	p := &textPrinter{screen: scr}
	err := explain(ctx, converse(ctx, conversation{prompt: t.Prompt, opts: t.Options, printer: p, questioner: questioner}))
	scr.idle()
	return runFailure(ctx, errors.Join(p.finish(err), err))
}

// sayYes shows each question with the answer of Yes.
func (t *Turn) sayYes(scr *screen) permission.Func {
	return func(ctx context.Context, req *permission.Request) (permission.Result, error) {
		scr.waitForTool(ctx, req.ToolUseID)
		scr.pause(true)
		defer scr.pause(false)
		s := describe(ask.New(req, nil, t.Workspace), ask.Surface{
			Columns: clikit.TerminalWidth(scr.err), Rows: termio.DefaultRows, Color: clikit.Colored(scr.err), Lines: clikit.IsTerminal(scr.err) && termio.DrawsLines(),
		})
		scr.say(s.all() + s.prompt())
		scr.say(t.Yes() + "\n")
		scr.decided(req.ToolUseID, true)
		return permission.Allow(), nil
	}
}

// A printer writes messages to stdout.
type printer interface {
	print(msg wire.Message) error
	// finish writes the rest. err is the run's error, or nil.
	finish(err error) error
}

// A textPrinter writes the text of the model as it arrives, and lines that are not JSON.
type textPrinter struct {
	screen     *screen
	structured bool            // write only the structured output
	streamed   []byte          // the written part of an incomplete block
	message    string          // the ID of the last complete message
	apart      bool            // the next text starts a new line
	said       clikit.TurnText // by the model
	result     *wire.ResultMessage
	account    turnAccount
	stream     *markdown.Stream // lays the block out, on a terminal; nil before it starts
}

func (p *textPrinter) print(msg wire.Message) error {
	p.account.follow(msg)
	switch m := msg.(type) {
	case *wire.StreamEventMessage:
		if m.ParentToolUseID == "" {
			return p.event(m.Event)
		}
	case *wire.AssistantMessage:
		if m.ParentToolUseID == "" && !m.APIErrorMessage {
			return p.complete(m)
		}
	case *wire.SessionReconnectedMessage: // the last agent's unfinished text won't continue
		p.apart, p.streamed = true, p.streamed[:0]
		return p.endBlock()
	case *wire.TextLine:
		return p.line(m.Text)
	case *wire.ResultMessage:
		p.result = m
	}
	return nil
}

// line writes a line that is not JSON.
func (p *textPrinter) line(text string) error {
	if p.structured {
		p.screen.wrote(text)
		return nil
	}
	if err := p.screen.newLine(); err != nil {
		return err
	}
	return p.screen.write(tty.CleanExactly(text) + "\n")
}

func (p *textPrinter) event(event wire.Event) error {
	switch e := event.(type) {
	case *wire.MessageStartEvent:
		p.apart, p.streamed = true, p.streamed[:0]
		return p.endBlock()
	case *wire.TextDeltaEvent:
		return p.grow(e.Text)
	}
	return nil
}

// grow writes a piece of a block.
func (p *textPrinter) grow(text string) error {
	if p.structured || text == "" {
		return nil
	}
	if p.apart {
		p.apart = false
		if err := p.screen.newLine(); err != nil {
			return err
		}
		p.said.Next()
	}
	clean := tty.CleanPieceExactly(p.streamed, text)
	p.streamed = append(p.streamed, text...)
	p.said.Add(text)
	if p.screen.window == nil {
		return p.screen.write(clean)
	}
	if p.stream == nil {
		p.stream = markdown.NewStream(p.screen.layout())
	}
	return p.screen.grow(p.stream.Add(text), p.stream.Open())
}

// endBlock ends a block that is laid out.
func (p *textPrinter) endBlock() error {
	if p.stream == nil {
		return nil
	}
	rest := p.stream.End()
	p.stream = nil
	defer p.screen.endAnswer()
	return p.screen.grow(rest, nil)
}

// complete writes the rest of the blocks of a complete message.
func (p *textPrinter) complete(m *wire.AssistantMessage) error {
	if len(p.streamed) == 0 && (m.ID == "" || m.ID != p.message) {
		p.apart = true
	}
	p.message = m.ID
	for _, block := range m.Content {
		switch b := block.(type) {
		case *wire.TextBlock:
			if err := p.completeBlock(b.Text); err != nil {
				return err
			}
		case *wire.ToolUseBlock:
			p.apart = true
		}
	}
	return nil
}

// completeBlock writes the rest of a block.
func (p *textPrinter) completeBlock(text string) error {
	rest, begun := strings.CutPrefix(text, string(p.streamed))
	if !begun { // it is another block
		p.apart = true
		if err := p.endBlock(); err != nil {
			return err
		}
	}
	if err := p.grow(rest); err != nil {
		return err
	}
	p.streamed = p.streamed[:0]
	return p.endBlock()
}

// finish writes the result, unless it was written before, and ends the line.
func (p *textPrinter) finish(err error) error {
	if errors.As(err, new(*clikit.WriteError)) {
		return nil
	}
	if err := p.endBlock(); err != nil {
		return &clikit.WriteError{Err: err}
	}
	if p.result != nil && err == nil {
		if err := p.conclude(p.result); err != nil {
			return &clikit.WriteError{Err: err}
		}
	}
	if err := p.screen.newLine(); err != nil {
		return &clikit.WriteError{Err: err}
	}
	return nil
}

func (p *textPrinter) conclude(r *wire.ResultMessage) error {
	text := ""
	switch {
	case p.structured:
		text = string(tty.JSON([]byte(r.StructuredOutput)))
	case !p.said.Has(r.Result):
		text = tty.CleanExactly(r.Result)
	}
	if text == "" {
		return nil
	}
	if !p.structured && p.screen.window != nil {
		return p.screen.grow(markdown.Render(r.Result, p.screen.layout()), nil)
	}
	if err := p.screen.newLine(); err != nil {
		return err
	}
	return p.screen.write(text)
}

// A framePrinter writes the messages as JSON, one per line. It leaves out other lines.
type framePrinter struct{ screen *screen }

func (p *framePrinter) print(msg wire.Message) error {
	switch m := msg.(type) {
	case *wire.KeepAliveMessage:
		return nil
	case *wire.TextLine:
		p.screen.wrote(m.Text)
		return nil
	}
	line := strings.TrimSpace(msg.Raw())
	if line == "" || !json.Valid([]byte(line)) {
		return nil
	}
	return p.screen.write(string(tty.JSON([]byte(line + "\n"))))
}

func (p *framePrinter) finish(error) error { return nil }

// An objectPrinter writes one JSON object at the end.
type objectPrinter struct {
	screen *screen
	turn   wire.Collector
	text   textPrinter // collects the text, and writes nothing
}

func newObjectPrinter(scr *screen) *objectPrinter {
	return &objectPrinter{screen: scr, text: textPrinter{screen: newScreen(clikit.Streams{Out: io.Discard, Err: io.Discard})}}
}

// A runOutcome is the object that an objectPrinter writes.
type runOutcome struct {
	Result           string    `json:"result"`
	StructuredOutput wire.JSON `json:"structured_output,omitempty"`
	SessionID        string    `json:"session_id"`
	TotalCostUSD     float64   `json:"total_cost_usd"`
	Usage            wire.JSON `json:"usage"` // all of it, unknown fields included
	NumTurns         int       `json:"num_turns"`
	DurationMS       int64     `json:"duration_ms"`
	Error            string    `json:"error"`
}

func (p *objectPrinter) print(msg wire.Message) error {
	if line, ok := msg.(*wire.TextLine); ok {
		p.screen.wrote(line.Text)
		return nil
	}
	p.turn.Add(msg)
	return p.text.print(msg)
}

func (p *objectPrinter) finish(err error) error {
	line, err := json.Marshal(p.outcome(err))
	if err == nil {
		err = p.screen.write(string(tty.JSON(append(line, '\n'))))
	}
	if err != nil {
		return &clikit.WriteError{Err: err}
	}
	return nil
}

// outcome returns the outcome of the result. Without a result, or if the turn failed, it has the
// text up to then.
func (p *objectPrinter) outcome(err error) runOutcome {
	o := runOutcome{Result: p.text.said.String(), SessionID: p.turn.SessionID()}
	if r := p.turn.Result(); r != nil && p.turn.Done() {
		if !r.Failed() {
			o.Result = cmp.Or(r.Result, o.Result)
		}
		o.StructuredOutput, o.TotalCostUSD, o.Usage = r.StructuredOutput, r.TotalCostUSD, usageOf(r)
		o.NumTurns, o.DurationMS = r.NumTurns, r.Duration.Duration().Milliseconds()
	}
	if err != nil {
		o.Error = err.Error()
	}
	return o
}

// usageOf returns a result's usage as the agent wrote it, or "" if there is none.
func usageOf(r *wire.ResultMessage) wire.JSON {
	var members struct {
		Usage wire.JSON `json:"usage"`
	}
	if frame, err := wire.Append(nil, r); err == nil {
		_ = json.Unmarshal(frame, &members)
	}
	return members.Usage
}

// A runError is the failure of a run, with a reason for the user. The reason may quote the agent.
type runError struct {
	reason string
	err    error
}

func (e *runError) Error() string { return e.reason }

func (e *runError) Unwrap() error { return e.err }

// explain adds the reason why the run failed to an error. Nil stays nil.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return &runError{reason: reason(ctx, err), err: err}
}

// runFailure returns the failure of the command after a run that ended with err.
func runFailure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if broken, ok := errors.AsType[*clikit.WriteError](err); ok {
		return broken
	}
	f := &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(tty.CleanExactly(err.Error()))}
	switch {
	case timedOut(ctx):
		f.Hint = "Allow more time with --timeout, or resume with --continue."
	case ctx.Err() != nil:
		f.Code = clikit.ExitInterrupted
	case errors.As(err, new(*clew.NotFoundError)):
		f.Code = clikit.ExitAgent
		f.Hint = "Install Claude Code, or set --agent-path or CLEW_AGENT to its binary."
	case errors.As(err, new(*clew.OptionsError)):
		f.Code = clikit.ExitUsage
		f.Hint = `Run "clew run --help" for help.`
	}
	return f
}

func timedOut(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errTimeout) }

// reason returns the cause of a failed run, in the program's words.
func reason(ctx context.Context, err error) string {
	switch {
	case timedOut(ctx):
		return errTimeout.Error()
	case ctx.Err() != nil:
		return "interrupted"
	}
	if missing, ok := errors.AsType[*clew.NotFoundError](err); ok {
		return "the agent binary was not found; looked at " + strings.Join(missing.Looked, ", ")
	}
	if wrong, ok := errors.AsType[*clew.OptionsError](err); ok && flagNames[wrong.Option] != "" {
		return flagNames[wrong.Option] + ": " + withFlags(wrong.Reason)
	}
	return strings.TrimPrefix(err.Error(), "clew: ")
}

// withFlags replaces option names in a text with flag names.
func withFlags(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		words[i] = cmp.Or(flagNames[word], word)
	}
	return strings.Join(words, " ")
}

// flagNames maps options to the flags that set them.
var flagNames = map[string]string{
	"AddDirs": "--add-dir", "Agent": "--agent", "Agents": "--agents", "AllowedTools": "--allowedTools",
	"Limits.AutoCompactTokens": "--autocompact", "Settings.Bare": "--bare", "Betas": "--betas", "Session.Continue": "--continue",
	"Debug.Categories": "--debug", "Debug.File": "--debug-file", "DisallowedTools": "--disallowedTools",
	"Effort": "--effort", "Session.Ephemeral": "--no-session-persistence", "ExtraArgs": "--agent-arg",
	"FallbackModels": "--fallback-model", "Session.Fork": "--fork-session", "Settings.Managed": "--managed-settings",
	"Limits.MaxBudgetUSD": "--max-budget-usd", "Limits.MaxTurns": "--max-turns", "MCPConfigFiles": "--mcp-config", "Model": "--model",
	"OutputSchema": "--json-schema", "PermissionMode": "--permission-mode",
	"PermissionPrompts": "--permission-prompts", "PermissionPromptTool": "--permission-prompt-tool",
	"Plugins": "--plugin-dir", "Restricted": "--restricted", "Settings.SafeMode": "--safe-mode", "Settings.ProjectConfigRoot": "--project-config-root", "Session.Resume": "--resume",
	"Session.ResumeAt": "--resume-session-at", "Session.ID": "--session-id", "Settings.JSON": "--settings",
	"Settings.File": "--settings", "Settings.Sources": "--setting-sources", "SystemPrompt": "--system-prompt",
	"Limits.TaskBudget": "--task-budget", "Thinking": "--thinking", "Session.Title": "--name", "Tools": "--tools",
}
