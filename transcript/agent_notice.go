package transcript

import (
	"bytes"
	"cmp"

	"github.com/clewdev/clew/internal/jsonlex"
)

// taskCall returns the task and the call that has started it, if the entry is a notice of a task in the background that
// names both. Such notices come as prompts, and are put into the queue of prompts before.
func taskCall(e *Entry) (task, call string, ok bool) {
	switch {
	case e.Type == "queue-operation":
		return readNotice(e.Content)
	case e.Type == "user" && e.Message != nil && bytes.HasPrefix(e.Message.Content, []byte(`"<task-notification`)):
		return readNotice(e.Message.Content)
	}
	return "", "", false
}

// readNotice reads a notice, which is a JSON string that holds tags, or another JSON text.
func readNotice(content []byte) (task, call string, ok bool) {
	if !bytes.Contains(content, []byte("task")) {
		return "", "", false
	}
	text, isText := jsonlex.Unquote(content)
	if !isText {
		text = content
	}
	task = cmp.Or(between(text, "<task-id>", "<"), textMember(text, "task_id"))
	call = cmp.Or(between(text, "<tool-use-id>", "<"), textMember(text, "tool_use_id"))
	return task, call, task != "" && call != ""
}

// between returns what stands in text behind open and before the next end, if there is any.
func between(text []byte, open, end string) string {
	_, rest, found := bytes.Cut(text, []byte(open))
	if !found {
		return ""
	}
	inner, _, found := bytes.Cut(rest, []byte(end))
	if !found {
		return ""
	}
	return string(bytes.TrimSpace(inner))
}

// textMember returns the string of that name in the object that text is, if it is one.
func textMember(text []byte, name string) string {
	value, _ := jsonlex.Unquote(jsonlex.Lookup(text, 0, name))
	return string(value)
}
