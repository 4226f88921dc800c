// Package keymap holds the key table of both viewers and the chat.
package keymap

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Scope is a set of screens in which a key means something.
type Scope uint16

// The scopes.
const (
	InSessions Scope = 1 << iota // the session list
	InSession                    // a session's rows
	InRow                        // one row
	InPanel                      // a panel of a session
	InSearch                     // the search over all sessions
	InJobs                       // the job list
	InJob                        // a job
	InHelp
	InChat
	InQuestion // an agent's question, when it has the focus

	inLists  = InSessions | InSession | InRow | InPanel | InSearch | InJobs | InJob | InHelp
	inViewer = InSessions | InSession | InRow | InPanel | InJobs | InJob
	inAny    = inLists | InChat | InQuestion
)

// An Action is something that a key does. Settings name it.
type Action string

// The actions.
const (
	Down            Action = "down"
	Up              Action = "up"
	HalfDown        Action = "half-down"
	HalfUp          Action = "half-up"
	PageDown        Action = "page-down"
	PageUp          Action = "page-up"
	Top             Action = "top"
	Bottom          Action = "bottom"
	Open            Action = "open"
	Back            Action = "back"
	Close           Action = "close"
	NextTab         Action = "next-tab"
	PreviousTab     Action = "previous-tab"
	Fold            Action = "fold"
	FoldAll         Action = "fold-all"
	NextHunk        Action = "next-hunk"
	PreviousHunk    Action = "previous-hunk"
	NextGroup       Action = "next-group" // day, prompt or file
	PreviousGroup   Action = "previous-group"
	NextFailure     Action = "next-failure"
	PreviousFailure Action = "previous-failure"
	Find            Action = "find"
	NextMatch       Action = "next-match"
	PreviousMatch   Action = "previous-match"
	SearchAll       Action = "search"
	SearchThis      Action = "search-this"
	Preview         Action = "preview" // also the outline, and split diffs
	PreviewPlace    Action = "preview-place"
	Follow          Action = "follow"
	Tag             Action = "tag"
	Thinking        Action = "thinking"
	Agents          Action = "agents"
	Files           Action = "files"
	Context         Action = "context"
	Usage           Action = "usage"
	Branches        Action = "branches"
	OpenOutside     Action = "pager"
	Copy            Action = "copy"
	CopyMore        Action = "copy-more"
	Resume          Action = "resume"
	Continue        Action = "continue"
	Fork            Action = "fork"
	Browse          Action = "browse"
	Export          Action = "export"
	Rename          Action = "rename"
	Delete          Action = "delete"
	Inspect         Action = "inspect"
	ShowAll         Action = "all-projects"
	ShowJobs        Action = "jobs"
	AnswerJob       Action = "answer"
	OpenSession     Action = "session"
	Cancel          Action = "cancel"
	Retry           Action = "retry"
	Help            Action = "help"
	Palette         Action = "palette"
	Suspend         Action = "suspend"
	Quit            Action = "quit"
	Repaint         Action = "repaint"
)

// A Binding is a row in the key table.
type Binding struct {
	Action Action
	Keys   []string // as Bubble Tea names them
	Scope  Scope
	Text   string // its effect, for the help and the palette
	Hint   string // a word or two for the last line of the screen, or "" to leave it out there
}

// Bindings is the table of keys: help, palette, the last line of each screen, docs/program.md and
// the manual are made from it. A key that means different things on different screens has several rows.
var Bindings = slices.Concat(viewerBindings, chatBindings)

