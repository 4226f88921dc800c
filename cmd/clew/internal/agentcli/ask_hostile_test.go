package agentcli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/width"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// hostilePieces are the building blocks of hostile inputs.
var hostilePieces = []string{
	"ls", "rm -rf /srv", " ", "   ", "\n", "\n\n\n", "\r", "\r\n", "\t", "\x1b[2J", "\x1b[1;1H", "\u009b1A", "\b\b\b", "\x00",
	"? Read README.md\n", "\n? (1 line) Read: README.md\nAllow it? [y]es, once / [n]o: ", "Allow it? ", "\n+- Read README.md -------+\n",
	"\n| x |\n", "  y  yes, once\n", "\n+----+\n  y  yes, once\n  n  no\nAllow it? ", "|", "+-", "- ", "+ ", "1  -  ",
	"\nEnter shows more. Allow it unread? yes / no: ", "\n  command: ls\n", "  sudo: false", "? (1 line) Bash: ls",
	"世界", "ｆｕｌｌ", "é", "e\u0301\u0301\u0301", "👩\u200d💻", "🇩🇪🇫🇷", "❤\ufe0f", "αβγδ", "“”…─│", "\u200b\u200d", "\u202e",
	"\u2028", "\u00a0", "\u3000", "\ufe0f", "\u2800", "\U000e0041", "\xff", "\\n", "\"", "…", "(9 lines)", ": ",
}

// hostileText returns a random text. Some are long.
func hostileText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		piece := hostilePieces[r.IntN(len(hostilePieces))]
		repeated := 1
		if r.IntN(4) == 0 {
			repeated = r.IntN(120)
		}
		b.WriteString(strings.Repeat(piece, repeated))
	}
	return b.String()
}

// hostileRequest returns a request with random members, some with the same names but for their
// case.
func hostileRequest(r *rand.Rand) *permission.Request {
	names := []string{"command", "Command", "COMMAND", "command", "sudo", "run_in_background", "path", "", "a: b", "x\ny"}
	tools := []string{"Bash", "Read", "mcp__door__open", "Bash (1 line): ls", "Bash\n? Read", strings.Repeat("tool_", 40)}
	values := []string{"true", "null", "-1e9", `{"a":1,"a":[2,{"A":"\u001b"}]}`, "[\n\n1]", `""`}
	req := &permission.Request{ToolName: tools[r.IntN(len(tools))]}
	if r.IntN(3) == 0 {
		req.DecisionReason = hostileText(r)
	}
	if r.IntN(3) == 0 {
		req.Suggestions = []permission.Update{permission.AddDirectories("session", hostileText(r))}
	}
	var members []string
	for range r.IntN(6) {
		name, value := names[r.IntN(len(names))], quotedText(hostileText(r))
		if r.IntN(5) == 0 {
			name = hostileText(r)
		}
		if r.IntN(4) == 0 {
			value = values[r.IntN(len(values))]
		}
		members = append(members, quotedText(name)+":"+value)
	}
	req.Input = wire.JSON("{" + strings.Join(members, ",") + "}")
	return req
}

func quotedText(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// hostileEdit returns a request to change a file, and the contents of the file.
func hostileEdit(r *rand.Rand) (req *permission.Request, file string) {
	before, after := hostileText(r), hostileText(r)
	file = hostileText(r) + before + hostileText(r)
	path := quotedText("/repo/" + []string{"a.go", "b/c.go", "+-", hostileText(r)}[r.IntN(4)])
	req = hostileRequest(r)
	req.ToolName = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}[r.IntN(4)]
	old, new := quotedText(before), quotedText(after)
	members := map[string]string{
		"Edit":         `"file_path":` + path + `,"old_string":` + old + `,"new_string":` + new,
		"Write":        `"content":` + new + `,"file_path":` + path,
		"MultiEdit":    `"file_path":` + path + `,"edits":[{"old_string":` + old + `,"new_string":` + new + `}]`,
		"NotebookEdit": `"notebook_path":` + path + `,"new_source":` + new + `,"cell_id":"cell-0"`,
	}[req.ToolName]
	if r.IntN(2) == 0 {
		members += `,"replace_all":` + []string{"true", "false", "1"}[r.IntN(3)]
	}
	if rest := strings.TrimPrefix(string(req.Input), "{"); rest != "}" && r.IntN(3) == 0 {
		members += "," + strings.TrimSuffix(rest, "}")
	}
	if req.ToolName == "NotebookEdit" {
		file = `{"cells":[{"source":` + quotedText(file) + `}]}`
	}
	req.Input = wire.JSON("{" + members + "}")
	return req, file
}

