package transcript

import (
	"strings"

	"github.com/clewdev/clew/internal/jsonlex"
)

const teammateTag = "teammate-message"

// teammates classifies messages of other agents of a team. Several in one prompt make one message, under the name of
// the first; those that only keep the team running are noise. It returns neither a message nor noise for any other
// text.
func teammates(e *Entry, text string) (ClassifiedMsg, string) {
	var msg *TeammateMsg
	var texts []string
	noise := ""
	for {
		next, rest, ok := cutTeammate(text)
		if !ok {
			break
		}
		text = strings.TrimSpace(rest)
		switch kind := protocolKind(next.Text); {
		case kind != "":
			noise = "teammate:" + kind
			continue
		case msg == nil:
			msg = next
		case next.TeammateID != msg.TeammateID:
			next.Text = next.TeammateID + ": " + next.Text
		}
		texts = append(texts, next.Text)
	}
	if msg == nil {
		return nil, noise
	}
	msg.Timestamp, msg.Text = e.Timestamp, strings.Join(texts, "\n\n")
	return msg, ""
}

// cutTeammate cuts a teammate's message from the start of text.
func cutTeammate(text string) (msg *TeammateMsg, rest string, ok bool) {
	const start = "<" + teammateTag
	if len(text) <= len(start) || text[len(start)] > ' ' || !strings.EqualFold(text[:len(start)], start) {
		return nil, text, false
	}
	attributes, inner, ok := cutAttributes(text)
	id := attributes["teammate_id"]
	if !ok || id == "" {
		return nil, text, false
	}
	if end := indexEnd(inner, teammateTag); end >= 0 {
		inner, rest = inner[:end], inner[end+endTag(inner[end:], teammateTag):]
	}
	return &TeammateMsg{
		Text: own(Sanitize(inner), text), TeammateID: strings.Clone(id),
		Color: strings.Clone(attributes["color"]), Summary: strings.Clone(attributes["summary"]),
	}, rest, true
}

// protocolKind returns the type of a message that agents of a team send by themselves, or "".
func protocolKind(text string) string {
	if !strings.HasPrefix(text, "{") {
		return ""
	}
	kind, _ := jsonlex.Unquote(jsonlex.Lookup([]byte(text), 0, "type"))
	switch string(kind) {
	case "idle_notification", "shutdown_approved", "shutdown_request", "teammate_terminated", "task_assignment":
		return string(kind)
	}
	return ""
}
