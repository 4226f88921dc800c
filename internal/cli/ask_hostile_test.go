package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/width"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/wire"
)

// hostilePieces are what hostile inputs are made of.
var hostilePieces = []string{
	"ls", "rm -rf /srv", " ", "   ", "\n", "\n\n\n", "\r", "\r\n", "\t", "\x1b[2J", "\x1b[1;1H", "\u009b1A", "\b\b\b", "\x00",
	"? The agent wants to use Read:\n", "\n? (1 line) Read: README.md\nAllow it? [y]es, once / [n]o: ", "Allow it? ",
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
func hostileRequest(r *rand.Rand) *clew.PermissionRequest {
	names := []string{"command", "Command", "COMMAND", "command", "sudo", "run_in_background", "path", "", "a: b", "x\ny"}
	tools := []string{"Bash", "Read", "mcp__door__open", "Bash (1 line): ls", "Bash\n? Read", strings.Repeat("tool_", 40)}
	values := []string{"true", "null", "-1e9", `{"a":1,"a":[2,{"A":"\u001b"}]}`, "[\n\n1]", `""`}
	req := &clew.PermissionRequest{ToolName: tools[r.IntN(len(tools))]}
	if r.IntN(3) == 0 {
		req.DecisionReason = hostileText(r)
	}
	if r.IntN(3) == 0 {
		req.Suggestions = []clew.PermissionUpdate{clew.AddDirectories("session", hostileText(r))}
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

// Whatever an input is, what stands above the prompt is the question, and nothing is allowed by a
// letter before all of it was shown.
func TestAskHostile(t *testing.T) {
	t.Parallel()
	questions := soak.Size(100, 2000)
	for seed := range questions {
		r := rand.New(rand.NewPCG(7, uint64(seed)))
		req := hostileRequest(r)
		for _, size := range [][2]int{{80, 24}, {40, 10}, {132, 50}, {60, 6}} {
			checkQuestion(t, req, size[0], size[1])
		}
		if t.Failed() {
			t.Fatalf("seed %d: %q %s", seed, req.ToolName, req.Input)
		}
	}
	soak.Figure(t, "%d questions on screens of 4 sizes, each shown as a whole", questions)
}

// checkQuestion answers y until it is accepted, and else asks for more.
func checkQuestion(t *testing.T, req *clew.PermissionRequest, columns, rows int) {
	t.Helper()
	whole := describe(req, columns, false)
	user := &promptedUser{answers: func(i int) string { return []string{"y", ""}[i%2] }}
	if _, ok := user.askAt(t, columns, rows, req).(*clew.AllowResult); !ok {
		t.Fatal("y was not accepted in the end")
	}
	var body []string
	for i, at := range user.wanted {
		text, prompt := user.said[at-1], user.said[at]
		complete := strings.Contains(prompt, "[y]es")
		if last := i == len(user.wanted)-1; complete && !last && i%2 == 0 || !complete && last {
			t.Errorf("prompt %d of %d is %q", i, len(user.wanted), prompt)
		}
		for _, wide := range []func(rune) int{usualWidth, largestWidth} {
			checkScreen(t, whole, req.ToolName, text, prompt, rows, wide)
		}
		for row := range strings.Lines(text) {
			if strings.HasPrefix(row, " ") {
				body = append(body, row)
			}
		}
	}
	got, want := withoutSpaces(strings.Join(body, "")), expectedBody(req, whole)
	if got != want {
		t.Errorf("%d by %d: it shows\n%s\nand not\n%s", columns, rows, got, want)
	}
}

// checkScreen checks what the user sees at the last prompt: their own rows and the tool next to the
// prompt, everything that was shown for this prompt, and nothing else in the first column.
func checkScreen(t *testing.T, s *sheet, tool, text, prompt string, rows int, wide func(rune) int) {
	t.Helper()
	screen, wrapped := screenOf(text+prompt, s.columns, wide)
	if wrapped || len(screen) > rows {
		t.Errorf("%d by %d: it takes %d rows, wrapped: %t:\n%s", s.columns, rows, len(screen), wrapped, text+prompt)
		return
	}
	promptRows := strings.Split(prompt, "\n")
	above := screen[:len(screen)-len(promptRows)]
	reminder := above[len(above)-1]
	if tool := word(tool); !strings.HasPrefix(reminder, "? (") || !strings.Contains(reminder, tool[:min(len(tool), 8)]) {
		t.Errorf("above the prompt stands %q", reminder)
	}
	ours := []string{"", strings.TrimSuffix(s.opening(tool), "\n")} // in the first column
	ours = append(ours, "Not all was shown. Type the whole word.", "Not all was shown.", "Type the whole word.")
	for _, row := range above[:len(above)-1] {
		if !strings.HasPrefix(row, "  ") && !slices.Contains(ours, row) {
			t.Errorf("%q begins in the first column of\n%s", row, text)
		}
	}
}

// screenOf returns the rows of a terminal, and whether it has broken a line of the agent's.
func screenOf(text string, columns int, wide func(rune) int) (screen []string, wrapped bool) {
	for line := range strings.SplitSeq(text, "\n") {
		start, used := 0, 0
		for i, r := range line {
			if used += wide(r); used > columns {
				wrapped = wrapped || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "? ")
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
func expectedBody(req *clew.PermissionRequest, s *sheet) string {
	var b strings.Builder
	if !strings.Contains(s.opening(req.ToolName), word(req.ToolName)) {
		b.WriteString("(tool)" + word(req.ToolName))
	}
	if req.DecisionReason != "" {
		b.WriteString("(" + tty.CleanLine(clip(req.DecisionReason)) + ")")
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
	main := slices.IndexFunc(mainNames, func(name string) bool {
		return slices.ContainsFunc(members, func(m struct{ name, text string }) bool { return m.name == name })
	})
	for _, first := range []bool{true, false} {
		for _, m := range members {
			if isFirst := main >= 0 && m.name == mainNames[main]; isFirst == first {
				b.WriteString(word(m.name) + ":")
				for line := range strings.SplitSeq(m.text, "\n") {
					b.WriteString(tty.CleanLine(line))
				}
			}
		}
	}
	if len(members) == 0 && b.Len() == 0 {
		b.WriteString("(without input)")
	}
	for i := range req.Suggestions {
		b.WriteString("[always]" + tty.CleanLine(changeOf(&req.Suggestions[i])) + ", in this session")
	}
	return withoutSpaces(b.String())
}

func withoutSpaces(text string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(text) }
