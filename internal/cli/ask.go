package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/transcript"
)

// A questioner asks the user the agent's questions, one at a time, each below the output that came
// before it.
type questioner struct {
	ctx     context.Context // of the run: no questions are asked after its end
	streams Streams
	screen  *screen
	// claim reserves the terminal for a question until leave is called. The question ends with the
	// context that claim returns.
	claim func(ctx context.Context) (asked context.Context, leave func())

	mu      sync.Mutex // held while there is a question
	begin   sync.Once
	console console
	lines   chan string // closed at the end of the input
}

func newQuestioner(ctx context.Context, s Streams, scr *screen) *questioner {
	return &questioner{ctx: ctx, streams: s, screen: scr, claim: noClaim, lines: make(chan string)}
}

// noClaim is the claim of a terminal that nothing else uses.
func noClaim(ctx context.Context) (asked context.Context, leave func()) { return ctx, func() {} }

// serve makes the agent ask here, unless the options name another way.
func (a *questioner) serve(opts *clew.Options) {
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
		a.screen.note("! " + req.ToolName + " denied: choices can't be shown here")
		return clew.Deny(noChoices), nil
	case err != nil:
		a.screen.note("! " + req.ToolName + " denied: " + err.Error() + "; see --allowedTools and --permission-mode")
		return clew.Deny(nobodyToAsk), nil
	}
	defer a.hold()()
	a.say(describe(req, a.colored()))
	return a.ask(ctx, req)
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
	a.dropTyped()
	a.begin.Do(func() { go a.read() })
	return func() { a.screen.pause(false) }
}

// discardInput discards unread input. Test scripts replace it, since they type ahead.
var discardInput = discardTyped

// dropTyped discards input from before the question, such as the answer to a question that the
// agent has withdrawn.
func (a *questioner) dropTyped() {
	if tty, ok := a.console.in.(*os.File); ok {
		discardInput(tty)
	}
	select {
	case <-a.lines:
	default:
	}
}

// errUserStopped is the cause of the end of a question that the user interrupted.
var errUserStopped = errors.New("interrupted by the user")

// ask repeats the question until it has an answer.
func (a *questioner) ask(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	always := len(req.Suggestions) > 0 && !req.SuppressAlwaysAllowRule
	question := "Allow it? [y]es, once / [n]o: "
	if always {
		a.say(describeAlways(req.Suggestions))
		question = "Allow it? [y]es, once / [a]lways / [n]o: "
	}
	for {
		line, more, err := a.answer(ctx, question)
		switch {
		case a.ctx.Err() != nil, errors.Is(context.Cause(ctx), errUserStopped):
			return &clew.DenyResult{Message: "The user interrupted.", Interrupt: true}, nil //nolint:nilerr // the answer says it
		case err != nil:
			return nil, err
		}
		if result := answerOf(line, req, always); result != nil || !more {
			return orDenied(result), nil
		}
	}
}

// answer returns the line that the user types below a question. more is false at the end of the
// input.
func (a *questioner) answer(ctx context.Context, question string) (line string, more bool, err error) {
	a.say(question)
	select {
	case line, more = <-a.lines:
		return line, more, nil
	case <-ctx.Done():
		a.say("\n")
		return "", false, ctx.Err()
	case <-a.ctx.Done():
		return "", false, a.ctx.Err()
	}
}

// orDenied returns a denial if the input has ended without an answer.
func orDenied(result clew.PermissionResult) clew.PermissionResult {
	if result == nil {
		return clew.Deny("The user gave no answer.")
	}
	return result
}

// answerOf returns the meaning of an answer, or nil if it has none.
func answerOf(line string, req *clew.PermissionRequest, always bool) clew.PermissionResult {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return &clew.AllowResult{Classification: clew.PermissionClassificationTemporary}
	case "n", "no":
		return &clew.DenyResult{
			Message: "The user denied this.", Classification: clew.PermissionClassificationReject,
		}
	case "a", "always":
		if always {
			return &clew.AllowResult{
				UpdatedPermissions: req.Suggestions, Classification: clew.PermissionClassificationPermanent,
			}
		}
	}
	return nil
}

// read reads answers until the input ends. Nothing can end a read from a terminal, so it may still
// run when the program ends.
func (a *questioner) read() {
	defer close(a.lines)
	for in := bufio.NewScanner(a.console.in); in.Scan(); {
		select {
		case a.lines <- in.Text():
		case <-a.ctx.Done():
			return
		}
	}
}

// maxShown is the number of bytes of a diff or a command that a question shows.
const maxShown = 16 << 10

