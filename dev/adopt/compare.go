package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/clewdev/clew/cmd/clew/dev/record"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A work is one thing that is new.
type work struct{ subject, name string }

// A set holds names.
type set map[string]bool

// news returns what fresh has and old does not have, sorted.
func news(subject string, old, fresh set) []work {
	var list []work
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if !old[name] {
			list = append(list, work{subject, name})
		}
	}
	return list
}

// compare lists what a release declares and an older one does not. Tools and hook events are compared
// with this repository's own lists.
func compare(old, fresh *release) []work {
	before, after := declared(old.types), declared(fresh.types)
	return slices.Concat(
		news("tools", setOf(tooluse.BuiltIn()), literals(after, "BUILTIN_TOOL_NAMES")),
		news("hook events", setOf(wire.HookEvents()), literals(after, "HOOK_EVENTS")),
		news("control requests", subtypes(before), subtypes(after)),
		news("flags", flags(old.help), flags(fresh.help)),
		news("declarations that are gone", after, before),
		news("declarations", before, after),
	)
}

func setOf(names []string) set {
	s := set{}
	for _, name := range names {
		s[name] = true
	}
	return s
}

var (
	flagName    = regexp.MustCompile(`(?m)^\s+(?:-\w, )?(--[\w-]+)`)
	comment     = regexp.MustCompile(`(?s)/\*.*?\*/`)
	declaration = regexp.MustCompile(`^(?:export )?(?:declare )?(?:const|type|interface|function|class) (\w+)`)
	member      = regexp.MustCompile(`^\s*(?:readonly )?['"]?([\w$-]+)['"]?\??:`)
	literal     = regexp.MustCompile(`'([^'\s]+)'|"([^"\s]+)"`)
)

// flags returns the flags in a help text.
func flags(help string) set {
	s := set{}
	for _, found := range flagName.FindAllStringSubmatch(help, -1) {
		s[found[1]] = true
	}
	return s
}

// declared returns the members of the types in a file of declarations that has a member per line,
// as paths from their type, and the texts that a member can be, after an equals sign.
func declared(file string) set {
	s := set{}
	var path []string
	for line := range strings.Lines(comment.ReplaceAllString(file, "")) {
		line = strings.TrimRight(line, " \r\n")
		name := ""
		if found := declaration.FindStringSubmatch(line); found != nil {
			path, name = nil, found[1]
		} else if found := member.FindStringSubmatch(line); found != nil {
			name = found[1]
		}
		here := path
		if name != "" {
			here = append(slices.Clip(path), name)
			s[strings.Join(here, ".")] = true
		}
		for _, found := range literal.FindAllStringSubmatch(line, -1) {
			if text := found[1] + found[2]; text != name {
				s[strings.Join(here, ".")+"="+text] = true
			}
		}
		opened, closed := strings.Count(line, "{"), strings.Count(line, "}")
		for ; closed > opened && len(path) > 0; closed-- {
			path = path[:len(path)-1]
		}
		if opened > closed || len(here) == 1 && len(path) == 0 {
			path = here
		}
	}
	return s
}

// literals returns the texts of a declaration.
func literals(declared set, name string) set {
	s := set{}
	for key := range declared {
		if text, ok := strings.CutPrefix(key, name+"="); ok {
			s[text] = true
		}
	}
	return s
}

// subtypes returns the subtypes of control requests.
func subtypes(declared set) set {
	s := set{}
	for key := range declared {
		if request, text, ok := strings.Cut(key, ".subtype="); ok && strings.HasPrefix(request, "SDKControl") {
			s[text] = true
		}
	}
	return s
}

// framesOf returns the frames of the agent in the dialogues of a directory, one per line.
func framesOf(dir string) ([]byte, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no dialogues in %s", dir)
	}
	var frames []byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, line := range record.Parse(string(text)).Lines {
			if line.Direction == '<' {
				frames = append(append(frames, line.Text...), '\n')
			}
		}
	}
	return frames, nil
}

// inspected returns what the output of "clew inspect --json" reports.
func inspected(findings string) ([]work, error) {
	s := map[string]set{}
	add := func(subject, name string) {
		if s[subject] == nil {
			s[subject] = set{}
		}
		s[subject][name] = true
	}
	for line := range strings.Lines(findings) {
		var f struct {
			Type, Subtype, Problem string
			Known                  bool
			UnknownFields          []string `json:"unknown_fields"`
			UnknownBlocks          []string `json:"unknown_blocks"`
			UnknownEvent           string   `json:"unknown_event"`
			Misfits                []string
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return nil, fmt.Errorf("clew inspect: %w", err)
		}
		kind := strings.TrimSuffix(f.Type+"/"+f.Subtype, "/")
		if !f.Known {
			add("frames", kind)
		}
		for _, name := range f.UnknownFields {
			add("fields", kind+" "+name)
		}
		for _, name := range f.UnknownBlocks {
			add("blocks", name)
		}
		if f.UnknownEvent != "" {
			add("events", f.UnknownEvent)
		}
		if f.Problem != "" {
			add("problems", kind+": "+f.Problem)
		}
	}
	var list []work
	for _, subject := range slices.Sorted(maps.Keys(s)) {
		list = append(list, news(subject, nil, s[subject])...)
	}
	return list, nil
}

// newMembers returns the members in frames, at any depth, that older frames of the same kind do not
// have. Elements of a list are alike.
func newMembers(old, fresh []byte) []work {
	return news("members in recordings", members(old), members(fresh))
}

func members(frames []byte) set {
	s := set{}
	for line := range strings.Lines(string(frames)) {
		var value any
		if json.Unmarshal([]byte(line), &value) == nil {
			walk(s, wire.Decode([]byte(strings.TrimSpace(line))).Kind().String(), value)
		}
	}
	return s
}

func walk(s set, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			s[path+"."+name] = true
			walk(s, path+"."+name, inner)
		}
	case []any:
		for _, inner := range v {
			walk(s, path, inner)
		}
	}
}

// unknownEntries returns what package transcript does not know in the transcripts of a directory.
func unknownEntries(dir string) ([]work, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no transcripts in %s", dir)
	}
	s := set{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			e, err := transcript.DecodeEntry([]byte(strings.TrimSpace(line)))
			if err != nil {
				s[err.Error()] = true
			}
			for _, unknown := range e.Unknown {
				s[fmt.Sprintf("%s %s", unknown.Kind, unknown.Name)] = true
			}
		}
	}
	return news("in transcripts", nil, s), nil
}

// text returns the list as Markdown.
func text(old, fresh string, list []work) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Claude Code %s, beside %s\n", fresh, old)
	subject := ""
	for _, w := range list {
		if w.subject != subject {
			subject = w.subject
			fmt.Fprintf(&b, "\n## %s\n\n", strings.ToUpper(subject[:1])+subject[1:])
		}
		fmt.Fprintf(&b, "- [ ] %s\n", strings.ReplaceAll(w.name, "\n", "\n      "))
	}
	return b.String()
}
