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

// An asker puts the agent's questions to the user, one at a time, each below what the
// agent has said before it.
type questioner struct {
	ctx     context.Context // of the run: nobody is asked after its end
	streams Streams
	screen  *screen
	// claim makes room for a question, until leave is called. The question ends with
	// the context that it returns.
	claim func(ctx context.Context) (asked context.Context, leave func())

	mu      sync.Mutex // held while there is a question
	begin   sync.Once
	console console
	lines   chan string // closed at the end of the input
}

func newQuestioner(ctx context.Context, s Streams, scr *screen) *questioner {
	return &questioner{ctx: ctx, streams: s, screen: scr, claim: noClaim, lines: make(chan string)}
}

// noRoom is for questions that need none.
func noClaim(ctx context.Context) (asked context.Context, leave func()) { return ctx, func() {} }

// serve has the agent ask here, unless somebody else decides.
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
	nobodyToAsk = "Denied: there is no terminal on which the user could be asked. " +
		"The user can allow it beforehand, with --allowedTools or --permission-mode."
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

// put asks a question about a call of a tool when it is its turn, unless the agent has
// withdrawn it until then.
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

// waitForAnswer waits until no question is open, which other text would tear.
func (a *questioner) waitForAnswer() {
	a.mu.Lock()
	defer a.mu.Unlock()
}

func (a *questioner) permit(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	err := a.open()
	switch {
	case needsChoice(req):
		a.screen.note("! " + req.ToolName + " denied: the agent can't put a choice to you here")
		return clew.Deny(noChoices), nil
	case err != nil:
		a.screen.note("! " + req.ToolName + " denied: " + err.Error() + "; see --allowedTools and --permission-mode")
		return clew.Deny(nobodyToAsk), nil
	}
	defer a.hold()()
	a.say(describe(req, a.colored()))
	return a.ask(ctx, req)
}

// needsChoice reports whether yes and no are no answers. Whether a plan may be carried
// out is yes or no.
func needsChoice(req *clew.PermissionRequest) bool {
	return req.ToolName == "AskUserQuestion" || req.RequiresUserInteraction && req.ToolName != "ExitPlanMode"
}

// canAsk reports whether there is somebody to ask.
func (a *questioner) canAsk() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open() == nil
}

// hold keeps the screen still until what it returns is called.
func (a *questioner) hold() (release func()) {
	a.screen.pause(true)
	a.dropTyped()
	a.begin.Do(func() { go a.read() })
	return func() { a.screen.pause(false) }
}

// forget drops what was typed and not read yet. Scripts of tests type ahead.
var discardInput = discardTyped

// dropTyped drops what was typed before a question could be read, such as the answer to
// one that the agent has withdrawn.
func (a *questioner) dropTyped() {
	if tty, ok := a.console.in.(*os.File); ok {
		discardInput(tty)
	}
	select {
	case <-a.lines:
	default:
	}
}

// errUserStopped is the cause that ends a question which the user has answered with an
// interrupt.
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

// answer returns the line that is typed below a question. There is no more when the
// input has ended.
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

// orDenied denies where the input has ended without an answer.
func orDenied(result clew.PermissionResult) clew.PermissionResult {
	if result == nil {
		return clew.Deny("The user gave no answer.")
	}
	return result
}

// answerOf returns what an answer means, or nil if that can't be told.
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

// read reads answers until the input ends. Nothing can end a read of a terminal, so
// it is left behind when the program ends.
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

// maxShown is how many bytes of a diff or a command are shown in a question.
const maxShown = 16 << 10

// describe shows what the agent wants to do, a change in colours if it may.
func describe(req *clew.PermissionRequest, colour bool) string {
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
	look := render.Options{Color: colour && isChange}
	for line := range strings.Lines(shown(text)) {
		b.WriteString("  " + look.DiffLine(cleanText(strings.TrimSuffix(line, "\n"))) + "\n")
	}
	return b.String()
}

// details returns the command, the plan or the whole input that a question is about.
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

// shown cuts what is too long to be read, and says so: nobody should allow what was
// not shown without knowing it.
func shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return fmt.Sprintf("%s\n(%d bytes more are not shown)\n", strings.ToValidUTF8(text[:maxShown], ""), len(text)-maxShown)
}

// describeAlways says what the answer "always" changes: it is often more than the question is about, and may
// outlive the session.
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

// rulesText returns rules as --allowedTools takes them.
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
		return ", kept in .claude/settings.local.json"
	case clew.PermissionDestinationProjectSettings:
		return ", kept in .claude/settings.json"
	case clew.PermissionDestinationUserSettings:
		return ", kept in your own settings"
	case "":
		return ""
	}
	return ", kept in " + string(to)
}

// errNoChoices is noChoices for the agent's questions.
var errNoChoices = errors.New("denied: the user can't choose an answer here; decide, or end with the question")

// choose is a [clew.QuestionFunc]: it puts the agent's questions to the user, who
// chooses by number or answers in other words.
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
		return nil, nil // as above
	}
	return &clew.QuestionResult{Answers: answers}, nil
}

// chooseOne repeats a question until it has an answer. None means that the user has
// passed it over. There is no more when the input has ended.
func (a *questioner) chooseOne(ctx context.Context, q *clew.Question) (chosen []string, more bool, err error) {
	a.say(describeQuestion(q))
	hint := "Number, your own words, or nothing to pass over: "
	if q.MultiSelect {
		hint = "Numbers, your own words, or nothing to pass over: "
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

// chosenOf returns what an answer means: the labels of the options whose numbers it
// has, or its own words. It is not ok if it has other numbers, or too many.
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

// numbersOf returns the numbers of a line that has nothing else.
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
