package cli

import (
	"cmp"
	"strings"

	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// entryOf decodes a line of a transcript, which has names that frames don't have, or a type that only
// transcripts have. It returns false for a frame.
func entryOf(msg wire.Message) (*transcript.Entry, bool) {
	raw := msg.Raw()
	_, unknown := msg.(*wire.UnknownMessage)
	if !unknown && !strings.Contains(raw, `"sessionId"`) && !strings.Contains(raw, `"parentUuid"`) && !strings.Contains(raw, `"leafUuid"`) {
		return nil, false
	}
	e, err := transcript.DecodeEntry([]byte(raw))
	if err != nil {
		return nil, false
	}
	named := e.SessionID != "" || e.ParentUUID != "" || e.Root || e.LeafUUID != ""
	return &e, named || unknown && len(e.Unknown) == 0
}

// entry examines a line of a transcript.
func (f *finding) entry(e *transcript.Entry) {
	f.kind = wire.Kind{Type: e.Type, Subtype: cmp.Or(e.Subtype, e.AttachmentType, e.DataType)}
	f.Known = true
	for _, u := range e.Unknown {
		switch u.Kind {
		case transcript.UnknownField:
			f.UnknownFields = append(f.UnknownFields, u.Name)
		case transcript.UnknownBlock:
			f.UnknownBlocks = append(f.UnknownBlocks, u.Name)
		default:
			f.Known = false
		}
	}
}
