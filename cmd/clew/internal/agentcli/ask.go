package agentcli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/permission"
)

// A questioner asks the user the agent's questions, one at a time, each below the output that came
// before it. Input typed before a question was on the screen does not answer it.
type questioner struct {
	ctx     context.Context // of the run: no questions are asked after its end
	streams clikit.Streams
	screen  *screen
	// workspace is the agent's workspace.
	workspace ask.Workspace
	// claim reserves the terminal for a question until leave is called. The question ends with the
	// context that claim returns.
	claim func(ctx context.Context) (asked context.Context, leave func())

	mu        sync.Mutex // held while there is a question
	console   console
	withdrawn bool // the agent withdrew the last question: the user may be about to answer it
}

func newQuestioner(ctx context.Context, s clikit.Streams, scr *screen) *questioner {
	return &questioner{ctx: ctx, streams: s, screen: scr, claim: noClaim}
}

// noClaim is the claim of a terminal that nothing else uses.
func noClaim(ctx context.Context) (asked context.Context, leave func()) { return ctx, func() {} }

// serve makes the agent ask here, unless the options name another way.
func (a *questioner) serve(opts *clew.Options) {
	a.workspace = ask.NewWorkspace(opts.Dir)
	if opts.PermissionPromptTool != "" || opts.PermissionPrompts == clew.PermissionPromptsNone {
		return
	}
	opts.CanUseTool = a.decide
	if a.canAsk() {
		opts.OnQuestion = a.choose
	}
}

const nobodyToAsk = "Denied: there is no terminal to ask the user on. " +
	"The user can allow it in advance with --allowedTools or --permission-mode."

// decide is a [permission.Func].
func (a *questioner) decide(ctx context.Context, req *permission.Request) (result permission.Result, err error) {
	err = a.put(ctx, req, func(ctx context.Context) (err error) {
		result, err = a.permit(ctx, req)
		return err
	})
	return result, err
}

// put asks a question about a tool use when it is its turn, unless the agent has withdrawn it.
func (a *questioner) put(ctx context.Context, about *permission.Request, question func(context.Context) error) error {
	a.screen.waitForTool(ctx, about.ToolUseID)
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	asked, leave := a.claim(ctx)
	defer leave()
	return question(asked)
}

// waitForAnswer waits until no question is open, so that no text is printed within one.
func (a *questioner) waitForAnswer() {
	a.mu.Lock()
	defer a.mu.Unlock()
}

func (a *questioner) permit(ctx context.Context, req *permission.Request) (permission.Result, error) {
	err := a.open()
	switch {
	case ask.NeedsChoice(req):
		a.screen.refused(req.ToolUseID, req.ToolName, "choices can't be shown here")
		return permission.Deny(ask.NoChoice), nil
	case err != nil:
		a.screen.refused(req.ToolUseID, req.ToolName, err.Error()+"; see --allowedTools and --permission-mode")
		return permission.Deny(nobodyToAsk), nil //nolint:nilerr // the user and the agent get it
	}
	q := ask.New(req, nil, a.workspace)
	answer, err := a.decided(ctx, req, q)
	if errors.Is(err, errInputEnded) {
		return permission.Deny("The user gave no answer."), nil
	}
	if err != nil {
		return nil, err
	}
	return q.Permission(answer)
}

// decided asks a question of a turn, and shows whether the call is allowed.
func (a *questioner) decided(ctx context.Context, req *permission.Request, q *ask.Question) (ask.Answer, error) {
	a.screen.pause(true)
	defer a.screen.pause(false)
	answer, err := a.ask(ctx, q)
	if a.ctx.Err() != nil || errors.Is(context.Cause(ctx), errUserStopped) {
		answer, err = ask.Answer{Stopped: true}, nil
	}
	a.screen.decided(req.ToolUseID, !q.Denies(answer) && (err == nil || len(q.Choices) > 0))
	return answer, err
}

// canAsk reports whether there is a terminal to ask on.
func (a *questioner) canAsk() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open() == nil
}

// errUserStopped is the cause of the end of a question that the user interrupted.
var errUserStopped = errors.New("interrupted by the user")

