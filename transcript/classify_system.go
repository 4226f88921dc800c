package transcript

import (
	"fmt"
	"strings"
	"time"
)

// classifySystem classifies what the agent says of itself.
func classifySystem(e *Entry) (ClassifiedMsg, string) {
	switch e.Subtype {
	case "compact_boundary":
		return compactBoundary(e), ""
	case "api_error":
		return &SystemMsg{Timestamp: e.Timestamp, Output: apiError(e.Raw), IsError: true}, ""
	case "stop_hook_summary":
		return stopHooks(e)
	case "turn_duration", "microcompact_boundary", "init", "bridge_status", "thinking":
		return nil, noiseName("system:", e.Subtype)
	case "", "local_command":
		return localCommand(e)
	}
	text := systemText(e)
	if text == "" {
		text = systemSentence(e)
	}
	if text == "" {
		return nil, noiseName("system:", e.Subtype)
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: text, IsError: errorLevel(e)}, ""
}

func errorLevel(e *Entry) bool { return textAt(e.Raw, "level") == "error" }

// systemText returns the content of a system entry, if it is text.
func systemText(e *Entry) string {
	p, _ := new(classifier).readPrompt(e.Content)
	return trimOutput(p.text)
}

// compactBoundary returns the message for the place where a conversation was compacted.
func compactBoundary(e *Entry) *CompactMsg {
	meta := []byte(e.CompactMetadata)
	return &CompactMsg{
		Timestamp: e.Timestamp, Text: systemText(e), Trigger: textAt(meta, "trigger"),
		PreTokens: intAt(meta, "preTokens"), PostTokens: intAt(meta, "postTokens"),
		Duration: time.Duration(intAt(meta, "durationMs")) * time.Millisecond,
	}
}

// localCommand classifies a command that the agent runs itself, such as /model, or what it printed. The oldest entries,
// which have no subtype, are such or plain text.
func localCommand(e *Entry) (ClassifiedMsg, string) {
	text := systemText(e)
	switch leadingTag(text) {
	case "command-name", "command-message":
		if command := typedCommand(text); command != "" {
			return &UserMsg{Timestamp: e.Timestamp, Text: command, PermissionMode: e.PermissionMode}, ""
		}
	case "local-command-stdout", "local-command-stderr":
		return printed(e, text, "local-command")
	}
	if text = Sanitize(text); text == "" {
		return nil, noiseName("system:", e.Subtype)
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: text, IsError: errorLevel(e)}, ""
}

// stopHooks classifies the report on the hooks that ran at the end of a turn: only trouble is worth a message.
func stopHooks(e *Entry) (ClassifiedMsg, string) {
	msg := &SystemMsg{Timestamp: e.Timestamp}
	if errs := textsAt(e.Raw, "hookErrors"); errs != nil {
		msg.Output, msg.IsError = "Stop hook error: "+strings.Join(errs, "\n"), true
	}
	if trueAt(e.Raw, "preventedContinuation") {
		msg.Output = joinLines(msg.Output, sentence("Stop hook stopped the agent", textAt(e.Raw, "stopReason")))
	}
	if msg.Output == "" {
		return nil, "system:stop_hook_summary"
	}
	return msg, ""
}

// systemSentence says what a system entry without text is about, or nothing if that is not known.
func systemSentence(e *Entry) string {
	switch e.Subtype {
	case "scheduled_task_fire":
		return sentence("Scheduled task started", textAt(e.Raw, "prompt"))
	case "memory_saved":
		return sentence("Memory saved", strings.Join(textsAt(e.Raw, "writtenPaths"), ", "))
	case "permission_retry":
		return sentence("Allowed on a second try", strings.Join(textsAt(e.Raw, "commands"), ", "))
	case "model_refusal_fallback":
		from, to := textAt(e.Raw, "originalModel"), textAt(e.Raw, "fallbackModel")
		if from == "" || to == "" {
			return "The model declined to answer, another took over"
		}
		return fmt.Sprintf("%s declined to answer, %s took over", from, to)
	}
	return ""
}

// sentence returns a statement with its detail, if there is one.
func sentence(statement, detail string) string {
	if detail == "" {
		return statement
	}
	return statement + ": " + detail
}
