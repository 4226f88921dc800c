// Package hookedit edits the text of the agent's settings file. It adds and removes a hook, and
// sets a member. Everything else keeps its order and text, except for the spaces between members.
package hookedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/ask"
	"github.com/clewdev/clew/wire"
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

// matcher is what the settings have for an event.
type matcher struct {
	Matcher string    `json:"matcher"`
	Hooks   []command `json:"hooks"`
}

// Add returns the settings with the hook, for all tools. They are the same if they have it already.
func Add(settings string, h Hook) (string, error) {
	if strings.TrimSpace(settings) == "" {
		settings = "{}"
	}
	if removed, err := Remove(settings, h); err != nil || removed != settings {
		return settings, err
	}
	return edit(settings, h.Event, func(list []json.RawMessage) ([]json.RawMessage, error) {
		added, err := json.Marshal(matcher{"*", []command{{"command", h.Command, h.Timeout}}})
		return append(list, added), err
	})
}

// Remove returns the settings without the hook. They are the same if they don't have it.
func Remove(settings string, h Hook) (string, error) {
	if strings.TrimSpace(settings) == "" {
		return settings, nil
	}
	found := false
	edited, err := edit(settings, h.Event, func(list []json.RawMessage) ([]json.RawMessage, error) {
		var left []json.RawMessage
		for _, entry := range list {
			rest, has, err := without(entry, h.Command)
			if err != nil {
				return nil, err
			}
			found = found || has
			if rest != nil {
				left = append(left, rest)
			}
		}
		return left, nil
	})
	if err != nil || !found {
		return settings, err
	}
	return edited, nil
}

// without removes a command from what the settings have for an event. It returns nil if nothing is
// left.
func without(entry json.RawMessage, text string) (rest json.RawMessage, found bool, err error) {
	members, err := object(string(entry))
	if err != nil {
		return nil, false, err
	}
	i := slices.IndexFunc(members, func(m ask.Member) bool { return m.Name == "hooks" })
	if i < 0 {
		return entry, false, nil
	}
	var hooks, left []json.RawMessage
	if err := json.Unmarshal([]byte(members[i].Value), &hooks); err != nil {
		return nil, false, errors.New("the hooks of the settings are not as the agent reads them")
	}
	for _, hook := range hooks {
		var c command
		if json.Unmarshal(hook, &c) == nil && c.Type == "command" && c.Command == text {
			found = true
		} else {
			left = append(left, hook)
		}
	}
	if !found {
		return entry, false, nil
	}
	if len(left) == 0 {
		return nil, true, nil
	}
	members[i].Value = array(left)
	return json.RawMessage(join(members)), true, nil
}

// edit changes what the settings have for an event. A list that becomes empty is left out.
func edit(settings, event string, change func([]json.RawMessage) ([]json.RawMessage, error)) (string, error) {
	top, err := object(settings)
	if err != nil {
		return "", err
	}
	hooks, err := object(valueOr(top, "hooks", "{}"))
	if err != nil {
		return "", err
	}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(valueOr(hooks, event, "[]")), &list); err != nil {
		return "", fmt.Errorf("the hooks for %s are not a list", event)
	}
	if list, err = change(list); err != nil {
		return "", err
	}
	hooks = set(hooks, event, array(list), len(list) == 0)
	top = set(top, "hooks", join(hooks), len(hooks) == 0)
	return written(top)
}

// written returns the text of settings.
func written(top []ask.Member) (string, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(join(top)), "", "  "); err != nil {
		return "", err
	}
	return b.String() + "\n", nil
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
		settings = "{}"
	}
	top, err := object(settings)
	if err != nil {
		return "", err
	}
	return written(set(top, name, value, value == ""))
}

// object returns the members of an object, each name of which it has once.
func object(text string) ([]ask.Member, error) {
	members, err := ask.Members(wire.JSON(text))
	if err != nil {
		return nil, errors.New("the settings are not a JSON object")
	}
	seen := map[string]bool{}
	for _, m := range members {
		if seen[m.Name] {
			return nil, fmt.Errorf("the settings have the member %q twice", m.Name)
		}
		seen[m.Name] = true
	}
	return members, nil
}

func valueOr(members []ask.Member, name, other string) string {
	for _, m := range members {
		if m.Name == name {
			return m.Value
		}
	}
	return other
}

// set sets a member in its place, or at the end, or removes it.
func set(members []ask.Member, name, value string, remove bool) []ask.Member {
	i := slices.IndexFunc(members, func(m ask.Member) bool { return m.Name == name })
	switch {
	case remove && i >= 0:
		return slices.Delete(members, i, i+1)
	case remove:
		return members
	case i >= 0:
		members[i].Value = value
		return members
	}
	return append(members, ask.Member{Name: name, Value: value})
}

func join(members []ask.Member) string {
	parts := make([]string, len(members))
	for i, m := range members {
		name, _ := json.Marshal(m.Name) // it was JSON
		parts[i] = string(name) + ":" + m.Value
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func array(values []json.RawMessage) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = string(v)
	}
	return "[" + strings.Join(parts, ",") + "]"
}