// errInputEnded means that the user can't answer any more.
var errInputEnded = errors.New("the input has ended")

// ask asks a question until it has an answer. The error is errInputEnded if there will be none.
func (a *questioner) ask(ctx context.Context, q *ask.Question) (ask.Answer, error) {
	if err := a.settle(ctx); err != nil {
		return ask.Answer{}, err
	}
	a.screen.state("waits for you")
	if len(q.Choices) > 0 {
		return a.askChoices(ctx, q)
	}
	s := describe(q, a.surface())
	for above := s.page(s.longestPrompt()); ; {
		line, err := a.answer(ctx, above, s.prompt())
		if err != nil {
			return ask.Answer{}, err
		}
		r := s.replyTo(line)
		if r.why {
			reason, err := a.answer(ctx, "", s.fitted("Tell the agent why, or what to do instead: "))
			if err != nil {
				return ask.Answer{}, err
			}
			r.answer = ask.Answer{Kind: ask.Denied, Reason: reason}
		}
		if ask.CheckSize(r.answer) != nil {
			r = reply{refusal: answerTooLong}
		}
		switch {
		case r.answer.Kind != "":
			return r.answer, nil
		case r.help:
			above = s.explanation() + s.repeat()
		case r.refusal != "":
			above = lines(s.ours(r.refusal, 0)) + s.repeat()
		case !s.complete():
			_, s.Rows = a.console.size()
			above = s.page(s.longestPrompt())
		default:
			above = s.repeat()
		}
	}
}

// surface returns the current surface for questions.
func (a *questioner) surface() ask.Surface {
	columns, rows := a.console.size()
	plain := a.screen.plain || clikit.Dumb()
	return ask.Surface{Columns: columns, Rows: rows, Color: a.colored(), Plain: plain, Lines: termio.DrawsLines()}
}

// settle lets the user catch up if another question was withdrawn, or a prompt is being typed: the
// next input is not meant for the question that follows.
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

// A reply is the meaning of a line. If it has no answer, the question is repeated.
type reply struct {
	answer  ask.Answer
	refusal string // why there is none
	why     bool   // the user wants to say why they deny it
	help    bool   // the user wants an explanation of the answers
}

// replyTo returns the meaning of a line. Until everything was shown, only whole words allow
// something.
func (s *sheet) replyTo(line string) reply {
	line = strings.TrimSpace(s.letter(line))
	word := strings.ToLower(line)
	if !s.complete() && (word == "y" || word == "a") {
		return reply{refusal: "Not all was shown. Type the whole word."}
	}
	switch word {
	case "":
		return reply{}
	case "y", "yes":
		return reply{answer: ask.Answer{Kind: ask.AllowOnce}}
	case "a", "always":
		if len(s.always) > 0 {
			all := ask.Answer{Kind: ask.AllowAlways}
			for _, change := range s.always { // all are shown
				all.Changes = append(all.Changes, change.Index)
			}
			return reply{answer: all}
		}
	case "n", "no":
		return reply{answer: ask.Answer{Kind: ask.Denied}}
	case "e":
		return reply{why: true}
	case "?", "help":
		return reply{help: true}
	}
	if end := strings.IndexAny(line, " ,"); end > 0 && slices.Contains([]string{"n", "no", "e"}, strings.ToLower(line[:end])) {
		return reply{answer: ask.Answer{Kind: ask.Denied, Reason: line[end:]}}
	}
	return reply{refusal: "Unknown answer. Type ? for help."}
}

// choose is a [clew.QuestionFunc]. The user answers by number or in their own words.
func (a *questioner) choose(ctx context.Context, req *clew.QuestionRequest) (result *clew.QuestionResult, err error) {
	err = a.put(ctx, req.Permission, func(ctx context.Context) (err error) {
		result, err = a.chooseAll(ctx, req)
		return err
	})
	return result, err
}

