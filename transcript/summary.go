package transcript

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// ToolSummary describes a tool call in one line, such as "b/c.go - 3 lines" for an Edit. If the
// input contains nothing to show, or is not a JSON object, it returns the name of the tool.
func ToolSummary(name string, input wire.JSON) string { return ToolSummaryIn("", name, input) }

// ToolSummaryIn is like [ToolSummary], but shows whole paths, those below the directory dir relative
// to it, and up to 200 characters of commands and other texts. dir is the working directory of the
// session, or "" to do as [ToolSummary].
func ToolSummaryIn(dir, name string, input wire.JSON) string {
	s := summarizers.Get().(*summarizer) //nolint:forcetypeassert // nothing else is in there
	defer s.release()
	s.dir = dir
	if s.read(input) {
		s.write(name)
	}
	if len(s.out) == 0 {
		return Truncate(name, 100)
	}
	return string(s.out)
}

var summarizers = sync.Pool{New: func() any { return new(summarizer) }}

// A summarizer writes the summary of one call. It is kept and used again, so that a summary costs
// one allocation.
type summarizer struct {
	lexer   jsonlex.Lexer
	dir     string // the working directory, or ""
	data    []byte // the input
	names   []byte // those of the members, one behind the other
	members []member
	scratch []byte
	out     []byte
}

type member struct{ name, value []byte }

// release gives s back, without the memory of a large input.
func (s *summarizer) release() {
	const keep = 64 << 10
	if cap(s.data) > keep {
		*s = summarizer{}
	}
	s.dir = ""
	s.lexer.Reset(nil)
	clear(s.members)
	s.data, s.names, s.members, s.out = s.data[:0], s.names[:0], s.members[:0], s.out[:0]
	summarizers.Put(s)
}

// read finds an input's members. It returns false if the input is not an object.
func (s *summarizer) read(input wire.JSON) bool {
	s.data = append(s.data, input...)
	l := &s.lexer
	l.Reset(s.data)
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		start := len(s.names)
		s.names = append(s.names, key...)
		s.members = append(s.members, member{s.names[start:], l.Skip()})
	}
	l.End()
	return l.Err() == nil
}

// write writes the summary: by the rule for the tool, else by its most informative argument.
func (s *summarizer) write(name string) {
	if describe := summaries[name]; describe != nil {
		describe(s)
	} else if tool, ok := strings.CutPrefix(name, "mcp__"); ok {
		s.mcp(tool)
	}
	if len(s.out) == 0 {
		s.argument()
	}
}

// value returns the JSON text of a member, or nil.
func (s *summarizer) value(name string) []byte {
	for i := len(s.members) - 1; i >= 0; i-- {
		if string(s.members[i].name) == name {
			return s.members[i].value
		}
	}
	return nil
}

// first returns the first of the members that has a text.
func (s *summarizer) first(names ...string) []byte {
	for _, name := range names {
		if value := s.value(name); isText(value) || isNumber(value) {
			return value
		}
	}
	return nil
}

// isText reports whether value is a string with something in it.
func isText(value []byte) bool { return len(value) > 2 && value[0] == '"' }

// isNumber reports whether value is a number, which some models write where a string is meant.
func isNumber(value []byte) bool { return len(value) > 0 && (value[0] == '-' || value[0]-'0' < 10) }

// int returns a member that is a whole number, or 0.
func (s *summarizer) int(name string) int64 {
	s.lexer.Reset(s.value(name))
	n := s.lexer.Int()
	if s.lexer.Err() != nil {
		return 0
	}
	return n
}

// text returns what value stands for, at least as far as maxLen runes and one more go: a command
// can be long, and only its beginning shows. It is valid until the next call.
func (s *summarizer) text(value []byte, maxLen int) []byte {
	if len(value) == 0 || value[0] != '"' {
		return value
	}
	const longestRune = len(`\ud83d\ude00`)
	if end := longestRune * (maxLen + 2); end < len(value) {
		s.scratch = append(append(s.scratch[:0], value[:wholeEscapes(value, end)]...), '"')
		value = s.scratch
	}
	s.lexer.Reset(value)
	return s.lexer.Bytes()
}

// wholeEscapes returns where to cut a JSON string, at end or shortly after it, so that no escape is
// cut in two.
func wholeEscapes(value []byte, end int) int {
	i := 1
	for i < end {
		switch {
		case value[i] != '\\':
			i++
		case value[i+1] == 'u':
			i += len(`\u0000`)
		default:
			i += len(`\n`)
		}
	}
	return i
}

// say appends a word of ours.
func (s *summarizer) say(words ...string) {
	for _, word := range words {
		s.out = append(s.out, word...)
	}
}

// number appends n.
func (s *summarizer) number(n int64) { s.out = strconv.AppendInt(s.out, n, 10) }

// count appends how many of something there are.
func (s *summarizer) count(n int, noun string) {
	s.number(int64(n))
	s.say(" ", noun)
	if n != 1 {
		s.say("s")
	}
}

// add appends the text of value, cut to maxLen runes.
func (s *summarizer) add(value []byte, maxLen int) {
	s.out = appendLine(s.out, s.text(value, maxLen), maxLen)
}