var viewerBindings = []Binding{
	{Down, []string{"j", "down"}, inLists, "move down", ""},
	{Up, []string{"k", "up"}, inLists, "move up", ""},
	{HalfDown, []string{"d", "ctrl+d"}, inLists, "move half a page down", ""},
	{HalfUp, []string{"u", "ctrl+u"}, inLists, "move half a page up", ""},
	{PageDown, []string{"space", "pgdown"}, inLists, "move a page down", ""},
	{PageUp, []string{"b", "pgup"}, inLists, "move a page up", ""},
	{Top, []string{"g", "home"}, inLists, "go to the beginning", ""},
	{Bottom, []string{"G", "end"}, inLists, "go to the end, and follow a session that grows", ""},
	{Open, []string{"enter", "l", "right"}, InSessions | InSearch, "open the session", "open"},
	{Open, []string{"enter", "l", "right"}, InSession, "unfold the row, then open it", "open"},
	{Open, []string{"enter", "l", "right"}, InPanel, "go to the row", "open"},
	{NextTab, []string{"enter", "l", "right"}, InRow, "next view of the row", "views"},
	{Open, []string{"enter", "l", "right"}, InJobs, "open the job", "open"},
	{Open, []string{"enter", "l", "right"}, InJob, "open the question, the changes or the session of the line", "open"},
	{Back, []string{"h", "left", "esc"}, InSession, "fold the row, then go back", "back"},
	{Back, []string{"h", "left", "esc"}, InRow | InPanel | InSearch | InJob | InHelp, "go back", "back"},
	{Back, []string{"h", "left", "esc"}, InJobs, "clear the filter, then go back", "back"},
	{Back, []string{"esc"}, InSessions, "clear the filter, then the choice of a project", "back"},
	{Close, []string{"q"}, inLists, "go back, or quit on the first screen", "quit"},
	{NextTab, []string{"tab"}, InSessions | InPanel, "next tab", ""},
	{PreviousTab, []string{"shift+tab"}, InSessions | InPanel, "previous tab", ""},
	{Fold, []string{"tab"}, InSession, "fold or unfold the row", "fold"},
	{FoldAll, []string{"shift+tab"}, InSession, "fold or unfold all rows", ""},
	{NextHunk, []string{"tab"}, InRow, "next change of a diff", ""},
	{PreviousHunk, []string{"shift+tab"}, InRow, "previous change of a diff", ""},
	{PreviousGroup, []string{"["}, InSessions, "previous day", ""},
	{NextGroup, []string{"]"}, InSessions, "next day", ""},
	{PreviousGroup, []string{"["}, InJobs, "previous group", ""},
	{NextGroup, []string{"]"}, InJobs, "next group", ""},
	{PreviousGroup, []string{"["}, InSession, "previous prompt", ""},
	{NextGroup, []string{"]"}, InSession, "next prompt", "prompts"},
	{PreviousGroup, []string{"["}, InRow | InPanel, "previous file", ""},
	{NextGroup, []string{"]"}, InRow | InPanel, "next file", ""},
	{PreviousFailure, []string{"{"}, InSession, "previous failure", ""},
	{NextFailure, []string{"}"}, InSession, "next failure", ""},
	{ShowAll, []string{"."}, InSessions, "sessions of this project, or of all projects", ""},
	{Find, []string{"/"}, InSessions | InJobs, "filter the list", "filter"},
	{Find, []string{"/"}, InSearch, "change the words", "words"},
	{Find, []string{"/"}, InSession | InRow | InPanel, "find a text; between slashes, a regular expression", "find"},
	{NextMatch, []string{"n"}, InSession | InRow, "next match", ""},
	{PreviousMatch, []string{"N"}, InSession | InRow, "previous match", ""},
	{SearchAll, []string{"ctrl+f"}, InSessions | InSession, "search the text of all sessions", "search all"},
	{SearchThis, []string{"S"}, InSession, "search for the same text in all sessions", ""},
	{Preview, []string{"p"}, InSessions, "show or hide the preview", ""},
	{PreviewPlace, []string{"P"}, InSessions, "move the preview", ""},
	{Preview, []string{"p"}, InSession, "show or hide the outline", ""},
	{Preview, []string{"p"}, InRow | InPanel, "a diff in one column, or side by side", ""},
	{Follow, []string{"F"}, InSession, "follow a session that grows, or stop", "follow"},
	{Tag, []string{"t"}, InSessions, "tag the session", ""},
	{Thinking, []string{"t"}, InSession, "show or hide thinking", ""},
	{Agents, []string{"a"}, InSession, "subagents and what they cost", "agents"},
	{Files, []string{"f"}, InSession, "files that were changed", "files"},
	{Context, []string{"x"}, InSession, "use of the context", "context"},
	{Usage, []string{"$"}, InSession, "tokens and cost", ""},
	{Branches, []string{"B"}, InSession, "parts that were rewound", ""},
	{OpenOutside, []string{"v"}, InSession | InRow | InPanel | InJob, "open in $EDITOR or $PAGER", ""},
	{ShowJobs, []string{"J"}, InSessions | InSession, "jobs of the fleet", ""},
	{AnswerJob, []string{"a"}, InJob, "answer a question of the job", "answer"},
	{Files, []string{"f"}, InJob, "changes of the job", "changes"},
	{OpenSession, []string{"o"}, InJob, "open its session", "session"},
	{Resume, []string{"r"}, InJob, "resume a lost or failed job", "resume"},
	{Retry, []string{"R"}, InJob, "restart a lost or failed job", "retry"},
	{Cancel, []string{"x"}, InJob, "cancel the job", "cancel"},
	{Delete, []string{"D"}, InJob, "remove a finished job", ""},
	{CopyMore, []string{"Y"}, InJobs | InJob, "copy the command that follows the job", ""},
	{Copy, []string{"y"}, InSessions | InSearch | InJobs | InJob, "copy the ID", ""},
	{CopyMore, []string{"Y"}, InSessions | InSearch, "copy the command that resumes the session", ""},
	{Copy, []string{"y"}, InSession | InRow | InPanel, "copy the row", ""},
	{CopyMore, []string{"Y"}, InSession | InRow | InPanel, "copy the row as Markdown", ""},
	{Resume, []string{"r"}, InSessions | InSession, "resume the session with claude", "resume"},
	{Continue, []string{"c"}, InSessions | InSession, "continue the session in clew chat", "chat"},
	{Fork, []string{"f"}, InSessions, "fork the session in clew chat", ""},
	{Browse, []string{"o"}, InSessions | InSession, "open as a page in the browser", ""},
	{Export, []string{"e"}, InSessions | InSession, "export as a page", "export"},
	{Rename, []string{"R"}, InSessions, "rename the session, or restore it from the trash", ""},
	{Delete, []string{"D"}, InSessions, "move the session to the trash", ""},
	{Inspect, []string{"i"}, InSessions, "facts about the session", ""},
	{Inspect, []string{"i"}, InSession, "the entry of the row, as it was written", ""},
	{Help, []string{"?"}, inLists, "list the keys", "help"},
	{Palette, []string{"ctrl+p"}, inViewer, "find an action by its name", ""},
	{Suspend, []string{"ctrl+z"}, inAny, "suspend", ""},
	{Quit, []string{"ctrl+c"}, inLists, "quit", ""},
	{Repaint, []string{"ctrl+l"}, inAny, "draw the screen again", ""},
}

