package sessions

import (
	"time"

	"github.com/clewdev/clew/internal/jsonlex"
)

// A head is what an entry says of itself: what it is, and how it belongs to the others. What is of another type than
// expected counts as absent.
type head struct {
	kind, uuid, parent, time, cwd, gitBranch, team string
	customTitle, aiTitle, lastPrompt, summary, tag string
	sidechain, meta, compactSummary                bool
	message                                        []byte // shares the memory of the entry
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
		case string(key) == "message":
			h.message = l.Skip()
		default:
			l.Skip()
		}
	}
	l.End()
	return h, l.Err() == nil
}

func (h *head) text(key []byte) *string {
	switch string(key) {
	case "type":
		return &h.kind
	case "uuid":
		return &h.uuid
	case "parentUuid":
		return &h.parent
	case "timestamp":
		return &h.time
	case "cwd":
		return &h.cwd
	case "gitBranch":
		return &h.gitBranch
	case "teamName":
		return &h.team
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