func (a *questioner) chooseAll(ctx context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	if len(req.Questions) == 0 {
		return nil, errors.New(ask.NoChoice) //nolint:staticcheck // the agent gets the sentence
	}
	if err := a.open(); err != nil {
		a.screen.refused(req.Permission.ToolUseID, req.Permission.ToolName, err.Error())
		return nil, errors.New(ask.NoChoice) //nolint:staticcheck // the agent gets the sentence
	}
	q := ask.New(req.Permission, req.Questions, a.workspace)
	answer, err := a.decided(ctx, req.Permission, q)
	if errors.Is(err, errInputEnded) {
		return nil, nil // the user won't answer
	}
	if err != nil {
		return nil, err
	}
	return q.Choice(answer)
}

// answerTooLong is shown instead of sending an answer that is too long.
const answerTooLong = "This answer is too long."

// askChoices asks the agent's own questions one after the other. Some may be skipped. A question is asked again if
// the answer has become too long with it.
func (a *questioner) askChoices(ctx context.Context, q *ask.Question) (ask.Answer, error) {
	answer := ask.Answer{Kind: ask.Skipped}
	for len(answer.Chosen) < len(q.Choices) {
		i, aside := len(answer.Chosen), ""
		if len(q.Choices) > 1 {
			aside = fmt.Sprintf("question %d of %d", i+1, len(q.Choices))
		}
		chosen, err := a.chooseOne(ctx, &q.Choices[i], aside)
		if err != nil {
			return ask.Answer{}, err
		}
		answer.Chosen = append(answer.Chosen, chosen)
		if ask.CheckSize(answer) != nil {
			answer.Chosen = answer.Chosen[:i]
			a.say(answerTooLong + "\n")
			continue
		}
		if len(chosen) > 0 {
			answer.Kind = ask.Chosen
		}
	}
	return answer, nil
}

// chooseOne shows a question, page by page, and repeats it until it has an answer. No choice means
// that the user skipped it.
func (a *questioner) chooseOne(ctx context.Context, q *clew.Question, aside string) (chosen []string, err error) {
	s := describeChoice(q, a.surface(), aside)
	promptRows := strings.Count(s.choicePrompt(q), "\n") + 1
	for above := s.page(promptRows); ; {
		line, err := a.answer(ctx, above, s.choicePrompt(q))
		if err != nil {
			return nil, err
		}
		above = ""
		if !s.complete() && strings.TrimSpace(line) == "" {
			_, s.Rows = a.console.size()
			above = s.page(promptRows)
		} else if chosen, ok := chosenOf(line, q); ok {
			return chosen, nil
		}
	}
}

// chosenOf returns the meaning of an answer: the labels of the options with its numbers, or its own
// words. It is not ok if a number is out of range, or if there are too many.
func chosenOf(line string, q *clew.Question) (chosen []string, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil, true
	}
	numbers, ok := numbersOf(line)
	if !ok {
		return []string{line}, true
	}
	if len(numbers) > 1 && !q.MultiSelect {
		return nil, false
	}
	for _, n := range numbers {
		if n < 1 || n > len(q.Options) {
			return nil, false
		}
		if label := q.Options[n-1].Label; !slices.Contains(chosen, label) {
			chosen = append(chosen, label)
		}
	}
	return chosen, true
}

// numbersOf returns the numbers of a line that contains only numbers.
func numbersOf(line string) (numbers []int, ok bool) {
	for _, word := range list(line) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, len(numbers) > 0
}

// A Questioner asks the questions of job agents, like the questions in run and chat. The agents
// work elsewhere, so no file is read.
type Questioner struct{ asker *questioner }

// OpenQuestioner finds the terminal for job questions. It returns an error if nobody can be asked.
func OpenQuestioner(ctx context.Context, s clikit.Streams) (*Questioner, error) {
	j := &Questioner{newQuestioner(ctx, s, newScreen(s))}
	if err := j.asker.open(); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// Ask asks a question below a text.
func (j *Questioner) Ask(ctx context.Context, above string, q *ask.Question) (ask.Answer, error) {
	j.asker.say(above)
	return j.asker.ask(ctx, q)
}

// Close leaves the terminal.
func (j *Questioner) Close() { j.asker.screen.close() }
