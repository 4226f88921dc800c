package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/fleetcli"
	"github.com/clewdev/clew/internal/permit"
	"github.com/clewdev/clew/internal/tty"
)

// A questioner asks the user the agent's questions, one at a time, each below the output that came
// before it. Input typed before a question was on the screen does not answer it.
type questioner struct {
	ctx     context.Context // of the run: no questions are asked after its end
	streams Streams
	screen  *screen
	// workspace is the agent's workspace.
	workspace permit.Workspace
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
	a.workspace = permit.NewWorkspace(opts.Dir)
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
	case permit.NeedsChoice(req):
		a.screen.refused(req.ToolUseID, req.ToolName, "choices can't be shown here")
		return clew.Deny(noChoices), nil
	case err != nil:
		a.screen.refused(req.ToolUseID, req.ToolName, err.Error()+"; see --allowedTools and --permission-mode")
		return clew.Deny(nobodyToAsk), nil
	}
	defer a.hold()()
	result, err := orDenied(a.ask(ctx, req))
	_, allowed := result.(*clew.AllowResult)
	a.screen.decided(req.ToolUseID, allowed)
	if a.ctx.Err() != nil || errors.Is(context.Cause(ctx), errUserStopped) {
		return &clew.DenyResult{Message: "The user interrupted.", Interrupt: true}, nil
	}
	return result, err
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

// ask shows a question, page by page, and repeats it until it has an answer. The error is errInputEnded
// if there will be none.
func (a *questioner) ask(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	if err := a.settle(ctx); err != nil {
		return nil, err
	}
	s := describe(req, a.surface(), a.workspace)
	a.screen.state("waits for you")
	for above := s.page(longestPrompt(req, s)); ; {
		line, err := a.answer(ctx, above, promptOf(req, s))
		if err != nil {
			return nil, err
		}
		switch r := replyOf(s.letter(line), req, s.complete()); {
		case r.result != nil:
			return r.result, nil
		case r.why:
			return a.askWhy(ctx, s)
		case r.help:
			above = explanation(req, s) + s.repeat()
		case r.refusal == "" && !s.complete():
			_, s.surface.rows = a.console.size()
			above = s.page(longestPrompt(req, s))
		case r.refusal == "":
			above = s.repeat()
		default:
			above = lines(s.ours(r.refusal, 0)) + s.repeat()
		}
	}
}

// surface returns the current surface for questions.
func (a *questioner) surface() surface {
	columns, rows := a.console.size()
	plain := a.screen.plain || os.Getenv("TERM") == "dumb"
	return surface{columns: columns, rows: rows, color: a.colored(), plain: plain, lines: drawsLines()}
}

