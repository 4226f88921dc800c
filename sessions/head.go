package sessions

import (
	"time"

	"github.com/clewdev/clew/internal/jsonlex"
)

// A head is what an entry says of itself: what it is, and how it belongs to the others. What is of another type than
// expected counts as absent.
type head struct {
	kind, subtype, uuid, parent, time, session     string
	cwd, gitBranch, version, permissionMode        string
	team, agent                                    string
	customTitle, aiTitle, lastPrompt, summary, tag string
	sidechain, meta, compactSummary                bool
	message, compaction                            []byte   // share the memory of the entry
	toolResult                                     []byte   // as well
	takenBack                                      []string // UUIDs of entries that are not to be shown any more
}

// readHead reads the members of an entry in one pass, without decoding the others. It reports false if the entry is not
// a JSON object.
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

func (h *head) text(key []byte) *string {
	switch string(key) {
	case "type":
		return &h.kind
	case "subtype":
		return &h.subtype
	case "uuid":
		return &h.uuid
	case "parentUuid":
		return &h.parent
	case "timestamp":
		return &h.time
	case "sessionId":
		return &h.session
	case "cwd":
		return &h.cwd
	case "gitBranch":
		return &h.gitBranch
	case "version":
		return &h.version
	case "permissionMode":
		return &h.permissionMode
	case "teamName":
		return &h.team
	case "agentName":
		return &h.agent
	case "customTitle":
		return &h.customTitle
	case "aiTitle":
		return &h.aiTitle
	case "lastPrompt":
		return &h.lastPrompt
	case "summary":
		return &h.summary
	case "tag":
		return &h.tag
	}
	return nil
}

func (h *head) flag(key []byte) *bool {
	switch string(key) {
	case "isSidechain":
		return &h.sidechain
	case "isMeta":
		return &h.meta
	case "isCompactSummary":
		return &h.compactSummary
	}
	return nil
}

// raw takes a member that is neither a text nor a flag.
func (h *head) raw(key, value []byte) {
	switch string(key) {
	case "message":
		h.message = value
	case "compactMetadata":
		h.compaction = value
	case "toolUseResult":
		h.toolResult = value
	case "supersedesUuids", "retractedMessageUuids", "refusedUserMessageUuid":
		h.takenBack = append(h.takenBack, texts(value)...)
	}
}

// texts returns the texts of a list, or the one that is the value itself.
func texts(value []byte) []string {
	if text := unquoted(value); text != "" {
		return []string{text}
	}
	var all []string
	var l jsonlex.Lexer
	l.Reset(value)
	for ok := len(value) > 0 && value[0] == '[' && l.FirstElem(); ok; ok = l.NextElem() {
		if text := unquoted(l.Skip()); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// created returns when the entry was made, or the zero time.
func (h *head) created() time.Time {
	at, err := time.Parse(time.RFC3339Nano, h.time)
	at = at.UTC()
	if err != nil || at.Year() < 1 || at.Year() > 9999 { // others have no JSON form
		return time.Time{}
	}
	return at
}

// chained reports whether the entry is part of the chain that parents make.
func (h *head) chained() bool {
	switch h.kind {
	case "user", "assistant", "system", "attachment", "progress":
		return h.uuid != ""
	}
	return false
}

// spoken reports whether the entry is a message of the conversation.
func (h *head) spoken() bool { return h.kind == "user" || h.kind == "assistant" }
