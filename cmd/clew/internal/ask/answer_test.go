package ask

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// ruleAndMode returns a request whose "always" can add a rule and set a mode.
func ruleAndMode() *permission.Request {
	return &permission.Request{ToolName: "Bash", Suggestions: []permission.Update{
		permission.AddRules("localSettings", "allow", permission.Rule{ToolName: "Bash", RuleContent: "go test:*"}),
		permission.SetMode("session", "acceptEdits"),
	}}
}

// "Always" changes what was shown, or less.
func TestAlways(t *testing.T) {
	t.Parallel()
	req := ruleAndMode()
	q := New(req, nil, Workspace{})
	for _, tt := range []struct {
		changes []int
		rule    string
		fails   bool
	}{
		{[]int{0}, "", false},
		{[]int{0, 1}, "Bash(go test ./x)", false},
		{[]int{0}, "Bash(go:*)", true},
		{[]int{0}, "Bash", true},
		{[]int{2}, "", true},
		{[]int{-1}, "", true},
		{nil, "", true},
	} {
		result, err := q.Permission(Answer{Kind: AllowAlways, Changes: tt.changes, Rule: tt.rule})
		allowed, _ := result.(*permission.AllowResult)
		if (err != nil) != tt.fails || !tt.fails && len(allowed.UpdatedPermissions) != len(tt.changes) {
			t.Errorf("%v %q: %v %v", tt.changes, tt.rule, result, err)
		}
	}
	if len(q.Always) != 2 || !slices.Equal(q.Marked(), q.Always[:1]) || q.Rule != "Bash(go test:*)" {
		t.Errorf("always: %+v, rule %q", q.Always, q.Rule)
	}
	strict := New(req, nil, Workspace{Modes: func(wire.PermissionMode) bool { return false }})
	if err := strict.Check(Answer{Kind: AllowAlways, Changes: []int{1}}); err == nil || len(strict.Always) != 1 {
		t.Errorf("a mode that is not allowed here can be set: %+v", strict.Always)
	}
	req.SuppressAlwaysAllowRule = true
	q = New(req, nil, Workspace{})
	if err := q.Check(Answer{Kind: AllowAlways, Changes: []int{0}}); err == nil || q.Always != nil || q.Rule != "" {
		t.Error("always was suppressed")
	}
}

// The agent gets the user's answer unchanged.
func TestPermission(t *testing.T) {
	t.Parallel()
	req := ruleAndMode()
	narrow := permission.AddRules("localSettings", "allow", permission.Rule{ToolName: "Bash", RuleContent: "go test ./x"})
	denied := func(message string) permission.Result {
		return &permission.DenyResult{Message: message, Classification: permission.ClassificationReject}
	}
	for _, tt := range []struct {
		answer Answer
		want   permission.Result
	}{
		{Answer{Kind: Denied}, denied("The user denied this.")},
		{Answer{Kind: Denied, Reason: "too slow"}, denied("The user denied this: too slow")},
		{Answer{Kind: Denied, Reason: ", Because too slow "}, denied("The user denied this: too slow")},
		{Answer{Kind: AllowOnce}, &permission.AllowResult{Classification: permission.ClassificationTemporary}},
		{Answer{Kind: AllowOnce, Stopped: true}, &permission.DenyResult{Message: "The user interrupted.", Interrupt: true}},
		{Answer{Kind: AllowAlways, Changes: []int{0}, Rule: "Bash(go test ./x)"}, &permission.AllowResult{
			UpdatedPermissions: []permission.Update{narrow}, Classification: permission.ClassificationPermanent,
		}},
		{Answer{Kind: AllowAlways, Changes: []int{1}}, &permission.AllowResult{
			UpdatedPermissions: req.Suggestions[1:], Classification: permission.ClassificationPermanent,
		}},
	} {
		want, err := json.Marshal(tt.want)
		if err != nil {
			t.Fatal(err)
		}
		result, err := New(req, nil, Workspace{}).Permission(tt.answer)
		got, failed := json.Marshal(result)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil || failed != nil {
			t.Errorf("%+v: %v, %v (-want +got)\n%s", tt.answer, err, failed, diff)
		}
	}
	if req.Suggestions[0].Rules[0].RuleContent != "go test:*" {
		t.Error("the suggestion has changed")
	}
}