// askWhy asks for a reason, and returns a denial with it.
func (a *questioner) askWhy(ctx context.Context, s *sheet) (clew.PermissionResult, error) {
	line, err := a.answer(ctx, "", s.prompt("Tell the agent why, or what to do instead: "))
	if err != nil {
		return nil, err
	}
	return permit.Denied(line), nil
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

// orDenied returns a denial if the input ended without an answer.
func orDenied(result clew.PermissionResult, err error) (clew.PermissionResult, error) {
	if errors.Is(err, errInputEnded) {
		return clew.Deny("The user gave no answer."), nil
	}
	return result, err
}

// addAlways adds the changes that the answer "always" makes: often more than the question is about,
// and sometimes for later sessions. They are beside the choice if they are short.
func (s *sheet) addAlways(changes []clew.PermissionUpdate) {
	texts := make([]string, len(changes))
	for i := range changes {
		texts[i] = tty.CleanLine(permit.UpdateText(&changes[i]))
	}
	if s.offer(texts) {
		return
	}
	for _, text := range texts {
		s.add(0, "always: "+text)
	}
	s.offer([]string{"does what is said above"})
}

// Indents of the choices.
const (
	choiceIndent = len("  a  ")
	alwaysIndent = len("  a  always     ")
	minChoice    = 26 // columns for choices that are explained
	minChoices   = 46 // columns for always and its changes in a row
)

// offer sets the choices. always has the clean texts of the choice always, or is empty if there is
// no such choice. Without room on the screen it sets no choices, and returns false if always has
// texts, which would be shown nowhere else.
func (s *sheet) offer(always []string) bool {
	const maxAlways, least = 4, 3
	s.letters = nil
	rows := []string{s.choice("y") + "yes, once"}
	if len(always) > 0 {
		said := s.alwaysRows(always)
		if len(said) > maxAlways {
			return false
		}
		rows = append(rows, said...)
	}
	rows = append(rows, s.choice("n")+"no", s.choice("e")+"no, and say why", s.choice("?")+"explain the answers")
	if s.surface.rows < len(rows)+1+2+least || s.columns < minChoice {
		return len(always) == 0
	}
	s.choices = rows
	return true
}

// choice returns the start of a choice's row. Without a box, choices are numbered.
func (s *sheet) choice(key string) string {
	if s.plain && key != "?" {
		s.letters = append(s.letters, key)
		key = strconv.Itoa(len(s.letters))
	}
	return "  " + tty.Strong.Paint(key, s.color) + "  "
}

// letter returns the letter of the choice whose number was typed, and other lines as they are.
func (s *sheet) letter(line string) string {
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || n < 1 || n > len(s.letters) || len(s.choices) == 0 {
		return line
	}
	return s.letters[n-1]
}

// alwaysRows returns the rows for the choice always.
func (s *sheet) alwaysRows(texts []string) []string {
	head, indent := s.choice("a")+"always     ", alwaysIndent
	var rows []string
	if s.columns < minChoices {
		rows, head, indent = []string{s.choice("a") + "always"}, strings.Repeat(" ", choiceIndent), choiceIndent
	}
	for _, text := range texts {
		for i, row := range tty.Break(text, s.columns-1-indent) {
			if i > 0 {
				head = strings.Repeat(" ", indent)
			}
			rows = append(rows, strings.TrimRight(head+row, " "))
		}
		head = strings.Repeat(" ", indent)
	}
	return rows
}

// promptOf returns the prompt of a question, in rows that fit. Until everything was shown, it names
// the words that are needed.
func promptOf(req *clew.PermissionRequest, s *sheet) string {
	always := permit.AlwaysPossible(req)
	prompt := "Allow it? [y]es, once / [n]o / [e] no, and why / [?]: "
	switch {
	case s.complete() && len(s.choices) > 0:
		return "Allow it? "
	case s.columns < minBox && s.complete():
		return s.prompt("Allow it? ")
	case s.columns < minBox:
		return s.prompt("Enter: more. yes / no: ")
	case s.complete() && always:
		prompt = "Allow it? [y]es, once / [a]lways / [n]o / [e] no, and why / [?]: "
	case !s.complete() && always:
		prompt = "Enter shows more. Allow it unread? yes / always / no: "
	case !s.complete():
		prompt = "Enter shows more. Allow it unread? yes / no: "
	}
	return s.prompt(prompt)
}

// longestPrompt returns the number of rows that the prompt of a question takes.
func longestPrompt(req *clew.PermissionRequest, s *sheet) int {
	most := 0
	for _, shown := range []int{0, len(s.rows)} {
		other := *s
		other.shown = shown
		other.choices = nil
		most = max(most, strings.Count(promptOf(req, &other), "\n")+1)
	}
	return most
}

// explanation describes the possible answers.
func explanation(req *clew.PermissionRequest, s *sheet) string {
	const indent = len("  always  ")
	texts := []string{
		"  yes     allows this call. The agent asks again before the next one.",
	}
	if permit.AlwaysPossible(req) {
		texts = append(texts, "  always  allows this call, and changes the permissions as the question says, so that calls like it need no answer.")
	}
	texts = append(texts,
		"  no      denies this call. The agent is told so, and continues. No, because ... tells it why.",
		"  e       denies this call, and reads a line for the agent: why, or what to do instead.",
		"  Ctrl-C  denies this call, and ends the turn. In a chat, Esc does as well.")
	var rows []string
	for _, text := range texts {
		rows = append(rows, s.ours(text, indent)...)
	}
	return lines(rows)
}

// A reply is the meaning of an answer. If it has no result, the question is repeated.
type reply struct {
	result  clew.PermissionResult
	refusal string // why there is none
	why     bool   // the user wants to say why they deny it
	help    bool   // the user wants an explanation of the answers
}

// replyOf returns the meaning of an answer. Until everything was shown, only whole words allow
// something.
func replyOf(line string, req *clew.PermissionRequest, complete bool) reply {
	line = strings.TrimSpace(line)
	answer := strings.ToLower(line)
	if !complete && (answer == "y" || answer == "a") {
		return reply{refusal: "Not all was shown. Type the whole word."}
	}
	switch answer {
	case "":
		return reply{}
	case "y", "yes":
		return reply{result: &clew.AllowResult{Classification: clew.PermissionClassificationTemporary}}
	case "a", "always":
		if permit.AlwaysPossible(req) {
			return reply{result: &clew.AllowResult{
				UpdatedPermissions: req.Suggestions, Classification: clew.PermissionClassificationPermanent,
			}}
		}
	case "n", "no":
		return reply{result: permit.Denied("")}
	case "e":
		return reply{why: true}
	case "?", "help":
		return reply{help: true}
	}
	if end := strings.IndexAny(line, " ,"); end > 0 && slices.Contains([]string{"n", "no", "e"}, answer[:end]) {
		return reply{result: permit.Denied(line[end:])}
	}
	return reply{refusal: "Unknown answer. Type ? for help."}
}

// errNoChoices is noChoices for the agent's questions.
var errNoChoices = errors.New("denied: the user can't choose an answer here; decide, or end with the question")

// choose is a [clew.QuestionFunc]. The user answers by number or in their own words.
func (a *questioner) choose(ctx context.Context, req *clew.QuestionRequest) (result *clew.QuestionResult, err error) {
	err = a.put(ctx, req.Permission, func(ctx context.Context) (err error) {
		result, err = a.chooseAll(ctx, req)
		return err
	})
	return result, err
}

func (a *questioner) chooseAll(ctx context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	if err := a.open(); err != nil {
		a.screen.refused(req.Permission.ToolUseID, req.Permission.ToolName, err.Error())
		return nil, errNoChoices
	}
	defer a.hold()()
	answers, err := a.choices(ctx, req.Questions)
	a.screen.decided(req.Permission.ToolUseID, true)
	switch {
	case errors.Is(err, errInputEnded), err == nil && len(answers) == 0:
		return nil, nil // the user won't answer, or skipped all questions
	case err != nil:
		return nil, err
	}
	return &clew.QuestionResult{Answers: answers}, nil
}

// choices asks questions one after the other, and returns the answers to all that were not skipped.
func (a *questioner) choices(ctx context.Context, questions []clew.Question) (map[string][]string, error) {
	if err := a.settle(ctx); err != nil {
		return nil, err
	}
	a.screen.state("waits for you")
	answers := map[string][]string{}
	for i := range questions {
		q := &questions[i]
		s := describeQuestion(q, a.surface())
		if len(questions) > 1 {
			s.aside = fmt.Sprintf("question %d of %d", i+1, len(questions))
		}
		chosen, err := a.chooseOne(ctx, q, s)
		if err != nil {
			return nil, err
		}
		if len(chosen) > 0 {
			answers[q.Question] = chosen
		}
	}
	return answers, nil
}

// chooseOne shows a question, page by page, and repeats it until it has an answer. No choice means
// that the user skipped it.
func (a *questioner) chooseOne(ctx context.Context, q *clew.Question, s *sheet) (chosen []string, err error) {
	promptRows := strings.Count(choicePrompt(q, s), "\n") + 1
	for above := s.page(promptRows); ; {
		line, err := a.answer(ctx, above, choicePrompt(q, s))
		if err != nil {
			return nil, err
		}
		above = ""
		if !s.complete() && strings.TrimSpace(line) == "" {
			_, s.surface.rows = a.console.size()
			above = s.page(promptRows)
		} else if chosen, ok := chosenOf(line, q); ok {
			return chosen, nil
		}
	}
}

func choicePrompt(q *clew.Question, s *sheet) string {
	number, nothing := "Number", "nothing to skip"
	if q.MultiSelect {
		number = "Numbers"
	}
	if !s.complete() {
		nothing = "nothing to see more"
	}
	return s.prompt(number + ", your own words, or " + nothing + ": ")
}

// describeQuestion returns a question with its options.
func describeQuestion(q *clew.Question, v surface) *sheet {
	s := &sheet{surface: v, head: "Question"}
	if q.Header != "" {
		s.head += ": " + tty.CleanLine(clikit.Clip(q.Header))
	}
	for line := range strings.SplitSeq(strings.TrimRight(q.Question, "\n"), "\n") {
		s.addStyled(tty.Strong, 0, line)
	}
	for i, option := range q.Options {
		label := fmt.Sprintf("%d. %s", i+1, option.Label)
		if option.Description != "" {
			label += ": " + option.Description
		}
		s.add(partIndent, label)
		for line := range strings.Lines(option.Preview) {
			s.add(partIndent+len("1. "), strings.TrimSuffix(line, "\n"))
		}
	}
	return s
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

// A jobQuestioner asks the questions of job agents, like the questions in run and chat. The agents
// work elsewhere, so no file is read.
type jobQuestioner struct{ *questioner }

// openJobQuestioner returns a function that finds the terminal for job questions.
func openJobQuestioner(s Streams) func(ctx context.Context) (fleetcli.Questioner, error) {
	return func(ctx context.Context) (fleetcli.Questioner, error) {
		j := jobQuestioner{newQuestioner(ctx, s, newScreen(s))}
		if err := j.open(); err != nil {
			j.Close()
			return nil, err
		}
		return j, nil
	}
}

// Permit asks whether a tool may be used.
func (j jobQuestioner) Permit(ctx context.Context, above string, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	j.say(above)
	return j.ask(ctx, req)
}

// Choose asks the agent's own questions.
func (j jobQuestioner) Choose(ctx context.Context, above string, questions []clew.Question) (map[string][]string, error) {
	j.say(above)
	return j.choices(ctx, questions)
}

// Close leaves the terminal.
func (j jobQuestioner) Close() { j.screen.close() }
