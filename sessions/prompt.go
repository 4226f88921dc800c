package sessions

import (
	"strings"

	"github.com/clewdev/clew/internal/jsonlex"
)

// maxPrompt is the length of a prompt in a summary, in characters.
const maxPrompt = 200

// Texts in the user's role begin so that tell of the end of a task, and of an interruption.
const (
	taskNotification = "<task-notification>"
	interruption     = "[Request interrupted by user"
)

// notPrompts begin texts in the user's role that the user did not write.
var notPrompts = []string{
	"<local-command-", "<session-start-hook>", "<tick>", "<goal>", taskNotification, interruption,
}

// readPrompt returns what the user wrote in a message, on one line, or the slash command if it is one. A message with
// the result of a tool has neither.
func readPrompt(message []byte) (prompt, command string) {
	for _, text := range userTexts(message) {
		text = strings.TrimSpace(text)
		if name := between(text, "<command-name>", "</command-name>"); name != "" {
			command = oneLine(name)
			continue
		}
		if text != "" && !foreign(text) {
			return oneLine(text), command
		}
	}
	return "", command
}

// userTexts returns the texts of a message, or none if there is a tool's result among its blocks.
func userTexts(message []byte) []string {
	content := jsonlex.Lookup(message, 0, "content")
	if text, ok := jsonlex.Unquote(content); ok {
		return []string{string(text)}
	}
	var l jsonlex.Lexer
	l.Reset(content)
	var texts []string
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		block := l.Skip()
		if len(block) > 0 && block[0] == '"' {
			texts = append(texts, unquoted(block))
			continue
		}
		switch unquoted(jsonlex.Lookup(block, 0, "type")) {
		case "tool_result":
			return nil
		case "text":
			texts = append(texts, unquoted(jsonlex.Lookup(block, 0, "text")))
		}
	}
	return texts
}

// unquoted returns what a JSON string stands for, and "" for anything else.
func unquoted(value []byte) string {
	text, _ := jsonlex.Unquote(value)
	return string(text)
}

// foreign reports whether somebody other than the user wrote the text.
func foreign(text string) bool {
	for _, start := range notPrompts {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	for _, tag := range []string{"ide_opened_file", "ide_selection"} {
		if strings.HasPrefix(text, "<"+tag+">") && strings.HasSuffix(text, "</"+tag+">") {
			return true
		}
	}
	return false
}

// between returns what stands between the first start and the end behind it, without space around it.
func between(text, start, end string) string {
	_, text, found := strings.Cut(text, start)
	text, _, ended := strings.Cut(text, end)
	if !found || !ended {
		return ""
	}
	return strings.TrimSpace(text)
}

// oneLine returns a text without line ends, cut to the length of a prompt.
func oneLine(text string) string {
	text = strings.TrimSpace(lineEnds.Replace(text))
	n := 0
	for i := range text {
		if n == maxPrompt {
			return strings.TrimSpace(text[:i]) + "…"
		}
		n++
	}
	return text
}

var lineEnds = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")
