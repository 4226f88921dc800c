package sessions

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A Summary describes a session in a list. [List] returns one for each session. A [Summarizer]
// keeps it with the session and marshals it to JSON, so texts longer than 4,096 bytes are cut. The
// zero value is the summary of a session without entries.
type Summary struct {
	// Created is the time of the first entry that has a time, or the zero time if none has one.
	Created time.Time `json:"created,omitzero"`
	// LastTime is the time of the last entry that has a time, or the zero time if none has one.
	LastTime time.Time `json:"last_time,omitzero"`
	// CWD is the working directory in which the session started, such as "/home/me/code". It may
	// have changed since.
	CWD string `json:"cwd,omitempty"`
	// GitBranch is the last git branch, such as "main". Outside of a repository the agent writes
	// "HEAD".
	GitBranch string `json:"git_branch,omitempty"`
	// Model is the model that answered last, such as "claude-opus-5-5". It is empty if no model
	// answered.
	Model string `json:"model,omitempty"`
	// PermissionMode is the last permission mode, such as "plan" or "acceptEdits". It is empty if
	// no entry has one.
	PermissionMode string `json:"permission_mode,omitempty"`
	// Version is the version of the agent that wrote the last entry, such as "2.1.325".
	Version string `json:"version,omitempty"`
	// Entrypoint is the way the agent was started at the start of the session, such as "cli" for a
	// terminal, "sdk-cli" for a program, or "claude-vscode". Older agents did not record it.
	Entrypoint string `json:"entrypoint,omitempty"`
	// FirstPrompt is the first text that the user wrote, on one line, cut after 200 characters.
	FirstPrompt string `json:"first_prompt,omitempty"`
	// FirstCommand is the first slash command, such as "/init". It serves as a title if there is no
	// prompt.
	FirstCommand string `json:"first_command,omitempty"`
	// LastPrompt is the last text that the user wrote, cut like FirstPrompt. Older agents did not
	// record it. In a fork it is the last text that the user wrote there, if there is one.
	LastPrompt string `json:"last_prompt,omitempty"`
	// ForkedFrom is the ID of the session that this one is a fork of. It is empty if the session is
	// not a fork, and for forks by agents before 2.1.326, which did not record it.
	ForkedFrom string `json:"forked_from,omitempty"`
	// OwnPrompt reports that LastPrompt was written in the fork. The agent keeps the last prompt of
	// the other session beside it.
	OwnPrompt bool `json:"own_prompt,omitempty"`
	// CustomTitle is the last title that the user gave, see [Rename]. It is empty if the user gave
	// none.
	CustomTitle string `json:"custom_title,omitempty"`
	// AITitle is the last title that the agent generated. It is empty until the agent generates
	// one.
	AITitle string `json:"ai_title,omitempty"`
	// Recap is the title that older agents generated.
	Recap string `json:"recap,omitempty"`
	// Tag is the tag of the session, see the function [Tag].
	Tag string `json:"tag,omitempty"`
	// TeamName is the name of the team, if the session belongs to a teammate, or "".
	TeamName string `json:"team_name,omitempty"`
	// AgentName is the name of the teammate. A session without a team may also have one.
	AgentName string `json:"agent_name,omitempty"`
	// Sidechain reports whether the transcript belongs to a subagent. Older agents kept these as
	// sessions.
	Sidechain bool `json:"sidechain,omitempty"`
	// Unfinished describes what the last entries leave open, as words separated by spaces: "turn"
	// if an answer should follow, the ID of each tool call without a result, and, with "~" in
	// front, the ID of each call that ended the turn. With "@" in front it is the ID of the answer
	// that made the calls. It is for stores to keep; use [Summary.Working].
	Unfinished string `json:"unfinished,omitempty"`
}

// Programmatic reports whether a program started the session, rather than a person at a terminal or
// in an editor.
func (s *Summary) Programmatic() bool { return strings.HasPrefix(s.Entrypoint, "sdk-") }

// Title returns the best name for the session: the title that the user gave, else the generated
// one, the last prompt, the first prompt or the first command. It returns "" if the session has
// none of them; such a session is not in a [List].
func (s *Summary) Title() string {
	return cmp.Or(s.CustomTitle, s.AITitle, s.LastPrompt, s.Recap, s.FirstPrompt, s.FirstCommand)
}