// describe describes what the agent wants to do. It shows a change as a diff.
func describe(req *clew.PermissionRequest, color bool) string {
	var b strings.Builder
	summary := clip(transcript.ToolSummary(req.ToolName, req.Input))
	fmt.Fprintf(&b, "? The agent wants to use %s: %s\n", printable(req.ToolName), printable(summary))
	if req.DecisionReason != "" {
		fmt.Fprintf(&b, "  %s\n", printable(clip(req.DecisionReason)))
	}
	diff, isChange := transcript.InputDiff(req.ToolName, req.Input)
	text := details(req)
	if isChange {
		text = diff.String()
	}
	style := render.Options{Color: color && isChange}
	for line := range strings.Lines(shown(text)) {
		b.WriteString("  " + style.DiffLine(cleanText(strings.TrimSuffix(line, "\n"))) + "\n")
	}
	return b.String()
}

// details returns the command, the plan or the whole input of a request.
func details(req *clew.PermissionRequest) string {
	var input struct {
		Command string `json:"command"`
		Plan    string `json:"plan"`
	}
	if req.DecodeInput(&input) == nil {
		return cmp.Or(input.Command, input.Plan, string(req.Input))
	}
	return string(req.Input)
}

// shown cuts a text that is too long to read, and says so: nobody should unknowingly allow
// something that was not shown.
func shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return fmt.Sprintf("%s\n(%d more bytes are not shown)\n", strings.ToValidUTF8(text[:maxShown], ""), len(text)-maxShown)
}

// describeAlways describes what the answer "always" changes: often more than the question is about,
// and sometimes for later sessions.
func describeAlways(changes []clew.PermissionUpdate) string {
	var b strings.Builder
	for i := range changes {
		b.WriteString("  always: " + printable(changeOf(&changes[i])+destinationText(changes[i].Destination)) + "\n")
	}
	return shown(b.String())
}

func changeOf(u *clew.PermissionUpdate) string {
	switch u.Type {
	case clew.PermissionUpdateAddRules:
		return string(u.Behavior) + " " + rulesText(u.Rules)
	case clew.PermissionUpdateSetMode:
		return "permission mode " + string(u.Mode)
	case clew.PermissionUpdateAddDirectories:
		return "tools may use " + strings.Join(u.Directories, ", ")
	}
	return strings.TrimSpace(string(u.Type) + " " + rulesText(u.Rules) + strings.Join(u.Directories, ", "))
}

// rulesText returns rules in the form of --allowedTools.
func rulesText(rules []clew.PermissionRule) string {
	texts := make([]string, len(rules))
	for i, rule := range rules {
		texts[i] = rule.ToolName
		if rule.RuleContent != "" {
			texts[i] += "(" + rule.RuleContent + ")"
		}
	}
	return strings.Join(texts, ", ")
}

func destinationText(to clew.PermissionDestination) string {
	switch to {
	case clew.PermissionDestinationSession, clew.PermissionDestinationCLIArg:
		return ", in this session"
	case clew.PermissionDestinationLocalSettings:
		return ", saved in .claude/settings.local.json"
	case clew.PermissionDestinationProjectSettings:
		return ", saved in .claude/settings.json"
	case clew.PermissionDestinationUserSettings:
		return ", saved in your settings"
	case "":
		return ""
	}
	return ", saved in " + string(to)
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
		a.screen.note("! AskUserQuestion denied: " + err.Error())
		return nil, errNoChoices
	}
	defer a.hold()()
	answers := map[string][]string{}
	for i := range req.Questions {
		q := &req.Questions[i]
		chosen, more, err := a.chooseOne(ctx, q)
		if err != nil || !more {
			return nil, err // nil means that the user won't answer
		}
		if len(chosen) > 0 {
			answers[q.Question] = chosen
		}
	}
	if len(answers) == 0 {
		return nil, nil // the user has skipped all questions
	}
	return &clew.QuestionResult{Answers: answers}, nil
}

// chooseOne repeats a question until it has an answer. No choice means that the user skipped it.
// more is false at the end of the input.
func (a *questioner) chooseOne(ctx context.Context, q *clew.Question) (chosen []string, more bool, err error) {
	a.say(describeQuestion(q))
	hint := "Number, your own words, or nothing to skip: "
	if q.MultiSelect {
		hint = "Numbers, your own words, or nothing to skip: "
	}
	for {
		line, more, err := a.answer(ctx, hint)
		if err != nil || !more {
			return nil, false, err
		}
		if chosen, ok := chosenOf(line, q); ok {
			return chosen, true, nil
		}
	}
}

func describeQuestion(q *clew.Question) string {
	var b strings.Builder
	b.WriteString("? " + cleanText(q.Question) + "\n")
	for i, option := range q.Options {
		fmt.Fprintf(&b, "  %d. %s", i+1, printable(option.Label))
		if option.Description != "" {
			b.WriteString(": " + printable(option.Description))
		}
		b.WriteString("\n")
		for line := range strings.Lines(shown(option.Preview)) {
			b.WriteString("     " + cleanText(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	return b.String()
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
