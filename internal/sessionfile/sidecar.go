package sessionfile

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/clewdev/clew/wire"
)

// metadataType is the type of the entry that stands in a store for the file beside a subagent's transcript. The agent
// writes it to the mirror when that file changes: the last one counts.
const metadataType = "agent_metadata"

// Sidecar returns the content of the file beside a subagent's transcript, if that is what the entry stands for.
func Sidecar(entry wire.JSON) (content []byte, ok bool) {
	if !strings.Contains(string(entry), metadataType) {
		return nil, false // nearly all entries, and fast
	}
	var head struct {
		Type string `json:"type"`
	}
	if entry.Decode(&head) != nil || head.Type != metadataType {
		return nil, false
	}
	var fields map[string]json.RawMessage
	if entry.Decode(&fields) != nil {
		return nil, false
	}
	delete(fields, "type")
	content, err := json.Marshal(fields)
	return content, err == nil
}

// SidecarEntry returns the entry that stands for the file beside a subagent's transcript. It reports false if that is
// not a JSON object.
func SidecarEntry(content []byte) (entry wire.JSON, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimSpace(content), &fields) != nil || fields == nil {
		return "", false
	}
	fields["type"] = json.RawMessage(`"` + metadataType + `"`)
	text, err := json.Marshal(fields)
	return wire.JSON(text), err == nil
}
