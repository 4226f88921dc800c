package transcript

import "encoding/json"

// kept returns the entries that a compaction has kept as they were, and the entry behind which they stand now.
func kept(metadata []byte) (uuids []string, anchor string) {
	var m struct {
		PreservedMessages struct {
			AnchorUUID string
			UUIDs      []string
		}
		PreservedSegment struct{ HeadUUID, AnchorUUID, TailUUID string }
	}
	if json.Unmarshal(metadata, &m) != nil {
		return nil, ""
	}
	if all := m.PreservedMessages; all.AnchorUUID != "" {
		return all.UUIDs, all.AnchorUUID
	}
	return []string{m.PreservedSegment.TailUUID}, m.PreservedSegment.AnchorUUID
}

// relink notes what a compaction has kept: what follows these entries from now on follows its summary.
func (t *tree) relink(kept []string, anchor string) {
	if anchor == "" {
		return
	}
	if t.relinked == nil {
		t.relinked = map[identity]identity{}
	}
	for _, uuid := range kept {
		t.relinked[identify(uuid)] = identify(anchor)
	}
}