// Add updates the summary with the next entry of the session's main transcript. Entries must come
// in order. It ignores a text that is not an entry.
//
//	var summary sessions.Summary
//	for _, entry := range entries {
//		summary.Add(entry)
//	}
//	fmt.Println(summary.Title(), summary.LastTime)
func (s *Summary) Add(entry wire.JSON) { s.add([]byte(entry)) }

// add is Add for bytes. It keeps no reference to them.
func (s *Summary) add(entry []byte) {
	h, ok := readHead(entry)
	if !ok {
		return
	}
	s.addTime(&h)
	s.CWD = cmp.Or(s.CWD, short(h.cwd))
	s.GitBranch = cmp.Or(short(h.gitBranch), s.GitBranch)
	s.PermissionMode = cmp.Or(short(h.permissionMode), s.PermissionMode)
	s.Version = cmp.Or(short(h.version), s.Version)
	s.Entrypoint = cmp.Or(s.Entrypoint, short(h.entrypoint))
	s.TeamName = cmp.Or(s.TeamName, short(h.team))
	s.AgentName = cmp.Or(short(h.agent), s.AgentName)
	s.follow(&h)
	s.addOrigin(&h)
	switch h.kind {
	case "user":
		s.addPrompt(&h)
		s.addForkPrompt(&h)
	case "assistant":
		s.addModel(&h)
	case "custom-title":
		s.CustomTitle = short(h.customTitle)
	case "ai-title":
		s.AITitle = short(h.aiTitle)
	case "last-prompt":
		s.addLastPrompt(&h)
	case "summary":
		s.Recap = cmp.Or(short(h.summary), s.Recap)
	case "tag":
		s.Tag = short(h.tag)
	}
}

// addTime updates the times. The first entry with a time also decides whether the transcript
// belongs to a subagent.
func (s *Summary) addTime(h *head) {
	at := h.created()
	if s.Created.IsZero() {
		s.Created = at
		s.Sidechain = s.Sidechain || h.sidechain
	}
	if !at.IsZero() {
		s.LastTime = at
	}
}

// addOrigin sets the session that this one is a fork of. Each copied entry of a fork by a program
// names it, and each copied answer in a fork by the agent. In a fork of a fork the last copies name
// the nearest one.
func (s *Summary) addOrigin(h *head) {
	from := cmp.Or(unquoted(jsonlex.Lookup(h.forkedFrom, 0, entrylex.KeySessionID)), h.requestSession)
	if from != h.session && newid.IsUUID(from) {
		s.ForkedFrom = from
	}
}

// addForkPrompt sets the last prompt of a fork if the user wrote it there: copies are older than the
// first line of the fork.
func (s *Summary) addForkPrompt(h *head) {
	if s.ForkedFrom == "" || h.forkedFrom != nil || h.meta || h.compactSummary || h.sidechain || h.created().Before(s.Created) {
		return
	}
	if prompt, _ := readPrompt(h.message); prompt != "" {
		s.LastPrompt, s.OwnPrompt = prompt, true
	}
}

// addModel sets the model of an answer. It ignores answers of subagents in the same file.
func (s *Summary) addModel(h *head) {
	model := unquoted(jsonlex.Lookup(h.message, 0, "model"))
	if model != entrylex.SyntheticModel && (!h.sidechain || s.Sidechain) {
		s.Model = cmp.Or(short(model), s.Model)
	}
}

// addPrompt sets the first prompt, or until there is one, the first slash command.
func (s *Summary) addPrompt(h *head) {
	if s.FirstPrompt != "" || h.meta || h.compactSummary || h.sidechain && !s.Sidechain {
		return
	}
	prompt, command := readPrompt(h.message)
	s.FirstPrompt = prompt
	s.FirstCommand = cmp.Or(s.FirstCommand, command)
}

// addLastPrompt sets the last prompt, unless the agent wrote it. The agent has cut long ones.
func (s *Summary) addLastPrompt(h *head) {
	if s.OwnPrompt {
		return
	}
	content, err := json.Marshal(h.lastPrompt)
	if err != nil {
		return
	}
	if shown := shownPrompt(content); !entryfacts.CutOff(shown) {
		s.LastPrompt = cmp.Or(oneLine(shown), s.LastPrompt)
	}
}