// joined appends two texts with sep between them, if both are there, and cuts all to maxLen runes.
func (s *summarizer) joined(first []byte, sep string, second []byte, maxLen int) {
	s.out = append(s.out, s.text(first, maxLen)...)
	if len(first) > 0 && len(second) > 0 {
		s.say(sep)
	}
	s.out = append(s.out, s.text(second, maxLen)...)
	s.cut(maxLen)
}

// cut makes a line of at most maxLen runes from the text appended so far.
func (s *summarizer) cut(maxLen int) {
	s.scratch = appendLine(s.scratch[:0], s.out, maxLen)
	s.out, s.scratch = s.scratch, s.out
}

// most returns how many runes of a text are shown: more if the working directory is known.
func (s *summarizer) most(short int) int {
	if s.dir != "" {
		return 200
	}
	return short
}

// path appends the last n segments of a path or, if the working directory is known, all of it.
func (s *summarizer) path(value []byte, n int) {
	const longest = 4096
	text := s.text(value, longest)
	if s.dir != "" {
		s.out = appendLine(s.out, belowDir(s.dir, text), s.most(0))
		return
	}
	segments := bytes.FieldsFunc(text, separator(value))
	for i, segment := range segments[max(0, len(segments)-n):] {
		if i > 0 {
			s.say("/")
		}
		s.out = appendLine(s.out, segment, 80)
	}
}

// known returns the most informative argument, if one has a well-known name.
func (s *summarizer) known() []byte {
	for _, name := range []string{"name", "path", "file", "query", "command"} {
		if value := s.value(name); isText(value) {
			return value
		}
	}
	return nil
}

// argument appends the most informative argument, or else the first text by name.
func (s *summarizer) argument() {
	if value := s.known(); value != nil {
		s.add(value, 50)
		return
	}
	var least member
	for _, m := range s.members {
		if isText(m.value) && (least.value == nil || bytes.Compare(m.name, least.name) < 0) {
			least = m
		}
	}
	s.add(least.value, 40)
}

// elements counts the elements of a list, and returns the first one. It returns -1 for a value that
// is not a list.
func (s *summarizer) elements(value []byte) (n int, first []byte) {
	if len(value) == 0 || value[0] != '[' {
		return -1, nil
	}
	s.lexer.Reset(value)
	for ok := s.lexer.FirstElem(); ok; ok = s.lexer.NextElem() {
		if element := s.lexer.Skip(); n == 0 {
			first = element
		}
		n++
	}
	return n, first
}

// countLines counts the lines of a JSON string. A line break at the end does not start another
// line.
func countLines(value []byte) int {
	if !isText(value) {
		return 0
	}
	lines, last := 0, 0
	for i := 1; ; {
		next := bytes.IndexByte(value[i:], '\\')
		if next < 0 {
			break
		}
		i += next + 2
		if value[i-1] == 'n' {
			lines, last = lines+1, i
		}
	}
	if last < len(value)-1 {
		lines++
	}
	return lines
}

// agentSummary writes "Explore - Find the logger".
func agentSummary(s *summarizer) {
	s.add(s.first("subagent_type"), 40)
	task := s.first("description", "prompt")
	if len(s.out) > 0 && task != nil {
		s.say(" - ")
	}
	s.add(task, 40)
}

// skillSummary writes "/review main.go".
func skillSummary(s *summarizer) {
	skill := s.text(s.first("skill", "command", "name"), 60)
	if len(skill) == 0 {
		return
	}
	if skill[0] != '/' {
		s.say("/")
	}
	s.out = append(s.out, skill...)
	s.cut(60)
	if args := s.first("args"); args != nil {
		s.say(" ")
		s.add(args, 50)
	}
}

// workflowSummary writes the name of the workflow or of its script.
func workflowSummary(s *summarizer) {
	if s.add(s.first("name", "title", "description"), 50); len(s.out) > 0 {
		return
	}
	if s.path(s.first("scriptPath"), 1); len(s.out) > 0 {
		return
	}
	if run := s.first("resumeFromRunId"); run != nil {
		s.say("resume ")
		s.add(run, 40)
	}
}

// taskUpdateSummary writes "#3 completed -> scout".
func taskUpdateSummary(s *summarizer) {
	s.taskID()
	for _, part := range []struct{ prefix, name string }{{"", "status"}, {"-> ", "owner"}} {
		value := s.first(part.name)
		if value == nil {
			continue
		}
		if len(s.out) > 0 {
			s.say(" ")
		}
		s.say(part.prefix)
		s.add(value, 40)
	}
}

// taskID appends "#3".
func (s *summarizer) taskID() {
	if id := s.first("taskId"); id != nil {
		s.say("#")
		s.add(id, 20)
	}
}

