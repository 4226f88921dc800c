package sessions

import (
	"context"
	"iter"
	"reflect"

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

// An original is an entry that others are compared with.
type original struct {
	entry wire.JSON
	uuid  string
	value any // what the entry says, if it has no UUID and was decoded
}

func newOriginal(entry wire.JSON) *original {
	uuid, _ := EntryUUID(entry)
	return &original{entry: entry, uuid: uuid}
}

// same reports whether another entry is the same: by its UUID, or as a value.
func (o *original) same(other wire.JSON) bool {
	if o.entry == other {
		return true
	}
	if uuid, err := EntryUUID(other); err != nil || uuid != "" || o.uuid != "" {
		return err == nil && uuid == o.uuid
	}
	if o.value == nil && o.entry.Decode(&o.value) != nil {
		return false
	}
	var value any
	return other.Decode(&value) == nil && reflect.DeepEqual(o.value, value)
}