// A Map is a table of keys that was checked, and possibly changed by the user.
type Map struct{ bindings []Binding }

// Default returns the unchanged key table.
func Default() *Map { return &Map{bindings: Bindings} }

// New returns the key table. changed replaces the keys of some actions, by action name. An action
// with an empty list gets no keys. It is an error if an action does not exist, or if a key would do
// two things on one screen.
func New(changed map[string][]string) (*Map, error) {
	k := &Map{bindings: slices.Clone(Bindings)}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		keys, found, fixed := changed[name], false, false
		for _, key := range keys {
			if !isKey(key) {
				return nil, fmt.Errorf("%s: unknown key %q", name, key)
			}
		}
		for i := range k.bindings {
			switch b := &k.bindings[i]; {
			case string(b.Action) != name:
			case b.Scope == InQuestion: // each question names its keys
				fixed = true
			default:
				b.Keys, found = keys, true
			}
		}
		switch {
		case !found && fixed:
			return nil, fmt.Errorf("the keys that answer a question can't be changed: %s", name)
		case !found:
			return nil, fmt.Errorf("unknown action %q", name)
		}
	}
	err := k.check()
	return k, err
}

// keyNames are the names of keys that type no character.
var keyNames = []string{
	"enter", "tab", "esc", "space", "backspace", "delete", "insert", "up", "down", "left", "right", "home", "end", "pgup", "pgdown",
}

// isKey reports whether a key has that name: a character or one of keyNames, with modifiers before it.
func isKey(name string) bool {
	for _, mod := range []string{"ctrl+", "alt+", "shift+"} {
		name = strings.TrimPrefix(name, mod)
	}
	if n, ok := strings.CutPrefix(name, "f"); ok && len(n) > 0 && len(n) < 3 && strings.Trim(n, "0123456789") == "" {
		return true
	}
	return utf8.RuneCountInString(name) == 1 || slices.Contains(keyNames, name)
}