// An answer of another kind, or of none, is no answer to any question.
func TestCheck(t *testing.T) {
	t.Parallel()
	colors := clew.Question{Question: "Which?", Options: []clew.QuestionOption{{Label: "Red"}, {Label: "Blue"}}}
	sizes := colors
	sizes.Question, sizes.MultiSelect = "Which sizes?", true
	long := strings.Repeat("x", MaxWords+1)
	call := New(ruleAndMode(), nil, Workspace{})
	own := New(&permission.Request{ToolName: choiceTool}, []clew.Question{colors, sizes}, Workspace{})
	huge := New(&permission.Request{ToolName: "Bash", Input: `{"command":"make"}`}, nil, Workspace{MaxInput: 5})
	for _, tt := range []struct {
		name   string
		q      *Question
		answer Answer
		fails  bool
	}{
		{"no kind", call, Answer{}, true},
		{"an unknown kind", call, Answer{Kind: "yes"}, true},
		{"a choice for a call", call, Answer{Kind: Chosen, Chosen: [][]string{{"Red"}}}, true},
		{"a call is not skipped", call, Answer{Kind: Skipped}, true},
		{"a long reason", call, Answer{Kind: Denied, Reason: long}, true},
		{"yes to a choice", own, Answer{Kind: AllowOnce}, true},
		{"always to a choice", own, Answer{Kind: AllowAlways}, true},
		{"a choice", own, Answer{Kind: Chosen, Chosen: [][]string{{"Red"}, {"Red", "Blue", "Green"}}}, false},
		{"a part of the choices", own, Answer{Kind: Chosen, Chosen: [][]string{{}, {"Green"}}}, false},
		{"too few choices", own, Answer{Kind: Chosen, Chosen: [][]string{{"Red"}}}, true},
		{"two of one", own, Answer{Kind: Chosen, Chosen: [][]string{{"Red", "Blue"}, {"Red"}}}, true},
		{"too many", own, Answer{Kind: Chosen, Chosen: [][]string{{"Red"}, {"1", "2", "3", "4"}}}, true},
		{"no words", own, Answer{Kind: Chosen, Chosen: [][]string{{""}, {" "}}}, true},
		{"long words", own, Answer{Kind: Chosen, Chosen: [][]string{{long}, {}}}, true},
		{"no choice", own, Answer{Kind: Skipped}, false},
		{"not shown", huge, Answer{Kind: AllowOnce}, true},
		{"not shown, and denied", huge, Answer{Kind: Denied}, false},
	} {
		err := tt.q.Check(tt.answer)
		_, failed := tt.q.JobAnswer(tt.answer)
		if (err != nil) != tt.fails || (failed != nil) != tt.fails {
			t.Errorf("%s: %v, for a job %v", tt.name, err, failed)
		}
		if tt.q == huge && tt.fails && !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// The answer to a question names it by its text, so no question has the text of another one.
func TestSameQuestion(t *testing.T) {
	t.Parallel()
	ask := func(text, label string) clew.Question {
		return clew.Question{Question: text, Options: []clew.QuestionOption{{Label: label}}}
	}
	q := New(&permission.Request{ToolName: choiceTool}, []clew.Question{ask("Which?", "a"), ask("Why?", "b"), ask("Which?", "c")}, Workspace{})
	if diff := cmp.Diff([]clew.Question{ask("Which?", "a"), ask("Why?", "b")}, q.Choices); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
	result, err := q.Choice(Answer{Kind: Chosen, Chosen: [][]string{{"a"}, {"b"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"Which?": {"a"}, "Why?": {"b"}}, result.Answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// The record of a job has the same answer, wherever it was given.
func TestJobAnswer(t *testing.T) {
	t.Parallel()
	call := OfJob(&fleet.Question{Tool: "Bash", Input: []byte(`{"command":"make"}`)}, 0)
	own := OfJob(&fleet.Question{Tool: choiceTool, Input: []byte(
		`{"questions":[{"question":"Which?","options":[{"label":"Red"},{"label":"Blue"}],"multiSelect":true}]}`)}, 0)
	for _, tt := range []struct {
		q      *Question
		answer Answer
		want   fleet.Answer
	}{
		{call, Answer{Kind: AllowOnce}, fleet.Answer{Allow: true}},
		{call, Answer{Kind: Denied}, fleet.Answer{Text: "Denied."}},
		{call, Answer{Kind: Denied, Reason: ", because it is slow"}, fleet.Answer{Text: "it is slow"}},
		{own, Answer{Kind: Chosen, Chosen: [][]string{{"Red", "Blue"}}}, fleet.Answer{Allow: true, Answers: map[string]string{"Which?": "Red, Blue"}}},
		{own, Answer{Kind: Denied}, fleet.Answer{Text: "The user has skipped the question."}},
		{own, Answer{Kind: Denied, Reason: "Use staging."}, fleet.Answer{Text: "Use staging."}},
		{own, Answer{Kind: Skipped}, fleet.Answer{Text: "The user has skipped the question."}},
	} {
		got, err := tt.q.JobAnswer(tt.answer)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%+v: %v (-want +got)\n%s", tt.answer, err, diff)
		}
	}
	for _, a := range []Answer{{Stopped: true}, {Kind: AllowAlways}} {
		if got, err := call.JobAnswer(a); err == nil || got.Allow {
			t.Errorf("%+v: %+v", a, got)
		}
	}
}

// The digest changes with everything that is shown.
func TestDigest(t *testing.T) {
	t.Parallel()
	digests := map[string]string{}
	text := "old\n"
	w := Workspace{Dir: "/repo", Read: func(string) (string, error) { return text, nil }}
	note := func(name string, req *permission.Request, own ...clew.Question) {
		q := New(req, own, w)
		if other, ok := digests[q.Digest]; ok {
			t.Errorf("%s has the digest of %s", name, other)
		}
		digests[q.Digest] = name
	}
	edit := permission.Request{ToolName: "Edit", Input: `{"file_path":"/repo/a","old_string":"old","new_string":"new"}`}
	note("an edit", &edit)
	text = "before\nold\n"
	note("another file", &edit)
	reason := edit
	reason.DecisionReason = "a rule asks"
	note("a reason", &reason)
	subagent := edit
	subagent.AgentID = "a1"
	note("a subagent", &subagent)
	always := edit
	always.Suggestions = ruleAndMode().Suggestions
	note("always", &always)
	note("a command", &permission.Request{ToolName: "Bash", Input: `{"command":"make"}`})
	note("a repeated member", &permission.Request{ToolName: "Bash", Input: `{"command":"make","command":"make"}`})
	note("another type", &permission.Request{ToolName: "Bash", Input: `{"command":["make"]}`})
	note("no object", &permission.Request{ToolName: "Bash", Input: `["make"]`})
	note("options", &permission.Request{ToolName: choiceTool}, clew.Question{Question: "Which?"})
	note("other options", &permission.Request{ToolName: choiceTool}, clew.Question{Question: "Which one?"})
	q := New(&edit, nil, w)
	digest := q.Digest
	if q.ID = "q1"; New(&edit, nil, w).Digest != digest {
		t.Error("the same question has another digest")
	}
}