// short cuts a text that is too long to show.
func short(text string) string { return clip.Marked(text, 4096) }

// openTurn is the word in [Summary.Unfinished] for a turn that needs an answer.
const openTurn = "turn"

// Limits for the tool calls without a result in a summary.
const (
	maxCalls  = 64
	maxCallID = 128
)

// Working reports whether the last turn has not ended: the agent is working, waits for a
// permission, or was stopped. [SessionInfo.Ongoing] also considers how long ago that was.
//
//	if info.Working() && time.Since(info.LastTime) < time.Minute {
//		fmt.Println("an agent seems to be working in", info.ID)
//	}
func (s *Summary) Working() bool {
	return slices.ContainsFunc(strings.Fields(s.Unfinished), func(word string) bool { return word[0] != '~' && word[0] != '@' })
}

// follow updates Unfinished: whether the agent has something left to do after this entry.
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
	case "cost-state": // the agent writes it when it exits
		s.Unfinished = ""
	}
}

// followUser follows a message in the user's role: tool results, an interruption, or a prompt.
func (s *Summary) followUser(h *head) {
	if s.followResults(h.message, h.toolResult) {
		return
	}
	texts := userTexts(h.message)
	switch {
	case len(texts) > 0 && strings.HasPrefix(strings.TrimSpace(texts[0]), entryfacts.Interruption):
		s.Unfinished = ""
	case slices.ContainsFunc(texts, wantsAnswer):
		if !slices.ContainsFunc(texts, comesBetween) { // a new prompt ends what was open before it
			s.Unfinished = ""
		}
		s.setTurn(true)
	}
}

// comesBetween reports whether a text in the user's role may come while tool calls have no results
// yet: another agent wrote it.
func comesBetween(text string) bool {
	text = strings.TrimSpace(text)
	return entryfacts.IsNotification(text) || strings.HasPrefix(text, "<teammate-message")
}

// followResults follows the tool results of a message, and reports whether it has any. structured
// is the structured result.
func (s *Summary) followResults(message, structured []byte) bool {
	content := jsonlex.Lookup(message, 0, "content")
	if len(content) == 0 || content[0] != '[' {
		return false
	}
	found := false
	var l jsonlex.Lexer
	l.Reset(content)
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		block := l.Skip()
		if unquoted(jsonlex.Lookup(block, 0, "type")) != "tool_result" {
			continue
		}
		found = true
		r := entryfacts.Result{
			Structured: wire.JSON(mayEndTurn(structured)), Text: unquoted(mayEndTurn(jsonlex.Lookup(block, 0, "content"))),
		}
		s.answered(unquoted(jsonlex.Lookup(block, 0, "tool_use_id")), r.EndsTurn())
	}
	return found
}

// mayEndTurn returns a value, or nil if it is too long for a result that ends a turn. Most results
// are longer, and copying them would be most of the work of a list.
func mayEndTurn(value []byte) []byte {
	if len(value) > maxEndingResult {
		return nil
	}
	return value
}

// maxEndingResult is more than the length of every result that ends a turn.
const maxEndingResult = 512

// wantsAnswer reports whether the agent answers a text in the user's role.
func wantsAnswer(text string) bool {
	text = strings.TrimSpace(text)
	if entryfacts.IsNotification(text) || strings.HasPrefix(text, entryfacts.StopHook) {
		return true
	}
	return text != "" && !entryfacts.NotByUser(text) && !entryfacts.IsCommand(text)
}

// followAnswer follows the blocks of an answer in order: a text ends the turn, and a block after it
// reopens the turn.
func (s *Summary) followAnswer(message []byte) {
	content := jsonlex.Lookup(message, 0, "content")
	if len(content) == 0 || content[0] != '[' {
		return
	}
	goesOn := unquoted(jsonlex.Lookup(message, 0, "stop_reason")) == "tool_use"
	id := unquoted(jsonlex.Lookup(message, 0, "id"))
	s.loseResults(id)
	var l jsonlex.Lexer
	l.Reset(content)
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		s.followBlock(l.Skip(), goesOn)
	}
	s.nameAnswer(id)
}

