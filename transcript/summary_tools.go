package transcript

import (
	"bytes"
	"strings"

	"github.com/clewdev/clew/internal/jsonlex"
)

// summaries holds, by the name of a tool, what writes the summary of a call. Where it writes nothing, one of the
// arguments has to do.
var summaries = map[string]func(*summarizer){
	"Read":         readSummary,
	"Write":        writeSummary,
	"Edit":         editSummary,
	"MultiEdit":    multiEditSummary,
	"LS":           func(s *summarizer) { s.path(s.first("path"), 2) },
	"NotebookRead": func(s *summarizer) { s.path(s.first("notebook_path"), 1) },
	"NotebookEdit": modeAndFile("edit_mode", "notebook_path"),
	"LSP":          modeAndFile("operation", "filePath"),

	"Bash":       pair("description", ": ", "command"),
	"PowerShell": pair("description", ": ", "command"),
	"Monitor":    monitorSummary,
	"REPL":       pair("description", ": ", "code"),
	"BashOutput": one("bash_id", "shell_id", "task_id"),
	"KillShell":  one("shell_id", "task_id"),
	"KillBash":   one("shell_id", "task_id"),
	"TaskOutput": one("task_id", "bash_id", "agentId"),
	"TaskStop":   one("task_id", "shell_id"),

	"Grep":       grepSummary,
	"Glob":       globSummary,
	"WebFetch":   webFetchSummary,
	"WebSearch":  func(s *summarizer) { s.quoted(s.first("query"), 40) },
	"ToolSearch": one("query"),

	"Task":     agentSummary,
	"Agent":    agentSummary,
	"Skill":    skillSummary,
	"Workflow": workflowSummary,

	"TodoWrite":   func(s *summarizer) { s.counted("todos", "item") },
	"TaskCreate":  one("subject"),
	"TaskUpdate":  taskUpdateSummary,
	"TaskGet":     func(s *summarizer) { s.taskID() },
	"TeamCreate":  pair("team_name", ": ", "description"),
	"TeamDelete":  one("team_name"),
	"SendMessage": sendMessageSummary,

	"AskUserQuestion": questionSummary,
	"ExitPlanMode":    planSummary,
	"SendUserMessage": one("message"),
	"Brief":           one("message"),
	"SendUserFile":    sendFileSummary,
	"SendFeedback":    pair("type", ": ", "title"),
	"ReportFindings":  func(s *summarizer) { s.counted("findings", "finding") },

	"CronCreate":       pair("cron", ": ", "prompt"),
	"CronDelete":       one("id"),
	"ScheduleWakeup":   wakeupSummary,
	"RemoteTrigger":    pair("action", " ", "trigger_id"),
	"PushNotification": one("message"),
	"EnterWorktree":    worktreeSummary,
	"ExitWorktree":     one("action"),

	"ListMcpResources":       one("server"),
	"ListMcpResourcesTool":   one("server"),
	"ReadMcpResource":        pair("server", ": ", "uri"),
	"ReadMcpResourceTool":    pair("server", ": ", "uri"),
	"ReadMcpResourceDir":     pair("server", ": ", "uri"),
	"ReadMcpResourceDirTool": pair("server", ": ", "uri"),
	"RefreshMcpTools":        one("server"),

	"Artifact":       artifactSummary,
	"Projects":       pair("method", " ", "path", "query"),
	"ClaudeDesign":   one("operation"),
	"ProposeGoal":    one("condition"),
	"propose_skills": func(s *summarizer) { s.counted("proposals", "skill") },
}

// one describes a call by the first of the members that is there.
func one(names ...string) func(*summarizer) {
	return func(s *summarizer) { s.add(s.first(names...), 50) }
}

// pair describes a call by two members, the second of which may have several names.
func pair(first, sep string, second ...string) func(*summarizer) {
	return func(s *summarizer) { s.joined(s.first(first), sep, s.first(second...), 60) }
}

// modeAndFile describes what a call does, and to which file.
func modeAndFile(mode, file string) func(*summarizer) {
	return func(s *summarizer) {
		s.add(s.first(mode), 50)
		path := s.first(file)
		if len(s.out) > 0 && path != nil {
			s.say(" - ")
		}
		s.path(path, 1)
	}
}

