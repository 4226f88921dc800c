package sessions

import (
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// openTurn is the word in [Summary.Unfinished] that says that something should follow the last entry.
const openTurn = "turn"

// The limits of what a summary keeps of calls without a result.
const (
	maxCalls  = 64
	maxCallID = 128
)

// Working reports whether the last turn has not come to its end: the agent works, waits for a permission, or was stopped.
func (s Summary) Working() bool {
	return slices.ContainsFunc(strings.Fields(s.Unfinished), func(word string) bool { return word[0] != '~' })
}

// follow takes note of what an entry means for the turn: whether the agent has something left to do after it.
func (s *Summary) follow(h *head) {
	if h.meta || h.compactSummary || h.sidechain && !s.Sidechain {
		return
	}
	switch h.kind {
	case "user":
		s.followUser(h)
	case "assistant":
		s.followAnswer(h.message)
	case "system":
		if h.subtype == "turn_duration" {
			s.setTurn(false)
		}
	case "cost-state": // which the agent writes when it ends
		s.Unfinished = ""
	}
}

func (s *Summary) followUser(h *head) {
	if results := readCalls(h.message).results; len(results) > 0 {
		for _, id := range results {
			s.answered(id, stops(h.toolResult))
		}
		return
	}
	texts := userTexts(h.message)
	switch {
	case len(texts) > 0 && strings.HasPrefix(strings.TrimSpace(texts[0]), interruption):
		s.Unfinished = ""
	case slices.ContainsFunc(texts, wantsAnswer):
		if !slices.ContainsFunc(texts, comesBetween) { // nobody waits any more for what was open before a prompt
			s.Unfinished = ""
		}
		s.setTurn(true)
	}
}

// comesBetween reports whether a text in the user's role may come while calls have no results yet: other agents wrote it.
func comesBetween(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, taskNotification) || strings.HasPrefix(text, "<teammate-message")
}

// stops reports whether the agent does nothing after a result: the user did not allow the call, or it was the output that
// was asked for.
func stops(result []byte) bool {
	text := unquoted(result)
	return text == "User rejected tool use" || text == "Structured output provided successfully"
}

// wantsAnswer reports whether a text in the user's role is something that the agent answers to.
func wantsAnswer(text string) bool {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, taskNotification) {
		return true
	}
	return text != "" && !foreign(text) && !strings.Contains(text, "<command-name>")
}

// followAnswer takes the blocks of an answer in their order: a text ends the turn, and what comes behind it does not.
func (s *Summary) followAnswer(message []byte) {
	content := jsonlex.Lookup(message, 0, "content")
	if len(content) == 0 || content[0] != '[' {
		return
	}
	goesOn := unquoted(jsonlex.Lookup(message, 0, "stop_reason")) == "tool_use"
	var l jsonlex.Lexer
	l.Reset(content)
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		s.followBlock(l.Skip(), goesOn)
	}
}

func (s *Summary) followBlock(block []byte, goesOn bool) {
	switch unquoted(jsonlex.Lookup(block, 0, "type")) {
	case "thinking", "redacted_thinking":
		s.setTurn(true)
	case "text":
		if strings.TrimSpace(unquoted(jsonlex.Lookup(block, 0, "text"))) != "" {
			s.setTurn(goesOn)
		}
	case "tool_use":
		ends := endsTurn(block)
		s.setTurn(!ends)
		s.called(unquoted(jsonlex.Lookup(block, 0, "id")), ends)
	}
}

// endsTurn reports whether a call is the last thing that an agent does: it waits for the user, or goes.
func endsTurn(call []byte) bool {
	switch unquoted(jsonlex.Lookup(call, 0, "name")) {
	case "ExitPlanMode":
		return true
	case "SendMessage":
		in, _ := transcript.DecodeInput("SendMessage", wire.JSON(jsonlex.Lookup(call, 0, "input")))
		message, ok := in.(*transcript.SendMessageInput)
		return ok && message.ApprovesShutdown()
	}
	return false
}

func (s *Summary) setTurn(open bool) {
	words := s.withoutWord(openTurn)
	if open {
		words = slices.Insert(words, 0, openTurn)
	}
	s.Unfinished = strings.Join(words, " ")
}

// called takes note of a call, of which ends says whether it ends the turn.
func (s *Summary) called(id string, ends bool) {
	if id == "" || len(id) > maxCallID || len(strings.Fields(id)) != 1 || id == openTurn {
		return
	}
	words := s.withoutWord(id)
	if ends {
		id = "~" + id
	}
	if words = append(words, id); len(words) > maxCalls {
		words = slices.Delete(words, 1, 2)
	}
	s.Unfinished = strings.Join(words, " ")
}

// answered takes note of the result of a call. Something follows it, unless the call has ended the turn, or its result.
func (s *Summary) answered(id string, stops bool) {
	if ended := s.withoutWord("~" + id); len(ended) < len(strings.Fields(s.Unfinished)) {
		s.Unfinished = strings.Join(ended, " ")
		return
	}
	s.Unfinished = strings.Join(s.withoutWord(id), " ")
	s.setTurn(!stops)
}

func (s *Summary) withoutWord(word string) []string {
	return slices.DeleteFunc(strings.Fields(s.Unfinished), func(w string) bool { return w == word })
}
