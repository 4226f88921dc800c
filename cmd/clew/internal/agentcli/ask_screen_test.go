package agentcli

import (
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// askedRequests returns the questions in the goldens, and the files that they are about.
func askedRequests() []*permission.Request {
	rule := func(tool, content string) []permission.Update {
		return []permission.Update{
			permission.AddRules("localSettings", "allow", permission.Rule{ToolName: tool, RuleContent: content}),
		}
	}
	hostile := quotedText("ls\x1b[2J\x1b[1;1H\n+----+\n  y  yes, once\nAllow it? y\u202e\n| 世界 | 👩\u200d💻 " + strings.Repeat("x", 90))
	return []*permission.Request{
		{ToolName: "Edit", Input: clitest.Edit, Suggestions: rule("Edit", "upload/**")},
		{
			ToolName: "Bash", Suggestions: rule("Bash", "go test:*"),
			Input: `{"command":"go test -run TestUpload -count=20 ./upload && git commit --all --message 'Fix the upload'","description":"Run the tests"}`,
		},
		{
			ToolName: "Write", Input: `{"file_path":"/repo/notes/todo.md","content":"# To do\n\n- test the client as well\n"}`,
			Suggestions: []permission.Update{permission.SetMode("session", "acceptEdits")},
		},
		{
			ToolName: "Bash\n? Read", DecisionReason: "a rule \x1b[31masks", Input: wire.JSON(`{"command":` + hostile + `,"Command":"uptime"}`),
			Suggestions: []permission.Update{permission.AddDirectories("userSettings", "/\x1b[2J\n  n  no", strings.Repeat("/long", 80))},
		},
	}
}

// askedQuestion is a question with options.
var askedQuestion = &clew.Question{
	Question: "Which database should the tests use?", Header: "Database", MultiSelect: true,
	Options: []clew.QuestionOption{
		{Label: "SQLite", Description: "one file, no server, and the one that the examples of the documentation use"},
		{Label: "Postgres \x1b[2J", Description: "what production has", Preview: "image: postgres:17\nports: [5432]"},
	},
}

// askedWorkspace has the file that is changed.
var askedWorkspace = ask.Workspace{Dir: "/repo", Read: func(path string) (string, error) {
	if strings.HasSuffix(path, "server.go") {
		return clitest.EditedFile, nil
	}
	return "", fs.ErrNotExist
}}

// askedScreen returns all questions as they are on a screen of this width, with or without boxes of
// lines.
func askedScreen(columns int, color, lines bool) string {
	v := ask.Surface{Columns: columns, Rows: 60, Color: color, Lines: lines}
	var b strings.Builder
	for _, req := range askedRequests() {
		s := describe(ask.New(req, nil, askedWorkspace), v)
		b.WriteString(s.page(s.longestPrompt()) + s.prompt() + "\n\n")
		if req.ToolName == "Edit" {
			b.WriteString(s.explanation() + s.repeat() + s.prompt() + "\n\n")
		}
	}
	s := describeChoice(askedQuestion, v, "question 1 of 2")
	b.WriteString(s.page(1) + s.choicePrompt(askedQuestion) + "\n")
	return b.String()
}

func TestAskScreen(t *testing.T) {
	t.Parallel()
	for _, width := range clitest.Widths {
		golden.Check(t, fmt.Sprintf("screens/ask_%d", width), askedScreen(width, false, true))
		golden.Check(t, fmt.Sprintf("screens/ask_%d_color", width), askedScreen(width, true, true))
	}
}

// Whatever the width, no line of a question is wider than the screen.
func TestAskScreenFits(t *testing.T) {
	t.Parallel()
	for _, width := range soak.Widths(1) {
		lines := width%2 == 0
		text, painted := askedScreen(width, false, lines), askedScreen(width, true, lines)
		paintedLines := strings.Split(painted, "\n")
		for i, line := range strings.Split(text, "\n") {
			if n := tty.Width(strings.TrimRight(line, " ")); n > width && width >= minColumns {
				t.Fatalf("%d columns: a line has %d: %q", width, n, line)
			}
			if tty.PaintedWidth(paintedLines[i]) != tty.Width(line) {
				t.Fatalf("%d columns: %q in color is %q", width, line, paintedLines[i])
			}
		}
	}
}

// replyTo returns the result of answers to a question, and the user's view after the first.
func replyTo(t *testing.T, req *permission.Request, answers ...string) (result permission.Result, seen string) {
	t.Helper()
	user := &promptedUser{answers: func(i int) string { return answers[i] }, read: askedWorkspace.Read}
	result = user.askAt(t, 80, 40, req)
	if len(user.wanted) != len(answers) {
		t.Errorf("%q: %d answers were wanted", answers, len(user.wanted))
	}
	return result, strings.Join(user.said[user.wanted[0]+1:], "")
}

// A no can have a reason, in the same line or in the next one, and the model hears it.
func TestAskReasonReachesTheModel(t *testing.T) {
	t.Parallel()
	const alone, why = "The user denied this.", "The user denied this: use port 0, not 9000"
	for _, tt := range []struct {
		answers []string
		want    string
	}{
		{[]string{"n"}, alone}, {[]string{"NO"}, alone}, {[]string{"e", ""}, alone}, {[]string{"no, because"}, "The user denied this: because"},
		{[]string{"no, because use port 0, not 9000"}, why}, {[]string{"n use port 0, not 9000"}, why},
		{[]string{"e", "use port 0, not 9000"}, why}, {[]string{"e use port 0, not 9000"}, why},
		{[]string{"\u212a\u212a x", "n"}, alone}, // shorter in lower case
		{[]string{"nothing", "?", "", "No, Because  use port 0, not 9000 "}, why},
	} {
		result, _ := replyTo(t, askedRequests()[1], tt.answers...)
		want := &permission.DenyResult{Message: tt.want, Classification: permission.ClassificationReject}
		if diff := cmp.Diff(permission.Result(want), result); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.answers, diff)
		}
	}
}

