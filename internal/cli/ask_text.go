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
	"github.com/clewdev/clew/wire"
)

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
func describe(req *clew.PermissionRequest, v view, w workspace) *sheet {
	s := &sheet{view: v}
	tool := word(req.ToolName)
	members, err := membersOf(req.Input)
	members, subject := mainFirst(members)
	if change, ok := notebookChange(req.ToolName, members); ok {
		subject = change
	}
	s.head, s.subject = tool, tool
	if subject != "" {
		s.subject += ": " + tty.CleanLine(render.RelativePath(w.dir, subject))
	}
	if !s.headFits(tool) {
		s.add(0, "(tool) "+tool)
	}
	if req.DecisionReason != "" {
		s.add(0, "("+clip(req.DecisionReason)+")")
	}
	if err != nil {
		s.addText("input", string(req.Input))
	}
	s.addMembers(req, members, w)
	if len(s.rows) == 0 && s.head == tool {
		s.add(0, "(without input)")
	}
	if alwaysPossible(req) {
		s.addAlways(req.Suggestions)
	} else {
		s.offer(nil)
	}
	return s
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

// addMembers adds all members. It shows a change of a file as a diff, and the path of a file in the
// head of the question.
func (s *sheet) addMembers(req *clew.PermissionRequest, members []member, w workspace) {
	path, named := pathOf(req.ToolName, members)
	if named {
		head := s.head + " " + tty.CleanLine(render.RelativePath(w.dir, path))
		if named = s.headFits(head); named {
			s.head = head
		}
	}
	c := changeOfFile(req, members, w)
	for _, m := range members {
		switch {
		case named && m.name == pathNames[req.ToolName]:
		case !slices.Contains(c.replaced, m.name):
			s.addText(m.name, m.text())
		case m.name == c.replaced[0]:
			s.addChange(c)
		}
	}
	if len(c.replaced) == 0 {
		s.addChange(c)
	}
}

// addChange adds the change of a file, and why it is not told better.
func (s *sheet) addChange(c change) {
	if c.remark != "" {
		s.addStyled(tty.Dim, 0, "("+c.remark+")")
	}
	if c.diff == nil {
		return
	}
	s.addDiff(render.Options{}.FileDiff(c.diff))
	s.aside = fmt.Sprintf("+%d -%d", c.diff.Added, c.diff.Removed)
	if c.diff.Created {
		s.aside = fmt.Sprintf("new file, +%d", c.diff.Added)
	}
}