// check returns an error if a key does two things on one screen.
func (k *Map) check() error {
	type place struct {
		key   string
		scope Scope
	}
	used := map[place]Action{}
	for _, b := range k.bindings {
		for _, key := range b.Keys {
			for scope := InSessions; scope <= InQuestion; scope <<= 1 {
				if b.Scope&scope == 0 {
					continue
				}
				if other, ok := used[place{key, scope}]; ok {
					return fmt.Errorf("the key %s can't be used for %s: it is used for %s", key, b.Action, other)
				}
				used[place{key, scope}] = b.Action
			}
		}
	}
	return nil
}

// Action returns the action of a key on a screen.
func (k *Map) Action(scope Scope, key string) (Action, bool) {
	for _, b := range k.bindings {
		if b.Scope&scope != 0 && slices.Contains(b.Keys, key) {
			return b.Action, true
		}
	}
	return "", false
}

// In returns the bindings for a screen.
func (k *Map) In(scope Scope) []Binding {
	var found []Binding
	for _, b := range k.bindings {
		if b.Scope&scope != 0 && len(b.Keys) > 0 {
			found = append(found, b)
		}
	}
	return found
}

// hintOrder lists the session actions by how often they are needed. A narrow screen has only room
// for the hints of the first ones, and of the help.
var hintOrder = []Action{
	Open, Back, Close, Find, NextGroup, Agents, Files, Context, Resume, Fold, Follow, SearchAll, Continue, Export, Help,
}

// Hints returns a screen's keys for its last line: "enter open  / filter". The last one opens the
// help, if there is one. The first screen can be left only with a key that quits.
func (k *Map) Hints(scope Scope, isFirst bool) []string {
	other := Close
	if isFirst {
		other = Back
	}
	shown := slices.DeleteFunc(k.In(scope), func(b Binding) bool { return b.Hint == "" || b.Action == other })
	if scope == InSession {
		slices.SortStableFunc(shown, func(a, b Binding) int {
			return slices.Index(hintOrder, a.Action) - slices.Index(hintOrder, b.Action)
		})
	}
	hints := make([]string, len(shown))
	for i, b := range shown {
		hints[i] = b.Keys[0] + " " + b.Hint
	}
	return hints
}

// KeyNames returns the keys of a binding for people: "j, ↓".
func (b Binding) KeyNames() string { return strings.Join(b.Keys, ", ") }

// KeyFor returns the first key of an action on a screen, or "" if it has none.
func (k *Map) KeyFor(scope Scope, a Action) string {
	for _, b := range k.bindings {
		if b.Action == a && b.Scope&scope != 0 && len(b.Keys) > 0 {
			return b.Keys[0]
		}
	}
	return ""
}

// Scopes are the screens with separate keys, in the order of the help.
var Scopes = []struct {
	Scope Scope
	Name  string
}{
	{InSessions, "Sessions"}, {InSession, "Session"}, {InRow, "Row"}, {InPanel, "Panels"}, {InSearch, "Search"},
	{InJobs, "Jobs"}, {InJob, "Job"},
	{InChat, "Chat"}, {InQuestion, "Questions"},
}

// ScopeName returns the name of a screen, or "".
func ScopeName(s Scope) string {
	for _, n := range Scopes {
		if n.Scope == s {
			return n.Name
		}
	}
	return ""
}

// A Section has the keys for a screen, or the keys that all screens of the viewer share.
type Section struct {
	Name     string
	Bindings []Binding
}

// Sections returns the table of keys in parts, for the help and the documentation.
func Sections() []Section {
	common := Section{Name: "All screens"}
	sections := make([]Section, len(Scopes))
	for i, n := range Scopes {
		sections[i].Name = n.Name
	}
	for _, b := range Bindings {
		if b.Scope&inViewer == inViewer {
			common.Bindings = append(common.Bindings, b)
			continue
		}
		for i, n := range Scopes {
			if b.Scope&n.Scope != 0 {
				sections[i].Bindings = append(sections[i].Bindings, b)
			}
		}
	}
	sections = slices.DeleteFunc(sections, func(s Section) bool { return len(s.Bindings) == 0 })
	return append([]Section{common}, sections...)
}