// loseResults forgets the calls of an earlier answer: the model can't answer without their results,
// so these were lost.
func (s *Summary) loseResults(id string) {
	words := strings.Fields(s.Unfinished)
	at := slices.IndexFunc(words, func(word string) bool { return word[0] == '@' })
	if id == "" || at < 0 || words[at] == "@"+id {
		return
	}
	s.Unfinished = ""
	if words[0] == openTurn {
		s.Unfinished = openTurn
	}
}

// nameAnswer adds the ID of an answer to its calls.
func (s *Summary) nameAnswer(id string) {
	words := strings.Fields(s.Unfinished)
	if id == "" || len(id) > maxCallID || len(strings.Fields(id)) != 1 || !slices.ContainsFunc(words, isCall) {
		return
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word[0] == '@' })
	s.Unfinished = strings.Join(append(words, "@"+id), " ")
}

// followBlock follows one block of an answer. goesOn reports whether the answer ends with tool
// calls.
func (s *Summary) followBlock(block []byte, goesOn bool) {
	switch unquoted(jsonlex.Lookup(block, 0, "type")) {
	case "thinking", "redacted_thinking":
		s.setTurn(true)
	case "text":
		if strings.TrimSpace(unquoted(jsonlex.Lookup(block, 0, "text"))) != "" {
			s.setTurn(goesOn)
		}
	case "tool_use":
		ends := entryfacts.CallEndsTurn(unquoted(jsonlex.Lookup(block, 0, "name")), func() wire.JSON {
			return wire.JSON(jsonlex.Lookup(block, 0, "input"))
		})
		s.setTurn(!ends)
		s.called(unquoted(jsonlex.Lookup(block, 0, "id")), ends)
	}
}

// setTurn adds or removes the word openTurn.
func (s *Summary) setTurn(open bool) {
	words := s.withoutWord(openTurn)
	if open {
		words = slices.Insert(words, 0, openTurn)
	}
	s.Unfinished = strings.Join(words, " ")
}

// called adds a tool call. ends reports whether the call ends the turn.
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

// answered removes a tool call that has a result. The agent continues after the result, unless the
// call or its result ended the turn.
func (s *Summary) answered(id string, stops bool) {
	if ended := s.withoutWord("~" + id); len(ended) < len(strings.Fields(s.Unfinished)) {
		s.setWords(ended)
		return
	}
	s.setWords(s.withoutWord(id))
	s.setTurn(!stops)
}

// setWords sets Unfinished. Without calls, the ID of their answer goes, too.
func (s *Summary) setWords(words []string) {
	if !slices.ContainsFunc(words, isCall) {
		words = slices.DeleteFunc(words, func(word string) bool { return word[0] == '@' })
	}
	s.Unfinished = strings.Join(words, " ")
}

// isCall reports whether a word of Unfinished is the ID of a call.
func isCall(word string) bool { return word != openTurn && word[0] != '@' }

// withoutWord returns the words of Unfinished without one.
func (s *Summary) withoutWord(word string) []string {
	return slices.DeleteFunc(strings.Fields(s.Unfinished), func(w string) bool { return w == word })
}

// maxPrompt is the length of a prompt in a summary, in characters.
const maxPrompt = 200

// readPrompt returns what a person sees of a prompt, on one line, or the name of the slash command
// if it is nothing else. Both are empty for a message with a tool result, and for a message that
// the agent wrote.
func readPrompt(message []byte) (prompt, command string) {
	text := strings.Join(userTexts(message), "\n")
	if strings.TrimSpace(text) == "" {
		return "", ""
	}
	added, _ := entryfacts.CutAdded(text)
	if typed, rest := entryfacts.TypedCommand(added); typed != "" && rest == "" {
		command, _, _ = strings.Cut(typed, " ")
		return "", oneLine(command)
	}
	return oneLine(shownPrompt(jsonlex.Lookup(message, 0, "content"))), ""
}

// shownPrompt returns the text that package transcript shows for a content in the user's role, or
// "" if it is neither a prompt nor the message of another agent.
func shownPrompt(content []byte) string {
	msg, _ := transcript.Classify(transcript.Entry{Type: "user", Message: &transcript.Message{Content: content}})
	switch m := msg.(type) {
	case *transcript.UserMsg:
		return m.Text
	case *transcript.TeammateMsg:
		return m.Text
	}
	return ""
}

// userTexts returns the texts of a message, or none if it has a tool result.
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

