// Package hookedit edits the text of the agent's settings file. It adds and removes a hook, and
// sets a member. Everything else keeps its text: what was added and is removed again leaves no trace.
package hookedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Hook is a command that the agent runs at an event.
type Hook struct {
	Event   string // such as "PermissionRequest"
	Command string
	Timeout int // seconds
}

// command is the form of a hook in the settings.
type command struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// matcher is the form of an event's entry in the settings.
type matcher struct {
	Matcher string    `json:"matcher"`
	Hooks   []command `json:"hooks"`
}

// Add returns the settings with the hook, for all tools. They are the same if they have it already.
func Add(settings string, h Hook) (string, error) {
	if strings.TrimSpace(settings) == "" {
		return laidOut(Add("{}", h))
	}
	if removed, err := Remove(settings, h); err != nil || removed != settings {
		return settings, err
	}
	added, err := json.Marshal(matcher{"*", []command{{"command", h.Command, h.Timeout}}})
	if err != nil {
		return "", err
	}
	top, err := object(settings)
	if err != nil {
		return "", err
	}
	hooks, err := object(valueOr(top, "hooks", "{}"))
	if err != nil {
		return "", err
	}
	list, err := parse(valueOr(hooks, h.Event, "[]"), '[')
	if err != nil {
		return "", fmt.Errorf("the hooks for %s are not a list", h.Event)
	}
	newList := "[" + string(added) + "]"
	switch {
	case len(list.parts) > 0:
		newList = list.add("", string(added))
	case valueOr(hooks, h.Event, "") != "":
		newList = list.fill(string(added))
	case len(hooks.parts) == 0 && valueOr(top, "hooks", "") != "":
		return top.set("hooks", hooks.fill(member(h.Event, newList))), nil
	}
	return top.set("hooks", hooks.set(h.Event, newList)), nil
}

// Remove returns the settings without the hook. They are the same if they don't have it. A list or
// an object that becomes empty is removed as well, unless it was there before Add.
func Remove(settings string, h Hook) (string, error) {
	if strings.TrimSpace(settings) == "" {
		return settings, nil
	}
	top, err := object(settings)
	if err != nil {
		return "", err
	}
	hooks, err := object(valueOr(top, "hooks", "{}"))
	if err != nil {
		return "", err
	}
	list, err := parse(valueOr(hooks, h.Event, "[]"), '[')
	if err != nil {
		return "", fmt.Errorf("the hooks for %s are not a list", h.Event)
	}
	left, found := list, false
	for i := len(list.parts) - 1; i >= 0; i-- {
		rest, has, err := without(list.value(i), h.Command)
		if err != nil {
			return "", err
		}
		if has {
			found = true
			left = left.replace(i, rest)
		}
	}
	if !found {
		return settings, nil
	}
	at := slices.IndexFunc(hooks.parts, func(p part) bool { return p.name == h.Event })
	return top.set("hooks", hooks.replace(at, left.unlessEmpty()).unlessEmpty()), nil
}

// without removes a command from an event's entry in the settings. It returns "" if nothing is left.
func without(entry, text string) (rest string, found bool, err error) {
	members, err := object(entry)
	if err != nil {
		return "", false, err
	}
	value := valueOr(members, "hooks", "")
	if value == "" {
		return entry, false, nil
	}
	hooks, err := parse(value, '[')
	if err != nil {
		return "", false, errors.New("the hooks of the settings are not as the agent reads them")
	}
	left := hooks
	for i := len(hooks.parts) - 1; i >= 0; i-- {
		var c command
		if json.Unmarshal([]byte(hooks.value(i)), &c) == nil && c.Type == "command" && c.Command == text {
			left, found = left.replace(i, ""), true
		}
	}
	switch {
	case !found:
		return entry, false, nil
	case len(left.parts) == 0:
		return "", true, nil
	}
	return members.set("hooks", left.text), true, nil
}

// Member returns the value of a member of the settings, or "" if they don't have it.
func Member(settings, name string) (value string, err error) {
	if strings.TrimSpace(settings) == "" {
		return "", nil
	}
	top, err := object(settings)
	return valueOr(top, name, ""), err
}

// SetMember returns the settings with a value of a member, which is JSON, or without the member if
// the value is "".
func SetMember(settings, name, value string) (string, error) {
	if strings.TrimSpace(settings) == "" {
		return laidOut(SetMember("{}", name, value))
	}
	top, err := object(settings)
	if err != nil {
		return "", err
	}
	return top.set(name, value), nil
}

// laidOut returns settings that were empty before, on several lines.
func laidOut(settings string, err error) (string, error) {
	var b bytes.Buffer
	if err := errors.Join(err, json.Indent(&b, []byte(settings), "", "  ")); err != nil {
		return "", err
	}
	return b.String() + "\n", nil
}

// A container is the text of an object or a list, and the places of its parts.
type container struct {
	text  string
	open  int // after its bracket
	parts []part
	// emptied means that its only part was removed, which fill had added.
	emptied bool
}

