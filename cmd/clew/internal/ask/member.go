package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A Member is a member of an input, by its exact name. The value is JSON.
type Member struct {
	// Name is the name as it was written.
	Name string
	// Value is JSON.
	Value string
	// Replaced means that the diff of the question shows the value.
	Replaced bool
}

// Text returns a string as it is, and other values as JSON.
func (m Member) Text() string {
	var text string
	if strings.HasPrefix(m.Value, `"`) && json.Unmarshal([]byte(m.Value), &text) == nil {
		return text
	}
	return m.Value
}

var errNoObject = errors.New("it is not an object")

// Members returns all members of an object, in order, even those with the same name.
func Members(input wire.JSON) ([]Member, error) {
	decoder := json.NewDecoder(strings.NewReader(string(input)))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, errNoObject
	}
	var members []Member
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		members = append(members, Member{Name: fmt.Sprint(name), Value: string(value)})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	return members, nil
}

// Value returns the text of the last member with this exact name, the one in effect.
func Value(members []Member, name string) (text string, ok bool) {
	for _, m := range slices.Backward(members) {
		if m.Name == name {
			return m.Text(), true
		}
	}
	return "", false
}

// MainNames are the members that say most about a call, the most important one first.
var MainNames = []string{
	"command", "plan", "file_path", "notebook_path", "url", "query", "pattern", "path", "skill", "prompt",
}

// MainFirst moves the members with the most important name to the front, and returns the text of
// the one in effect.
func MainFirst(members []Member) (sorted []Member, text string) {
	for _, name := range MainNames {
		if text, ok := Value(members, name); ok {
			sorted = slices.Clone(members)
			slices.SortStableFunc(sorted, func(a, b Member) int {
				return boolOrder(b.Name == name) - boolOrder(a.Name == name)
			})
			return sorted, text
		}
	}
	return members, ""
}

// notebookChange describes the effect of a call on a cell.
func notebookChange(tool string, members []Member) (text string, ok bool) {
	path, ok := Value(members, "notebook_path")
	if tool != "NotebookEdit" || !ok {
		return "", false
	}
	mode, _ := Value(members, "edit_mode")
	if mode == "" {
		mode = "replace"
	}
	cell, _ := Value(members, "cell_id")
	return strings.TrimSpace(mode+" cell "+cell) + " of " + path, true
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}