// Whatever an input is, what stands above the prompt is the question, and nothing is allowed by a
// letter before all of it was shown.
func TestAskHostile(t *testing.T) {
	t.Parallel()
	questions := soak.Size(40, 2000)
	for seed := range questions {
		r := rand.New(rand.NewPCG(7, uint64(seed)))
		req, file := hostileRequest(r), ""
		if seed%2 == 0 {
			req, file = hostileEdit(r)
		}
		w := ask.Workspace{Dir: "/repo", Read: func(string) (string, error) { return file, nil }}
		if seed%8 == 0 {
			w.Read = func(string) (string, error) { return "", fs.ErrNotExist }
		}
		sizes := [][2]int{{80, 24}, {40, 10}, {132, 50}, {60, 6}, {1 + r.IntN(200), 4 + r.IntN(40)}, {1 + r.IntN(40), 4 + r.IntN(40)}}
		for _, size := range sizes {
			checkQuestion(t, req, w, ask.Surface{Columns: size[0], Rows: size[1]})
			if t.Failed() {
				t.Fatalf("seed %d at %d by %d: %q %s", seed, size[0], size[1], req.ToolName, req.Input)
			}
		}
	}
	soak.Figure(t, "%d questions on screens of 6 sizes, each shown as a whole", questions)
}

// At any width, a question fits and has the same text.
func TestAskWidths(t *testing.T) {
	t.Parallel()
	for seed := range 1 {
		r := rand.New(rand.NewPCG(8, uint64(seed)))
		req, file := hostileEdit(r)
		w := ask.Workspace{Dir: "/repo", Read: func(string) (string, error) { return file, nil }}
		for _, columns := range soak.Widths(1) {
			checkQuestion(t, req, w, ask.Surface{Columns: columns, Rows: 24})
			if t.Failed() {
				t.Fatalf("seed %d at %d columns: %q %s", seed, columns, req.ToolName, req.Input)
			}
		}
	}
}

