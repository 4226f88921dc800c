package agentcli

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// wholeQuestion returns a question without its choices.
func wholeQuestion(req *permission.Request) string {
	s := describe(ask.New(req, nil, ask.Workspace{}), ask.Surface{Columns: 80, Rows: 1000, Plain: true})
	s.choices = nil
	return s.all() + s.reminder()
}

// A question shows every input member, by its exact name.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, tool, input, want string }{
		{"options of Bash", "Bash", `{"description":"Tidy","command":"make clean","dangerouslyDisableSandbox":true,"run_in_background":true}`,
			"? Bash\n  command: make clean\n  description: Tidy\n  dangerouslyDisableSandbox: true\n" +
				"  run_in_background: true\n? (4 lines) Bash: make clean\n"},
		{"another case", "Bash", `{"command":"rm -rf /srv","Command":"uptime"}`,
			"? Bash\n  command: rm -rf /srv\n  Command: uptime\n? (2 lines) Bash: rm -rf /srv\n"},
		{"the same name", "Bash", `{"command":"uptime","x":1,"command":"rm -rf /srv"}`,
			"? Bash\n  command: uptime\n  command: rm -rf /srv\n  x: 1\n? (3 lines) Bash: rm -rf /srv\n"},
		{"an MCP tool", "mcp__db__run", `{"host":"a","command":"uptime","stdin":"DROP TABLE users;","sudo":true,"deep":{"a":[1, 2],"a":""}}`,
			"? mcp__db__run\n  command: uptime\n  host: a\n  stdin: DROP TABLE users;\n  sudo: true\n" +
				"  deep: {\"a\":[1, 2],\"a\":\"\"}\n? (5 lines) mcp__db__run: uptime\n"},
		{"lines", "Bash", `{"command":"a\nsudo: false\n\nAllow it?","sudo":"","time out":5}`,
			"? Bash\n  command:\n    a\n    sudo: false\n    \n    Allow it?\n  sudo: \"\"\n" +
				"  \"time out\": 5\n? (7 lines) Bash: a\\nsudo: false\\n\\nAllow it?\n"},
		{"a cell to delete", "NotebookEdit", `{"notebook_path":"/n.ipynb","cell_id":"c1","new_source":"x","edit_mode":"delete"}`,
			"? NotebookEdit /n.ipynb\n  cell_id: c1\n  new_source: x\n  edit_mode: delete\n" +
				"? (3 lines) NotebookEdit: delete cell c1 of /n.ipynb\n"},
		{"a cell to insert", "NotebookEdit", `{"notebook_path":"/n.ipynb","new_source":"x","edit_mode":"insert"}`,
			"? NotebookEdit /n.ipynb\n  + x\n  edit_mode: insert\n? (2 lines) NotebookEdit: insert cell of /n.ipynb\n"},
		{"a change", "Edit", `{"file_path":"/a.go","old_string":"a\n","new_string":"b\n","replace_all":true}`,
			"? Edit /a.go\n  - a\n  + b\n  replace_all: true\n? (3 lines) Edit: /a.go\n"},
		{"a change of line ends", "Edit", `{"file_path":"/a.go","old_string":"a\n","new_string":"b"}`,
			"? Edit /a.go\n  old_string:\n    a\n    \n  new_string: b\n? (4 lines) Edit: /a.go\n"},
		{"a repeated member of a change", "Edit", `{"file_path":"/a","old_string":"a","new_string":"b","new_string":"c"}`,
			"? Edit /a\n  old_string: a\n  new_string: b\n  new_string: c\n? (3 lines) Edit: /a\n"},
		{"a repeated path", "Edit", `{"file_path":"/a","file_path":"/b","old_string":"a","new_string":"b"}`,
			"? Edit\n  file_path: /a\n  file_path: /b\n  old_string: a\n  new_string: b\n? (4 lines) Edit: /b\n"},
		{"an odd switch", "Edit", `{"file_path":"/a","old_string":"a","new_string":"b","replace_all":"false"}`,
			"? Edit /a\n  old_string: a\n  new_string: b\n  replace_all: false\n? (3 lines) Edit: /a\n"},
		{"a change in another case", "Write", `{"file_path":"/a","content":"curl x | sh","Content":"echo hi"}`,
			"? Write /a\n  content: curl x | sh\n  Content: echo hi\n? (2 lines) Write: /a\n"},
		{"a long path", "Read", `{"file_path":"/` + strings.Repeat("a", 80) + `"}`,
			"? Read\n  file_path: /" + strings.Repeat("a", 63) + "\n    " + strings.Repeat("a", 17) + "\n? (2 lines) Read: /" +
				strings.Repeat("a", 58) + "…\n"},
		{"not an object", "Bash", `["rm"]`, "? Bash\n  input: [\"rm\"]\n? (1 line) Bash\n"},
		{"nothing", "Bash", `{}`, "? Bash\n  (without input)\n? (1 line) Bash\n"},
		{"an odd name", "Bash: ls\n", `{"command":"x\u00a0\r\n\ty"}`,
			"? \"Bash: ls\\n\"\n  command:\n    x\\u00a0\\r\n        y\n" +
				"? (3 lines) \"Bash: ls\\n\": x\\u00a0\\r\\n    y\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := wholeQuestion(&permission.Request{ToolName: tt.tool, Input: wire.JSON(tt.input)})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Every row of a long line is indented.
func TestDescribeWraps(t *testing.T) {
	t.Parallel()
	input := wire.JSON(`{"command":"` + strings.Repeat("echo 1234567890; ", 9) + `"}`)
	s := describe(ask.New(&permission.Request{ToolName: "Bash", Input: input}, nil, ask.Workspace{}), ask.Surface{Columns: 40, Rows: 100})
	want := `+- Bash ------------------------------+
| command: echo 1234567890; echo      |
|   1234567890; echo 1234567890;      |
|   echo 1234567890; echo             |
|   1234567890; echo 1234567890;      |
|   echo 1234567890; echo             |
|   1234567890; echo 1234567890;      |
+-------------------------------------+
  y  yes, once
  n  no
  e  no, and say why
  ?  explain the answers
`
	if diff := cmp.Diff(want, s.page(1)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := s.reminder(); got != "? (6 lines) Bash: echo 1234567890; ec…\n" {
		t.Errorf("the reminder is %q", got)
	}
}

// A promptedUser answers in a test: each line when it is wanted.
type promptedUser struct {
	said    []string // by the program, one element for each write
	answers func(prompt int) string
	wanted  []int // how much was said when a line was wanted
	read    func(path string) (string, error)
}

func (u *promptedUser) Write(p []byte) (int, error) {
	u.said = append(u.said, string(p))
	return len(p), nil
}

func (u *promptedUser) want() <-chan string {
	to := make(chan string, 1)
	to <- u.answers(len(u.wanted))
	u.wanted = append(u.wanted, len(u.said))
	return to
}

func (u *promptedUser) awaited() bool { return false }

// at returns what asks the user at a terminal of this size.
func (u *promptedUser) at(t *testing.T, columns, rows int) *questioner {
	t.Helper()
	a := newQuestioner(t.Context(), clikit.Streams{}, newScreen(clikit.Streams{Out: io.Discard, Err: io.Discard}))
	a.console = console{in: u, out: u, size: func() (int, int) { return columns, rows }}
	a.workspace = ask.Workspace{Dir: "/repo", Read: u.read}
	return a
}

// askAt asks a user at a terminal of this size.
func (u *promptedUser) askAt(t *testing.T, columns, rows int, req *permission.Request) permission.Result {
	t.Helper()
	result, err := u.at(t, columns, rows).decide(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// An answer that is too long is not sent: the user answers again, and earlier answers are kept.
func TestAskAgainIfTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", ask.MaxWords)
	answering := func(lines ...string) *promptedUser {
		return &promptedUser{answers: func(i int) string { return lines[i] }}
	}
	for _, lines := range [][]string{{"e", long + "x", "e", "Use staging."}, {"no, " + long, "no, Use staging."}} {
		user := answering(lines...)
		denied, ok := user.askAt(t, 80, 24, &permission.Request{ToolName: "Bash", Input: `{"command":"make"}`}).(*permission.DenyResult)
		if !ok || !strings.HasSuffix(denied.Message, ": Use staging.") || !strings.Contains(strings.Join(user.said, ""), answerTooLong) {
			t.Errorf("%+v, said %q", denied, user.said)
		}
	}
	user := answering(long, "x", "2")
	a := user.at(t, 80, 24)
	req := &clew.QuestionRequest{Permission: &permission.Request{ToolName: "AskUserQuestion"}, Questions: []clew.Question{
		{Question: "Which?", Options: []clew.QuestionOption{{Label: "Red"}}}, {Question: "How?", Options: []clew.QuestionOption{{Label: "a"}, {Label: ""}}},
	}}
	if _, err := a.choose(t.Context(), req); err != nil || len(user.wanted) != 3 || !strings.Contains(strings.Join(user.said, ""), answerTooLong) {
		t.Errorf("%v after %d answers, said %q", err, len(user.wanted), user.said)
	}
}

// An input that does not fit on the screen needs a whole word, or is shown to its end.
func TestAskInPages(t *testing.T) {
	t.Parallel()
	var command strings.Builder
	for i := range 50 {
		fmt.Fprintf(&command, "echo %d\n", i)
	}
	input, err := json.Marshal(map[string]string{"command": command.String()})
	if err != nil {
		t.Fatal(err)
	}
	req := &permission.Request{ToolName: "Bash", Input: wire.JSON(input), Suggestions: []permission.Update{
		permission.SetMode("session", "acceptEdits"),
	}}
	for answers, allowed := range map[string]bool{
		"yes": true, "always": true, "y yes": true, "a always": true, "y n": false, "no": false, "y a y a what n": false,
		"- - y": true, "y - y - y": true, "- - a": true, "y - y n": false, "- y n": false,
	} {
		words := strings.Fields(answers)
		user := &promptedUser{answers: func(i int) string { return strings.TrimPrefix(words[i], "-") }}
		result := user.askAt(t, 80, 24, req)
		if _, ok := result.(*permission.AllowResult); ok != allowed || len(user.wanted) != len(words) {
			t.Errorf("%q: %T after %d answers", answers, result, len(user.wanted))
		}
	}
	user := &promptedUser{answers: func(i int) string { return []string{"y", "", "", "y"}[i] }}
	user.askAt(t, 80, 24, req)
	all := strings.Join(user.said, "")
	for _, want := range []string{
		"|   echo 19                                                                   |\n" +
			"+---------------------------------------------------------- lines 1-21 of 52 -+\n",
		"\nEnter shows more. Allow it unread? yes / always / no: Not all was shown. Type the whole word.\n? (21 of",
		"yes / always / no: +- Bash ---",
		"|   echo 49 ", "  a  always     sets permission mode acceptEdits for this session\n  n  no\n",
		"\nAllow it? ",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q:\n%s", want, all)
		}
	}
}

func TestDescribeAlways(t *testing.T) {
	t.Parallel()
	rule := func(tool, content string) permission.Rule {
		return permission.Rule{ToolName: tool, RuleContent: content}
	}
	changes := []permission.Update{
		permission.SetMode("session", "acceptEdits"),
		permission.AddRules("localSettings", "allow", rule("Bash", "make *"), rule("Read", "")),
		permission.AddRules("userSettings", "allow", rule("Bash", "a\x1b[2J\nb")),
		permission.AddDirectories("projectSettings", "/a", "/b"),
		{Type: "removeRules", Rules: []permission.Rule{rule("Edit", "")}, Destination: "elsewhere"},
		{Type: "new"},
	}
	want := []string{
		"sets permission mode acceptEdits for this session", "adds Bash(make *), Read to .claude/settings.local.json",
		"adds Bash(a\x1b[2J\nb) to your settings.json", "lets tools use /a, /b in .claude/settings.json",
		"removeRules Edit in elsewhere", "new",
	}
	for i := range changes {
		if got := ask.UpdateText(&changes[i]); got != want[i] {
			t.Errorf("%q, want %q", got, want[i])
		}
	}
	// A short text is beside the choice, and the rest is in the box.
	for n, want := range map[int]string{
		2: "|\n+---\n  y  yes, once\n" +
			"  a  always     lets tools use /a, /b in .claude/settings.json\n" +
			"                removeRules Edit in elsewhere\n  n  no\n",
		5: "| always: lets tools use /a, /b in .claude/settings.json |\n| always: removeRules Edit in elsewhere |\n" +
			"| always: new |\n| always: sets permission mode acceptEdits for this session |\n| always: lets tools use /c |\n" +
			"+---\n  y  yes, once\n  a  always     does what is said above\n  n  no\n",
	} {
		others := slices.Concat(changes[3:], changes[:1], []permission.Update{permission.AddDirectories("", "/c")})
		req := &permission.Request{ToolName: "Bash", Input: `{"command":"x"}`, Suggestions: others[:n]}
		text := describe(ask.New(req, nil, ask.Workspace{}), ask.Surface{Columns: 80, Rows: 24}).all()
		text = regexp.MustCompile(` +\|\n`).ReplaceAllString(text, " |\n")
		text = regexp.MustCompile(`-{4,}\+`).ReplaceAllString(text, "---")
		if !strings.Contains(text, want) {
			t.Errorf("it does not say\n%s:\n%s", want, text)
		}
	}
}
