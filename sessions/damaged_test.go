package sessions_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/sessions"
)

// answered is a line of an answer that used tokens.
func answered(uuid, parent string) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":%q,"parentUuid":%q,"sessionId":%q,"timestamp":"2026-01-01T00:00:00Z",`+
		`"message":{"id":%[1]q,"role":"assistant","model":"m","content":"Yes","usage":{"output_tokens":1}}}`+"\n", uuid, parent, idA)
}

// What a crash or an editor has left in a file costs itself alone, whoever reads the file.
func TestDamagedFilesReadTheSame(t *testing.T) {
	t.Parallel()
	asked, nuls := said("user", "1", "", `"Asked"`, ""), strings.Repeat("\x00", 9000)
	half := asked[:len(asked)/2]
	for name, text := range map[string]string{
		"a mark in front":            "\ufeff" + asked + answered("2", "1"),
		"carriage returns":           strings.ReplaceAll(asked+answered("2", "1"), "\n", "\r\n"),
		"NUL bytes in front":         nuls + asked + answered("2", "1"),
		"NUL bytes in between":       asked + nuls + answered("2", "1"),
		"NUL bytes behind half":      asked + half + nuls + answered("2", "1"),
		"NUL bytes in place of ends": strings.ReplaceAll(asked+answered("2", "1"), "\n", nuls),
		"NUL bytes at the end":       asked + answered("2", "1") + nuls + nuls,
		"many NUL bytes in front":    strings.Repeat(nuls, 9) + asked + answered("2", "1"),
		"half a line at the end":     asked + answered("2", "1") + half,
		"half a line before a whole": asked + half + "\n" + answered("2", "1"),
		"no end":                     strings.TrimSuffix(asked+answered("2", "1"), "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "p/"+idA+".jsonl", text)
			if got := whatReadersSay(t, dir); got != "Asked, 2 chunks, 2 messages, 1 answer" {
				t.Error(got)
			}
		})
	}
}

// whatReadersSay reads the one session of a folder in all ways that there are.
func whatReadersSay(t *testing.T, dir string) string {
	t.Helper()
	folder := sessions.NewFolder(dir)
	folder.Skipped = func(sessions.SkippedLine) {}
	opts := sessions.Options{Store: folder}
	list, err := sessions.List(t.Context(), &sessions.ListOptions{Store: folder})
	if err != nil || len(list) != 1 {
		t.Fatalf("a list of %d, %v", len(list), err)
	}
	read, err := sessions.ReadFile(t.Context(), filepath.Join(dir, "p", idA+".jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for _, err := range sessions.Messages(t.Context(), idA, &opts) {
		if messages++; err != nil {
			t.Fatal(err)
		}
	}
	calls := usage(t, &sessions.UsageOptions{Store: folder}).Tally.Calls()
	return fmt.Sprintf("%s, %d chunks, %d messages, %d answer", list[0].Title(), len(read.Chunks), messages, len(calls))
}