// A question mark explains the answers that there are, and the question is asked again.
func TestAskExplains(t *testing.T) {
	t.Parallel()
	req := askedRequests()[1]
	for _, key := range []string{"?", "help"} {
		_, seen := replyTo(t, req, key, "n")
		for _, want := range []string{"  yes     allows this call.", "  always  allows", "  no      denies", "  e       denies", "Ctrl-C", "Allow it? "} {
			if !strings.Contains(seen, want) {
				t.Errorf("%s: it does not say %q:\n%s", key, want, seen)
			}
		}
	}
	req.Suggestions = nil
	if _, seen := replyTo(t, req, "?", "n"); strings.Contains(seen, "always") {
		t.Errorf("it explains an answer that is none:\n%s", seen)
	}
}

// If there are rules, always shows and does nothing else: a mode or a directory allows more than the call.
func TestAskAlwaysAddsOnlyRules(t *testing.T) {
	t.Parallel()
	req := askedRequests()[1]
	rules := req.Suggestions
	req.Suggestions = slices.Concat(
		[]permission.Update{permission.SetMode("session", "acceptEdits")}, rules,
		[]permission.Update{permission.AddDirectories("session", "/srv")})
	s := describe(ask.New(req, nil, askedWorkspace), ask.Surface{Columns: 80, Rows: 40})
	text := "  a  always     adds Bash(go test:*) to .claude/settings.local.json\n  n  no\n"
	if !strings.Contains(s.all(), text) {
		t.Errorf("it does not say %q:\n%s", text, s.all())
	}
	for _, word := range []string{"a", "always"} {
		result, _ := replyTo(t, req, word)
		want := &permission.AllowResult{UpdatedPermissions: rules, Classification: permission.ClassificationPermanent}
		if !reflect.DeepEqual(result, permission.Result(want)) {
			t.Errorf("%s: the result is %+v, want %+v", word, result, want)
		}
	}
}

// Always shows the rule as it is written, and the file that it is written to, and does just that.
func TestAskAlwaysShowsTheRule(t *testing.T) {
	t.Parallel()
	for to, where := range map[permission.Destination]string{
		"localSettings": "to .claude/settings.local.json", "projectSettings": "to .claude/settings.json",
		"userSettings": "to your settings.json", "session": "for this session",
	} {
		req := askedRequests()[1]
		req.Suggestions = []permission.Update{
			permission.AddRules(to, "allow", permission.Rule{ToolName: "Bash", RuleContent: "go test:*"}),
		}
		s := describe(ask.New(req, nil, askedWorkspace), ask.Surface{Columns: 80, Rows: 40})
		if want := "  a  always     adds Bash(go test:*) " + where + "\n"; !strings.Contains(s.all(), want) {
			t.Errorf("it does not say %q:\n%s", want, s.all())
		}
		result, _ := replyTo(t, req, "a")
		want := &permission.AllowResult{UpdatedPermissions: req.Suggestions, Classification: permission.ClassificationPermanent}
		if !reflect.DeepEqual(result, permission.Result(want)) {
			t.Errorf("the result is %+v, want %+v", result, want)
		}
	}
}
