package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A sheet is the text of a question, in rows that fit a terminal. Rows of the agent's text are
// indented, so that nothing that the agent asks for looks like a question.
type sheet struct {
	columns int
	color   bool
	head    string // a clean line that names the question
	rows    []string
	shown   int // how many rows were shown
}

// indents of the parts of a sheet
const (
	partIndent  = 2 // what the agent asks for, one part below the other
	valueIndent = 4 // the lines of a part
)

// add adds a line to the sheet. Its other rows are indented further.
func (s *sheet) add(indent int, line string) {
	s.addStyled(indent, line, func(row string) string { return row })
}

func (s *sheet) addStyled(indent int, line string, styled func(row string) string) {
	rows := tty.Break(tty.CleanLine(line), s.columns-1-indent-partIndent)
	for i, row := range rows {
		if i == 1 {
			indent += partIndent
		}
		if i < len(rows)-1 {
			row = strings.TrimRight(row, " ")
		}
		s.rows = append(s.rows, strings.Repeat(" ", indent)+styled(row))
	}
}

// addText adds a named text: on one line if it is one.
func (s *sheet) addText(name, text string) {
	name = word(name) + ":"
	switch {
	case text == "":
		s.add(partIndent, name+` ""`)
	case !strings.Contains(text, "\n"):
		s.add(partIndent, name+" "+text)
	default:
		s.add(partIndent, name)
		for line := range strings.SplitSeq(text, "\n") {
			s.add(valueIndent, line)
		}
	}
}

// next returns the next rows, of which rows fit on the screen.
func (s *sheet) next(rows int) string {
	page := s.rows[s.shown:min(s.shown+max(rows, 1), len(s.rows))]
	s.shown += len(page)
	return lines(page)
}

// complete reports whether the user has seen everything.
func (s *sheet) complete() bool { return s.shown == len(s.rows) }

// reminder returns a row that says next to the prompt what the question is about, and how much of
// it the user has seen.
func (s *sheet) reminder() string {
	count := strconv.Itoa(len(s.rows)) + " lines"
	switch {
	case !s.complete():
		count = fmt.Sprintf("%d of %d lines", s.shown, len(s.rows))
	case len(s.rows) == 1:
		count = "1 line"
	}
	return tty.FitWidest("? ("+count+") "+s.head, s.columns-1) + "\n"
}

func lines(rows []string) string {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(row + "\n")
	}
	return b.String()
}

// A member is a member of an input, by its exact name. The value is JSON.
type member struct{ name, value string }

// text returns a string as it is, and other values as JSON.
func (m member) text() string {
	var text string
	if strings.HasPrefix(m.value, `"`) && json.Unmarshal([]byte(m.value), &text) == nil {
		return text
	}
	return m.value
}

var errNoObject = errors.New("it is not an object")

// membersOf returns all members of an object, in order, even those with the same name.
func membersOf(input wire.JSON) ([]member, error) {
	decoder := json.NewDecoder(strings.NewReader(string(input)))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, errNoObject
	}
	var members []member
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		members = append(members, member{fmt.Sprint(name), string(value)})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	return members, nil
}

// valueOf returns the text of the last member with this exact name, which is the one that counts.
func valueOf(members []member, name string) (text string, ok bool) {
	for _, m := range slices.Backward(members) {
		if m.name == name {
			return m.text(), true
		}
	}
	return "", false
}

// mainNames are the members that say most about a call, the most important one first.
var mainNames = []string{
	"command", "plan", "file_path", "notebook_path", "url", "query", "pattern", "path", "skill", "prompt",
}