// sendMessageSummary knows two forms: one with type, recipient and content, and a newer one with to
// and message, which is a text or an object with a type.
func sendMessageSummary(s *summarizer) {
	to, message := s.first("recipient", "to"), s.first("summary", "content", "message")
	kind := s.first("type")
	if kind == nil {
		kind = jsonlex.Lookup(s.value("message"), 0, "type")
	}
	switch {
	case string(kind) == `"shutdown_request"` && to != nil:
		s.say("Shutdown ")
		s.add(to, 40)
	case string(kind) == `"shutdown_response"`:
		s.say("Shutdown response")
	case string(kind) == `"broadcast"` || string(to) == `"*"`:
		s.say("Broadcast: ")
		s.add(message, 30)
	case to != nil:
		s.say("To ")
		s.add(to, 40)
		s.say(": ")
		if message == nil {
			message = kind
		}
		s.add(message, 30)
	}
}

// questionSummary writes the first question.
func questionSummary(s *summarizer) {
	_, question := s.elements(s.value("questions"))
	if question = jsonlex.Lookup(question, 0, "question"); isText(question) {
		s.add(question, 60)
	}
}

// planSummary describes a plan by its first line, without the marks of a heading.
func planSummary(s *summarizer) {
	const longest = 200
	plan := s.text(s.first("plan"), longest)
	plan = bytes.TrimLeft(plan, "# \t\r\n")
	line, _, _ := bytes.Cut(plan, []byte("\n"))
	if s.out = appendLine(s.out, bytes.TrimSpace(line), 60); len(s.out) == 0 {
		s.path(s.first("planFilePath"), 1)
	}
}

// sendFileSummary writes "report.pdf and 2 more".
func sendFileSummary(s *summarizer) {
	n, file := s.elements(s.value("files"))
	if !isText(file) {
		file = s.first("file_path", "path")
	}
	s.path(file, 1)
	if len(s.out) > 0 && n > 1 {
		s.say(" and ")
		s.number(int64(n - 1))
		s.say(" more")
	}
}

// wakeupSummary writes "in 60s: check the build".
func wakeupSummary(s *summarizer) {
	if seconds := s.int("delaySeconds"); seconds > 0 {
		s.say("in ")
		s.number(seconds)
		s.say("s")
	} else if string(s.value("stop")) == "true" {
		s.say("stop")
	}
	reason := s.first("reason", "prompt")
	if len(s.out) > 0 && reason != nil {
		s.say(": ")
	}
	s.add(reason, 50)
}

// worktreeSummary writes the name of the worktree, or else the end of its path.
func worktreeSummary(s *summarizer) {
	if s.add(s.first("name"), 50); len(s.out) == 0 {
		s.path(s.first("path"), 2)
	}
}

// artifactSummary writes the action, and the title, address or file.
func artifactSummary(s *summarizer) {
	s.add(s.first("action"), 20)
	title, path := s.first("title", "url"), s.first("file_path")
	if len(s.out) > 0 && (title != nil || path != nil) {
		s.say(" - ")
	}
	if title == nil {
		s.path(path, 1)
		return
	}
	s.add(title, 50)
}

// summaries holds, by the name of a tool, what writes the summary of a call. Where it writes
// nothing, one of the arguments has to do.
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
	"SetGoal":        one("condition"),
	"propose_skills": func(s *summarizer) { s.counted("proposals", "skill") },
}

// one describes a call by the first of the members that is there.
func one(names ...string) func(*summarizer) {
	return func(s *summarizer) { s.add(s.first(names...), s.most(50)) }
}

// pair describes a call by two members, the second of which may have several names.
func pair(first, sep string, second ...string) func(*summarizer) {
	return func(s *summarizer) { s.joined(s.first(first), sep, s.first(second...), s.most(60)) }
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

// readSummary writes "b/c.go - lines 5-14".
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

// writeSummary writes "b/c.go - 3 lines".
func writeSummary(s *summarizer) {
	s.path(s.first("file_path"), 2)
	if content := s.value("content"); len(s.out) > 0 && isText(content) {
		s.say(" - ")
		s.count(countLines(content), "line")
	}
}

// editSummary writes "b/c.go - 2 -> 5 lines", with one number if both are the same.
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

// multiEditSummary writes "b/c.go - 2 edits".
func multiEditSummary(s *summarizer) {
	s.path(s.first("file_path"), 2)
	if n, _ := s.elements(s.value("edits")); len(s.out) > 0 && n >= 0 {
		s.say(" - ")
		s.count(n, "edit")
	}
}

// monitorSummary writes the description and the command or address.
func monitorSummary(s *summarizer) {
	source := s.first("command")
	if source == nil {
		source = jsonlex.Lookup(s.value("ws"), 0, "url")
	}
	s.joined(s.first("description"), ": ", source, s.most(60))
}

// grepSummary writes the pattern and where it looks: "TODO" in *.go.
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

// globSummary writes the pattern and the last part of the path.
func globSummary(s *summarizer) {
	s.quoted(s.first("pattern"), 30)
	if path := s.first("path"); len(s.out) > 0 && path != nil {
		s.say(" in ")
		s.path(path, 1)
	}
}

// webFetchSummary writes the host and the path of an address, without user and query.
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

// mcp describes a tool call of a server; name is what follows mcp__.
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

// foremost returns the most informative argument, or else the text that the model wrote first.
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