// unquoted returns the value of a JSON string, or "" for any other value.
func unquoted(value []byte) string {
	text, _ := jsonlex.Unquote(value)
	return string(text)
}

// oneLine returns a text without line breaks, cut to the length of a prompt.
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

// A head has the members of an entry that identify it and relate it to other entries. A member of
// an unexpected type counts as absent.
type head struct {
	kind, subtype, uuid, parent, time, session     string
	cwd, gitBranch, version, permissionMode        string
	team, agent, entrypoint, requestSession        string
	customTitle, aiTitle, lastPrompt, summary, tag string
	sidechain, meta, compactSummary                bool
	message, compaction                            []byte   // slices of the entry
	toolResult, forkedFrom                         []byte   // also slices of the entry
	retracted                                      []string // UUIDs of entries that this one retracts
}

// readHead reads these members in one pass, without decoding the others. It returns false if the
// entry is not a JSON object.
func readHead(entry []byte) (head, bool) {
	var h head
	var l jsonlex.Lexer
	l.Reset(entry)
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		text, flag, first := h.text(key), h.flag(key), l.Peek()
		switch {
		case text != nil && first == '"':
			*text = l.String()
		case flag != nil && (first == 't' || first == 'f'):
			*flag = l.Bool()
		default:
			h.raw(key, l.Skip())
		}
	}
	l.End()
	return h, l.Err() == nil
}

// text returns the field for a member that is a string, or nil.
func (h *head) text(key []byte) *string {
	switch string(key) {
	case entrylex.KeyType:
		return &h.kind
	case entrylex.KeySubtype:
		return &h.subtype
	case entrylex.KeyUUID:
		return &h.uuid
	case entrylex.KeyParentUUID:
		return &h.parent
	case entrylex.KeyTimestamp:
		return &h.time
	case entrylex.KeySessionID:
		return &h.session
	case entrylex.KeyCWD:
		return &h.cwd
	case entrylex.KeyGitBranch:
		return &h.gitBranch
	case entrylex.KeyVersion:
		return &h.version
	case entrylex.KeyPermissionMode:
		return &h.permissionMode
	case entrylex.KeyTeamName:
		return &h.team
	case entrylex.KeyAgentName:
		return &h.agent
	case entrylex.KeyEntrypoint:
		return &h.entrypoint
	case entrylex.KeyCustomTitle:
		return &h.customTitle
	case entrylex.KeyAITitle:
		return &h.aiTitle
	case entrylex.KeyLastPrompt:
		return &h.lastPrompt
	case entrylex.KeyRequestSessionID:
		return &h.requestSession
	case entrylex.KeySummary:
		return &h.summary
	case entrylex.KeyTag:
		return &h.tag
	}
	return nil
}

// flag returns the field for a member that is a boolean, or nil.
func (h *head) flag(key []byte) *bool {
	switch string(key) {
	case entrylex.KeyIsSidechain:
		return &h.sidechain
	case entrylex.KeyIsMeta:
		return &h.meta
	case entrylex.KeyIsCompactSummary:
		return &h.compactSummary
	}
	return nil
}

// raw stores a member that is neither a string nor a boolean.
func (h *head) raw(key, value []byte) {
	switch string(key) {
	case entrylex.KeyMessage:
		h.message = value
	case entrylex.KeyCompactMetadata:
		h.compaction = value
	case entrylex.KeyToolUseResult:
		h.toolResult = value
	case entrylex.KeyForkedFrom:
		h.forkedFrom = value
	case entrylex.KeySupersedesUUIDs, entrylex.KeyRetractedMessageUUIDs, entrylex.KeyRefusedUserMessageUUID:
		h.retracted = append(h.retracted, entryfacts.Texts(value)...)
	}
}

// created returns the time of the entry, or the zero time.
func (h *head) created() time.Time {
	at, err := time.Parse(time.RFC3339Nano, h.time)
	at = at.UTC()
	if err != nil || at.Year() < 1 || at.Year() > 9999 { // time.Time can't marshal other years
		return time.Time{}
	}
	return at
}

// chained reports whether the entry is part of the chain of parents.
func (h *head) chained() bool {
	return h.uuid != "" && entryfacts.Chained(h.kind)
}

// isMessage reports whether the entry is a message of the conversation.
func (h *head) isMessage() bool { return h.kind == "user" || h.kind == "assistant" }