// checkQuestion answers y until it is accepted, and else asks for more.
func checkQuestion(t *testing.T, req *permission.Request, w ask.Workspace, v ask.Surface) {
	t.Helper()
	whole := describe(ask.New(req, nil, w), v)
	user := &promptedUser{answers: func(i int) string { return []string{"y", ""}[i%2] }, read: w.Read}
	if _, ok := user.askAt(t, v.Columns, v.Rows, req).(*permission.AllowResult); !ok {
		t.Fatal("y was not accepted in the end")
	}
	want, got := whole.Body(0, len(whole.Text)), []string(nil)
	agents := map[string]bool{}
	for _, row := range want {
		agents[row] = true
	}
	for i, at := range user.wanted {
		text, prompt := user.said[at-1], user.said[at]
		complete := strings.HasPrefix(strings.ReplaceAll(prompt, "\n", ""), "Allow") && !strings.Contains(prompt, "unread")
		if last := i == len(user.wanted)-1; complete && !last && i%2 == 0 || !complete && last {
			t.Errorf("prompt %d of %d is %q", i, len(user.wanted), prompt)
		}
		for _, wide := range []func(rune) int{usualWidth, largestWidth} {
			checkScreen(t, whole, agents, ask.Word(req.ToolName), text+prompt, prompt, wide)
		}
		for row := range strings.Lines(text) {
			if row = strings.TrimSuffix(row, "\n"); len(got) < len(want) && row == want[len(got)] {
				got = append(got, row)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%d by %d: (-want +got)\n%s", v.Columns, v.Rows, diff)
	}
	checkTold(t, req, whole)
}

// checkScreen checks the user's view at the last prompt: a row that names the tool, the agent's
// text in its place, and no other row that is not ours. body holds the rows with the agent's text.
func checkScreen(t *testing.T, s *sheet, body map[string]bool, tool, text, prompt string, wide func(rune) int) {
	t.Helper()
	screen, wrapped := screenOf(text, s.Columns, wide)
	const least, narrow, roomy = 4, 10, 24 // rows around a prompt, columns that some rows need, and those that sentences need
	room := max(s.Surface.Rows, strings.Count(prompt, "\n")+least)
	if s.Columns >= narrow && (wrapped || len(screen) > room && s.Columns >= roomy) {
		t.Errorf("it takes %d rows, wrapped: %t:\n%s", len(screen), wrapped, text)
		return
	}
	tool = tool[:max(min(8, s.Columns-22, len(tool)), 0)]
	named := strings.HasPrefix(text, "+- "+tool) || strings.HasPrefix(text, "? "+tool) || strings.Contains(text, ") "+tool) ||
		strings.Contains(text, "\n? "+tool) || s.Columns < narrow
	if !named {
		t.Errorf("nothing names %s in\n%s", tool, text)
	}
	agents := "  "
	if s.Boxed() {
		agents = "| "
	}
	ours := slices.Concat(s.ours("Not all was shown. Type the whole word.", 0), s.choices)
	for row := range strings.Lines(strings.TrimSuffix(text, prompt)) {
		row = strings.TrimSuffix(row, "\n")
		switch {
		case slices.Contains(ours, row), strings.HasPrefix(row, "+-"), strings.HasPrefix(row, "?"), row == "…":
		case !strings.HasPrefix(row, agents) || !body[row]:
			t.Errorf("%q is not in its place in\n%s", row, text)
		}
	}
}

// checkTold checks that a question has everything of its input.
func checkTold(t *testing.T, req *permission.Request, s *sheet) {
	t.Helper()
	var b strings.Builder
	for _, row := range s.Text {
		b.WriteString(row.Painted)
	}
	got := withoutSpaces(b.String())
	always := ""
	for i := range req.Suggestions {
		always += withoutSpaces(tty.CleanLine(ask.UpdateText(&req.Suggestions[i])))
	}
	switch choices := withoutSpaces(strings.Join(s.choices, "")); {
	case always == "", strings.Contains(choices, "aalways"+always+"nno"):
		always = ""
	default:
		always = "always:" + always
	}
	if ask.ChangeNames[req.ToolName] == nil {
		if want := expectedBody(req, s) + always; got != want {
			t.Errorf("it shows\n%s\nand not\n%s", got, want)
		}
		return
	}
	if !strings.Contains(got, always) {
		t.Errorf("it shows\n%s\nand not what always changes: %s", got, always)
	}
}

// screenOf returns the rows on a terminal, and whether it broke one of the agent's lines.
func screenOf(text string, columns int, wide func(rune) int) (screen []string, wrapped bool) {
	for line := range strings.SplitSeq(text, "\n") {
		start, used := 0, 0
		for i, r := range line {
			if used += wide(r); used > columns {
				wrapped = wrapped || len(line) > 0 && strings.Contains(" ?|+", line[:1])
				screen = append(screen, line[start:i])
				start, used = i, wide(r)
			}
		}
		screen = append(screen, line[start:])
	}
	return screen, wrapped
}

func usualWidth(r rune) int { return tty.Width(string(r)) }

// largestWidth is for terminals that draw ambiguous characters and symbols in two columns, and
// marks by themselves.
func largestWidth(r rune) int {
	kind := width.LookupRune(r).Kind()
	ambiguous := kind == width.EastAsianAmbiguous || kind == width.EastAsianWide || kind == width.EastAsianFullwidth
	if r >= 0x80 && (ambiguous || unicode.Is(unicode.So, r)) {
		return 2
	}
	return 1
}

// expectedBody returns the input in the order of a question, without spaces.
func expectedBody(req *permission.Request, s *sheet) string {
	var b strings.Builder
	if !s.HeadFits(ask.Word(req.ToolName)) {
		b.WriteString("(tool)" + ask.Word(req.ToolName))
	}
	if req.DecisionReason != "" {
		b.WriteString("(" + tty.CleanLine(clikit.Clip(req.DecisionReason)) + ")")
	}
	var members []struct{ name, text string }
	decoder := json.NewDecoder(strings.NewReader(string(req.Input)))
	_, _ = decoder.Token()
	for decoder.More() {
		name, _ := decoder.Token()
		var value json.RawMessage
		_ = decoder.Decode(&value)
		var text string
		if json.Unmarshal(value, &text) != nil || string(value) == "null" {
			text = string(value)
		} else if text == "" {
			text = `""`
		}
		members = append(members, struct{ name, text string }{fmt.Sprint(name), text})
	}
	main := slices.IndexFunc(ask.MainNames, func(name string) bool {
		return slices.ContainsFunc(members, func(m struct{ name, text string }) bool { return m.name == name })
	})
	_, named := strings.CutPrefix(s.Head, ask.Word(req.ToolName)+" ")
	for _, first := range []bool{true, false} {
		for _, m := range members {
			if named && m.name == ask.PathNames[req.ToolName] {
				continue
			}
			if isFirst := main >= 0 && m.name == ask.MainNames[main]; isFirst == first {
				b.WriteString(ask.Word(m.name) + ":")
				for line := range strings.SplitSeq(m.text, "\n") {
					b.WriteString(tty.CleanLine(line))
				}
			}
		}
	}
	if len(members) == 0 && b.Len() == 0 {
		b.WriteString("(without input)")
	}
	return withoutSpaces(b.String())
}

func withoutSpaces(text string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(text) }

// Nor does it by its questions.
func TestHostileQuestions(t *testing.T) {
	const evil = "owned \x1b]0;owned\x07\x1b[2J\u009b1A\u202egnp.exe\u2066\u2028\r\n\x00"
	clitest.CheckHarmless(t, "a question", describeChoice(&clew.Question{
		Question: evil, Options: []clew.QuestionOption{{Label: evil, Description: evil, Preview: evil}},
	}, ask.Surface{Columns: 80, Rows: 24}, "").all())
	for _, input := range []map[string]string{{"command": evil}, {"plan": evil}, {"other": evil}, {
		"file_path": evil, "old_string": evil, "new_string": evil + "!",
	}} {
		text, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"Bash", "Edit", evil} {
			clitest.CheckHarmless(t, "a request", wholeQuestion(&permission.Request{ToolName: tool, Input: wire.JSON(text), DecisionReason: evil}))
		}
	}
}

// The same holds for questions docked in a chat, on any terminal.
func TestHostileDockedQuestions(t *testing.T) {
	t.Parallel()
	const evil = "owned \x1b]0;owned\x07\x1b[2J\u009b1A\u202egnp.exe\u2066\u2028\r\n\x00"
	input, err := json.Marshal(map[string]string{"command": evil, "file_path": evil, evil: evil})
	if err != nil {
		t.Fatal(err)
	}
	req := &permission.Request{ToolName: "Edit" + evil, Input: wire.JSON(input), DecisionReason: evil, Suggestions: []permission.Update{
		permission.AddRules("localSettings", "allow", permission.Rule{ToolName: evil, RuleContent: evil}),
	}}
	q := ask.New(req, nil, ask.Workspace{Read: func(string) (string, error) { return evil, nil }})
	clitest.CheckHarmless(t, "a change", q.Always[0].Text)
	if q.Rule != "" {
		t.Errorf("a rule that can't be shown as it is can be edited: %q", q.Rule)
	}
	choice := &clew.Question{Question: evil, Header: evil, Options: []clew.QuestionOption{{Label: evil, Preview: evil}}}
	for _, columns := range soak.Widths(1) {
		v := ask.Surface{Columns: columns}
		for _, sheet := range []*ask.Sheet{q.Sheet(v), ask.ChoiceSheet(choice, v)} {
			for _, row := range append(sheet.Body(0, len(sheet.Text)), sheet.Top("question 1 of 2"), sheet.Bottom("lines 1-2 of 3")) {
				clitest.CheckHarmless(t, "a row", row)
				if tty.Width(row) >= max(columns, 8) {
					t.Fatalf("%d columns: %q", columns, row)
				}
			}
		}
	}
}
