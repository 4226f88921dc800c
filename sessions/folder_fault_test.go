package sessions_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

var errDisk = errors.New("the disk is full")

func TestFolderFailedWriteIsCutOff(t *testing.T) {
	t.Parallel()
	for after := range 30 { // bytes that are written
		dir := t.TempDir()
		s := sessions.NewFolder(dir)
		mustAppend(t, s, keyA, `{"uuid":"1"}`)
		s.SetWrite(func(file *os.File, text []byte) (int, error) {
			n, err := file.Write(text[:min(after, len(text)-1)])
			return n, errors.Join(err, errDisk)
		})
		err := s.Append(t.Context(), keyA, []wire.JSON{`{"uuid":"2"}`, `{"uuid":"3","text":"more"}`})
		if !errors.Is(err, errDisk) {
			t.Fatalf("got %v, want %v", err, errDisk)
		}
		if got := read(t, dir, "p/"+idA+".jsonl"); got != "{\"uuid\":\"1\"}\n" {
			t.Fatalf("after %d bytes, the file is %q", after, got)
		}
		s.SetWrite(nil)
		mustAppend(t, s, keyA, `{"uuid":"2"}`)
		checkLoad(t, s, keyA, `{"uuid":"1"}`, `{"uuid":"2"}`)
	}
}

func TestFolderShortWriteIsAnError(t *testing.T) {
	t.Parallel()
	s := sessions.NewFolder(t.TempDir())
	s.SetWrite(func(file *os.File, text []byte) (int, error) { return file.Write(text[:5]) })
	if err := s.Append(t.Context(), keyA, []wire.JSON{`{"uuid":"1"}`}); err == nil {
		t.Error("no error")
	}
	checkLoad(t, s, keyA)
}

func TestFolderFailureOnEachWrite(t *testing.T) {
	t.Parallel()
	const appends = 6
	for failing := range appends {
		s := sessions.NewFolder(t.TempDir())
		writes := 0
		s.SetWrite(func(file *os.File, text []byte) (int, error) {
			if writes++; writes == failing+1 {
				return 0, errDisk
			}
			return file.Write(text)
		})
		var want []wire.JSON
		for i := range appends {
			entry := wire.JSON(fmt.Sprintf(`{"uuid":"%d"}`, i))
			err := s.Append(t.Context(), keyA, []wire.JSON{entry})
			if failed := err != nil; failed != (i == failing) {
				t.Fatalf("append %d: %v", i, err)
			}
			if err != nil { // repeated, as the mirror does
				mustAppend(t, s, keyA, entry)
			}
			want = append(want, entry)
		}
		checkLoad(t, s, keyA, want...)
	}
}

func TestFolderSidecarFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := sessions.NewFolder(dir)
	mustAppend(t, s, keyAgent, `{"uuid":"1"}`)
	beside := filepath.Join(dir, "p", idA, "subagents", "agent-1.meta.json")
	if err := os.Mkdir(beside, 0o700); err != nil { // a directory can't be replaced by a file
		t.Fatal(err)
	}
	err := s.Append(t.Context(), keyAgent, []wire.JSON{`{"uuid":"2"}`, `{"type":"agent_metadata"}`})
	if err == nil {
		t.Fatal("no error")
	}
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	checkLoad(t, s, keyAgent, `{"uuid":"1"}`)
	mustAppend(t, s, keyAgent, `{"uuid":"2"}`)
	checkLoad(t, s, keyAgent, `{"uuid":"1"}`, `{"uuid":"2"}`)
}

func TestFolderWithoutPermission(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("permissions do not bind this user")
	}
	dir := t.TempDir()
	write(t, dir, "p/"+idA+".jsonl", string(prompt(`"Mine"`)))
	write(t, dir, "q/"+idB+".jsonl", string(prompt(`"Another's"`)))
	below := "p/" + idA + "/subagents/"
	write(t, dir, below+"workflows/a/agent-1.jsonl", string(prompt(`"Hidden"`)))
	write(t, dir, below+"workflows/b/agent-2.jsonl", string(prompt(`"Seen"`)))
	for name, mode := range map[string]os.FileMode{".": 0o500, "q": 0, below + "workflows/a": 0} {
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
	}
	s := sessions.NewFolder(dir)
	if err := s.Append(t.Context(), wire.SessionKey{Project: "new", SessionID: idA}, []wire.JSON{`{}`}); err == nil {
		t.Error("appended")
	}
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: s})
	if got := titles(infos); !errors.Is(err, os.ErrPermission) || len(got) != 1 || got[0] != "Mine" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = sessions.Get(t.Context(), idB, &sessions.Options{Store: s})
	if !errors.Is(err, os.ErrPermission) || !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	read, err := sessions.Read(t.Context(), idA, &sessions.ReadOptions{Store: s})
	if !errors.Is(err, os.ErrPermission) || read == nil || len(read.Unlinked) != 1 || read.Unlinked[0].ID != "2" {
		t.Errorf("got %+v, %v", read, err)
	}
}

// answered is a line with an answer that used tokens.
func answered(uuid, parent string) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":%q,"parentUuid":%q,"sessionId":%q,"timestamp":"2026-01-01T00:00:00Z",`+
		`"message":{"id":%[1]q,"role":"assistant","model":"m","content":"Yes","usage":{"output_tokens":1}}}`+"\n", uuid, parent, idA)
}

// Damage that a crash or an editor left in a file affects only the damaged line, for all readers.
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

// whatReadersSay reads the only session of a directory with all readers.
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
	calls := readUsage(t, &sessions.UsageOptions{Store: folder}).Tally.Calls()
	return fmt.Sprintf("%s, %d chunks, %d messages, %d answer", list[0].Title(), len(read.Chunks), messages, len(calls))
}