// A part is a member of an object or an element of a list: text[start:end], with the value from
// value on.
type part struct {
	name              string
	start, value, end int
}

var errNoContainer = errors.New("another value is there")

// parse returns the parts of a text that starts with a bracket.
func parse(text string, bracket json.Delim) (container, error) {
	d := json.NewDecoder(strings.NewReader(text))
	if start, err := d.Token(); err != nil || start != bracket {
		return container{}, errNoContainer
	}
	at := func() int { // where the next token starts
		end := int(d.InputOffset())
		return end + len(text[end:]) - len(strings.TrimLeft(text[end:], " \t\r\n,:"))
	}
	c := container{text: text, open: int(d.InputOffset())}
	for d.More() {
		p := part{start: at()}
		if bracket == '{' {
			name, err := d.Token()
			if err != nil {
				return container{}, err
			}
			p.name = fmt.Sprint(name)
		}
		p.value = at()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return container{}, err
		}
		p.end = p.value + len(value)
		c.parts = append(c.parts, p)
	}
	if _, err := d.Token(); err != nil {
		return container{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return container{}, errNoContainer
	}
	return c, nil
}

// value returns the text of the value of a part.
func (c container) value(i int) string { return c.text[c.parts[i].value:c.parts[i].end] }

// unlessEmpty returns the text, or "" if it has no parts, unless it had none before fill.
func (c container) unlessEmpty() string {
	if len(c.parts) == 0 && !c.emptied {
		return ""
	}
	return c.text
}

// set returns the text of an object with a member in its place, or at the end, or without the member
// if the value is "".
func (c container) set(name, value string) string {
	i := slices.IndexFunc(c.parts, func(p part) bool { return p.name == name })
	switch {
	case i >= 0:
		return c.replace(i, value).text
	case value == "":
		return c.text
	}
	return c.add(name, value)
}

// replace returns the container with another value of a part, or without the part and its comma if
// the value is "". The places of the parts before i are right afterwards, and their number.
func (c container) replace(i int, value string) container {
	text, p := c.text, c.parts[i]
	if value != "" {
		c.text = text[:p.value] + value + text[p.end:]
		return c
	}
	switch {
	case i > 0:
		c.text = text[:c.parts[i-1].end] + text[p.end:]
	case len(c.parts) > 1:
		next := strings.TrimLeft(text[p.end:], " \t\r\n,") // the next part may have moved
		c.text = text[:p.start] + next
	case text[c.open:p.start] == " " && strings.HasPrefix(text[p.end:], " "):
		c.text, c.emptied = text[:c.open]+text[p.end+1:], true
	case p.start > c.open: // the only part, on its own lines
		c.text = text[:c.open] + strings.TrimLeft(text[p.end:], " \t\r\n")
	default:
		c.text = text[:c.open] + text[p.end:]
	}
	c.parts = slices.Delete(slices.Clone(c.parts), i, i+1)
	return c
}

// add returns the text with a part at the end, set off like the last one, and on several lines if
// that one starts a line.
func (c container) add(name, value string) string {
	if name != "" {
		value = member(name, value)
	}
	if len(c.parts) == 0 {
		return c.text[:c.open] + value + c.text[c.open:]
	}
	last := c.parts[len(c.parts)-1]
	before := c.text[:last.start]
	apart := before[len(strings.TrimRight(before, " \t\r\n")):]
	if at := strings.LastIndexByte(apart, '\n'); at >= 0 {
		value = indented(value, apart[at+1:])
	}
	return c.text[:last.end] + "," + apart + value + c.text[last.end:]
}

// fill returns the text of a container without parts, with a part. The blanks around the part show
// Remove that the container was there before.
func (c container) fill(part string) string {
	return c.text[:c.open] + " " + part + " " + c.text[c.open:]
}

// member returns the text of a member.
func member(name, value string) string {
	quoted, _ := json.Marshal(name) // a string
	return string(quoted) + ": " + value
}

// indented returns a part whose lines have an indentation, except for the first. The name stays.
func indented(text, indent string) string {
	name, value := "", text
	if strings.HasPrefix(text, `"`) {
		name, value, _ = strings.Cut(text, ": ")
		name += ": "
	}
	unit := "  "
	if strings.HasPrefix(indent, "\t") {
		unit = "\t"
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(value), indent, unit) != nil {
		return text
	}
	return name + b.String()
}

// object returns an object, each name of which it has once.
func object(text string) (container, error) {
	c, err := parse(text, '{')
	if err != nil {
		return container{}, errors.New("the settings are not a JSON object")
	}
	seen := map[string]bool{}
	for _, p := range c.parts {
		if seen[p.name] {
			return container{}, fmt.Errorf("the settings have the member %q twice", p.name)
		}
		seen[p.name] = true
	}
	return c, nil
}

func valueOr(c container, name, other string) string {
	for i, p := range c.parts {
		if p.name == name {
			return c.value(i)
		}
	}
	return other
}