// mainFirst moves the members with the most important name to the front, and returns the text of
// the one that counts.
func mainFirst(members []member) (sorted []member, text string) {
	for _, name := range mainNames {
		if text, ok := valueOf(members, name); ok {
			sorted = slices.Clone(members)
			slices.SortStableFunc(sorted, func(a, b member) int {
				return boolOrder(b.name == name) - boolOrder(a.name == name)
			})
			return sorted, text
		}
	}
	return members, ""
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// describe returns a question about a tool use: everything in its input, and what the answer
// "always" changes.
func describe(req *clew.PermissionRequest, columns int, color bool) *sheet {
	s := &sheet{columns: columns, color: color}
	tool := word(req.ToolName)
	if !strings.Contains(s.opening(req.ToolName), tool) { // it is too long
		s.add(partIndent, "(tool) "+tool)
	}
	if req.DecisionReason != "" {
		s.add(partIndent, "("+clip(req.DecisionReason)+")")
	}
	members, err := membersOf(req.Input)
	if err != nil {
		s.addText("input", string(req.Input))
	}
	members, subject := mainFirst(members)
	if change, ok := notebookChange(req.ToolName, members); ok {
		subject = change
	}
	s.head = tool
	if subject != "" {
		s.head += ": " + tty.CleanLine(subject)
	}
	s.addMembers(req, members)
	if len(s.rows) == 0 {
		s.add(partIndent, "(without input)")
	}
	if alwaysPossible(req) {
		s.addAlways(req.Suggestions)
	}
	return s
}

// opening returns the first row of a question about a tool use.
func (s *sheet) opening(tool string) string {
	return tty.FitWidest("? The agent wants to use "+word(tool)+":", s.columns-1) + "\n"
}

// word returns the name of a tool or a member. It quotes one that is not a word.
func word(name string) string {
	isOther := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.'
	}
	if name == "" || strings.ContainsFunc(name, isOther) {
		return tty.CleanLine(strconv.Quote(name))
	}
	return name
}

// notebookChange says what a call does to a cell.
func notebookChange(tool string, members []member) (text string, ok bool) {
	path, ok := valueOf(members, "notebook_path")
	if tool != "NotebookEdit" || !ok {
		return "", false
	}
	mode, _ := valueOf(members, "edit_mode")
	if mode == "" {
		mode = "replace"
	}
	cell, _ := valueOf(members, "cell_id")
	return strings.TrimSpace(mode+" cell "+cell) + " of " + path, true
}

// addMembers adds all members. It shows a change of a file as a diff.
func (s *sheet) addMembers(req *clew.PermissionRequest, members []member) {
	diff, replaced := changeOfFile(req, members)
	for _, m := range members {
		switch {
		case !slices.Contains(replaced, m.name):
			s.addText(m.name, m.text())
		case m.name == replaced[0]:
			s.addDiff(diff)
		}
	}
}

// changeOfFile returns the diff of a call, and the members that it replaces. It returns no diff if
// the diff would not tell everything: if a member is repeated or not a string, if another one
// differs from it only in case, or if only one of two texts ends its last line.
func changeOfFile(req *clew.PermissionRequest, members []member) (diff *transcript.FileDiff, replaced []string) {
	replaced = map[string][]string{
		"Edit": {"old_string", "new_string"}, "Write": {"content"}, "NotebookEdit": {"new_source"},
	}[req.ToolName]
	ended := 0
	for _, name := range replaced {
		i := slices.IndexFunc(members, func(m member) bool { return strings.EqualFold(m.name, name) })
		if i < 0 || members[i].name != name || !strings.HasPrefix(members[i].value, `"`) ||
			slices.ContainsFunc(members[i+1:], func(m member) bool { return strings.EqualFold(m.name, name) }) {
			return nil, nil
		}
		ended += boolOrder(strings.HasSuffix(members[i].text(), "\n"))
	}
	diff, ok := transcript.InputDiff(req.ToolName, req.Input)
	if !ok || len(diff.Hunks) == 0 || ended == 1 && len(replaced) == 2 {
		return nil, nil
	}
	return diff, replaced
}

func (s *sheet) addDiff(diff *transcript.FileDiff) {
	style := render.Options{Color: s.color}
	for _, h := range diff.Hunks {
		head := fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, line := range slices.Concat([]string{head}, h.Lines) {
			s.addStyled(valueIndent, line, func(row string) string { return style.DiffRow(line, row) })
		}
	}
}

// alwaysPossible reports whether the answer "always" is one.
func alwaysPossible(req *clew.PermissionRequest) bool {
	return len(req.Suggestions) > 0 && !req.SuppressAlwaysAllowRule
}

// addAlways adds what the answer "always" changes: often more than the question is about, and
// sometimes for later sessions.
func (s *sheet) addAlways(changes []clew.PermissionUpdate) {
	for i := range changes {
		s.add(partIndent, "[always] "+changeOf(&changes[i])+destinationText(changes[i].Destination))
	}
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
