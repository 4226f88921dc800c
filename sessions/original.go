package sessions

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// originals returns the entries of a transcript to copy, once each: a file may have some twice, which a store does not
// keep. It notes what stands for the file beside the transcript, and calls skipped for lines that are not entries.
func (i *importing) originals(
	ctx context.Context, key wire.SessionKey, sidecar *wire.JSON, skipped func(SkippedLine),
) iter.Seq2[wire.JSON, error] {
	entries := i.from.Load(ctx, key)
	if folder, ok := i.from.(*Folder); ok {
		entries = folder.load(ctx, key, skipped)
	}
	return once(withoutSidecar(key, entries, sidecar))
}

// withoutSidecar returns the entries but those that stand for the file beside a subagent's transcript. It notes the
// last of them.
func withoutSidecar(
	key wire.SessionKey, entries iter.Seq2[wire.JSON, error], last *wire.JSON,
) iter.Seq2[wire.JSON, error] {
	if key.Subpath == "" {
		return entries
	}
	return func(yield func(wire.JSON, error) bool) {
		for entry, err := range entries {
			if _, ok := sessionfile.Sidecar(entry); ok && err == nil {
				*last = entry
				continue
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

// once returns the entries but those whose UUID came before.
func once(entries iter.Seq2[wire.JSON, error]) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		seen := map[uuidHash]bool{}
		for entry, err := range entries {
			uuid, _ := EntryUUID(entry)
			hash := hashUUID(uuid)
			if uuid != "" && seen[hash] {
				continue
			}
			seen[hash] = true
			if !yield(entry, err) {
				return
			}
		}
	}
}

// copies counts the entries that a store has of a transcript already, by what they say. UUIDs alone would not tell: many
// entries have none. Their order does not tell either: between them there may be others, such as a title, and the agent
// does not mirror all that it writes to its file.
type copies map[entryHash]int

func (c copies) add(entry wire.JSON) { c[hashEntry(entry)]++ }

// take reports whether there is a copy of an entry, which then stands for no other one.
func (c copies) take(entry wire.JSON) bool {
	if len(c) == 0 {
		return false
	}
	hash := hashEntry(entry)
	if c[hash] == 0 {
		return false
	}
	c[hash]--
	return true
}

// An entryHash is the same for entries that are: those with the same UUID, and those without one that say the same.
type entryHash struct {
	uuid bool
	hash uuidHash
}

func hashEntry(entry wire.JSON) entryHash {
	if uuid, _ := EntryUUID(entry); uuid != "" {
		return entryHash{uuid: true, hash: hashUUID(uuid)}
	}
	return entryHash{hash: hashUUID(canonical(entry))}
}

// canonical returns an entry with its members in order and without space, or as it is if it can't be decoded.
func canonical(entry wire.JSON) string {
	var value any
	if entry.Decode(&value) != nil {
		return string(entry)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return string(entry)
	}
	return string(text)
}
