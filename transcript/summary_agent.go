package transcript

import (
	"bytes"

	"github.com/clewdev/clew/internal/jsonlex"
)

func agentSummary(s *summarizer) {
	s.add(s.first("subagent_type"), 40)
	task := s.first("description", "prompt")
	if len(s.out) > 0 && task != nil {
		s.say(" - ")
	}
	s.add(task, 40)
}

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

func (s *summarizer) taskID() {
	if id := s.first("taskId"); id != nil {
		s.say("#")
		s.add(id, 20)
	}
}

// sendMessageSummary knows two forms: one with type, recipient and content, and a newer one with to and message, which
// is a text or an object with a type.
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

func worktreeSummary(s *summarizer) {
	if s.add(s.first("name"), 50); len(s.out) == 0 {
		s.path(s.first("path"), 2)
	}
}

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
