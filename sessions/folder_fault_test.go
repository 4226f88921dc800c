package sessions_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

var errDisk = errors.New("the disk is full")

func TestFolderFailedWriteIsCutOff(t *testing.T) {
	t.Parallel()
	for after := range 30 { // bytes that get through
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
	if err := os.Mkdir(beside, 0o700); err != nil { // a folder can't be replaced by a file
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
	read, err := sessions.Read(t.Context(), idA, &sessions.ReadOptions{Options: sessions.Options{Store: s}})
	if !errors.Is(err, os.ErrPermission) || read == nil || len(read.Unlinked) != 1 || read.Unlinked[0].ID != "2" {
		t.Errorf("got %+v, %v", read, err)
	}
}