func readSummary(s *summarizer) {
	s.path(s.first("file_path"), 2)
	if len(s.out) == 0 {
		return
	}
	if limit := s.int("limit"); limit > 0 {
		from := max(s.int("offset"), 1)
		s.say(" - lines ")
		s.number(from)
		s.say("-")
		s.number(from + limit - 1)
	} else if pages := s.first("pages"); pages != nil {
		s.say(" - pages ")
		s.add(pages, 20)
	}
}

func writeSummary(s *summarizer) {
	s.path(s.first("file_path"), 2)
	if content := s.value("content"); len(s.out) > 0 && isText(content) {
		s.say(" - ")
		s.count(countLines(content), "line")
	}
}

func editSummary(s *summarizer) {
	s.path(s.first("file_path"), 2)
	before, after := s.value("old_string"), s.value("new_string")
	if len(s.out) == 0 || !isText(before) && !isText(after) {
		return
	}
	was, is := countLines(before), countLines(after)
	s.say(" - ")
	if was != is {
		s.number(int64(was))
		s.say(" -> ")
		s.number(int64(is))
		s.say(" lines")
		return
	}
	s.count(is, "line")
}

func multiEditSummary(s *summarizer) {
	s.path(s.first("file_path"), 2)
	if n, _ := s.elements(s.value("edits")); len(s.out) > 0 && n >= 0 {
		s.say(" - ")
		s.count(n, "edit")
	}
}

func monitorSummary(s *summarizer) {
	source := s.first("command")
	if source == nil {
		source = jsonlex.Lookup(s.value("ws"), 0, "url")
	}
	s.joined(s.first("description"), ": ", source, 60)
}

func grepSummary(s *summarizer) {
	glob := s.first("glob")
	if glob == nil || s.first("pattern") == nil {
		globSummary(s)
		return
	}
	s.quoted(s.first("pattern"), 30)
	s.say(" in ")
	s.add(glob, 50)
}

func globSummary(s *summarizer) {
	s.quoted(s.first("pattern"), 30)
	if path := s.first("path"); len(s.out) > 0 && path != nil {
		s.say(" in ")
		s.path(path, 1)
	}
}

func webFetchSummary(s *summarizer) {
	const longest = 2048
	url := s.text(s.first("url"), longest)
	_, rest, ok := bytes.Cut(url, []byte("://"))
	if end := bytes.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	authority, path := rest, []byte(nil)
	if slash := bytes.IndexByte(rest, '/'); slash >= 0 {
		authority, path = rest[:slash], rest[slash:]
	}
	if host := hostName(authority); ok && len(host) > 0 {
		s.out = append(append(s.out, host...), path...)
	} else {
		s.out = append(s.out, url...)
	}
	s.cut(50)
}

// hostName returns an authority without who and which port.
func hostName(authority []byte) []byte {
	host := authority[bytes.LastIndexByte(authority, '@')+1:]
	if colon := bytes.LastIndexByte(host, ':'); colon > bytes.IndexByte(host, ']') {
		host = host[:colon]
	}
	return host
}

// mcp describes a call of a tool of a server; name is what follows mcp__.
func (s *summarizer) mcp(name string) {
	server, tool, ok := strings.Cut(name, "__")
	if !ok {
		return
	}
	s.out = appendLine(s.out, []byte(server), 40)
	s.say(": ")
	s.out = appendLine(s.out, []byte(tool), 60)
	if value := s.foremost(); value != nil {
		s.say(" ")
		s.add(value, 40)
	}
}

// foremost returns the argument that tells most, or else the text that the model wrote first.
func (s *summarizer) foremost() []byte {
	if value := s.known(); value != nil {
		return value
	}
	for _, m := range s.members {
		if isText(m.value) {
			return m.value
		}
	}
	return nil
}

// quoted appends a text in quotation marks.
func (s *summarizer) quoted(value []byte, maxLen int) {
	if value == nil {
		return
	}
	s.say(`"`)
	s.add(value, maxLen)
	s.say(`"`)
}

// counted appends how many elements a list has.
func (s *summarizer) counted(name, noun string) {
	if n, _ := s.elements(s.value(name)); n >= 0 {
		s.count(n, noun)
	}
}
