package transcript

import (
	"slices"
	"strings"
)

// wrapped classifies the text of a prompt that is not the user's own words, but has been wrapped by the agent. It
// returns neither a message nor noise for any other text.
func wrapped(e *Entry, text string) (ClassifiedMsg, string) {
	switch leadingTag(text) {
	case "local-command-stdout", "local-command-stderr":
		return printed(e, text, "local-command")
	case "bash-stdout", "bash-stderr":
		return printed(e, text, "bash")
	case "task-notification":
		return notification(e, text)
	}
	if strings.HasPrefix(text, "Stop hook feedback:") {
		return &SystemMsg{Timestamp: e.Timestamp, Output: own(Sanitize(text), text)}, ""
	}
	return teammates(e, text)
}

// printed classifies what a command has printed, between tags whose names begin with kind.
func printed(e *Entry, text, kind string) (ClassifiedMsg, string) {
	var out, errs []string
	whole := text
	for {
		text = strings.TrimSpace(text)
		name := leadingTag(text)
		if name != kind+"-stdout" && name != kind+"-stderr" {
			return commandOutput(e, joinLines(out...), joinLines(errs...))
		}
		var inner string
		inner, text, _ = cutElement(text, name)
		inner = own(trimOutput(inner), whole)
		if strings.HasSuffix(name, "stdout") {
			out = append(out, inner)
		} else {
			errs = append(errs, inner)
		}
	}
}

func commandOutput(e *Entry, out, errs string) (ClassifiedMsg, string) {
	failed := errs != ""
	if out == "" {
		out, errs = errs, ""
	}
	if out == "" {
		return nil, noiseEmpty
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: out, Stderr: errs, IsError: failed}, ""
}

// joinLines joins the texts that are not empty.
func joinLines(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.Join(texts, "\n")
}

// notification classifies what the agent tells of its tasks in the background.
func notification(e *Entry, text string) (ClassifiedMsg, string) {
	var summaries []string
	killed := false
	for leadingTag(text) == "task-notification" {
		var inner string
		inner, text, _ = cutElement(text, "task-notification")
		text = strings.TrimSpace(text)
		summary := element(inner, "summary")
		if summary == "" {
			summary = withoutTags(inner)
		}
		summaries = append(summaries, own(summary, inner))
		killed = killed || element(inner, "status") == "killed"
	}
	all := joinLines(summaries...)
	if all == "" {
		return nil, noiseEmpty
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: all, IsError: killed}, ""
}
