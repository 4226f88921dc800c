package sessions_test

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// Whatever a file holds, loading it yields entries, and what is appended can be loaded.
func FuzzFolder(f *testing.F) {
	f.Add("{\"uuid\":\"1\"}\n{\"type\":\"user\",\"uuid\":\"2\",\"parentUuid\":\"2\"}\n")
	f.Add("{\"uuid\":\"1\"")
	f.Add("\x00\x00\n\xff{}\n\r\n[]")
	f.Add("\ufeff{}\x00\x00{\"uuid\":\"1\"}\n{\x00")
	f.Add("{\"type\":\"user\",\"uuid\":\"2\",\"message\":{\"content\":[{\"type\":\"tool_result\"},7,{\"type\":\"text\"}]}}")
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		write(t, dir, "p/"+idA+".jsonl", content)
		touch(t, dir, "p/"+idA+".jsonl", 0) // so that nobody seems to be writing it
		s := sessions.NewFolder(dir)
		skipped := 0
		s.Skipped = func(sessions.SkippedLine) { skipped++ }
		before := mustLoad(t, s, keyA)
		filled := 0
		for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimPrefix(content, "\ufeff"), "\x00", "\n"), "\n") {
			if strings.TrimSpace(line) != "" {
				filled++
			}
		}
		if len(before)+skipped != filled {
			t.Errorf("%d entries and %d skipped lines of %d", len(before), skipped, filled)
		}
		if has(before, "new") {
			return
		}
		mustAppend(t, s, keyA, `{"type":"user","uuid":"new"}`)
		after := mustLoad(t, s, keyA)
		for i, entry := range before {
			if after[i] != entry {
				t.Fatalf("entry %d was %q, and is %q", i, entry, after[i])
			}
		}
		last := after[len(after)-1]
		if uuid, err := sessions.EntryUUID(last); err != nil || uuid != "new" {
			t.Errorf("the last entry is %q, %v", last, err)
		}
		opts := &sessions.Options{Store: s}
		for _, err := range sessions.Messages(t.Context(), idA, opts) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := sessions.List(t.Context(), &sessions.ListOptions{Store: s}); err != nil {
			t.Fatal(err)
		}
		if _, err := sessions.Fork(t.Context(), idA, &sessions.ForkOptions{Store: s}); err != nil {
			t.Fatal(err)
		}
	})
}

func has(entries []wire.JSON, uuid string) bool {
	for _, entry := range entries {
		if got, _ := sessions.EntryUUID(entry); got == uuid {
			return true
		}
	}
	return false
}
