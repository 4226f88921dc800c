package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A line that somebody is in the middle of is not broken: a change waits for its end.
func TestChangeWaitsForEndOfLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	half, rest := `{"type":"user","uuid":"1","message":{"content":"Said`, " and done\"}}\n"
	write(t, dir, "p/"+idA+".jsonl", half)
	file := filepath.Join(dir, "p", idA+".jsonl")
	soon := time.Now().Add(900 * time.Millisecond) // so that it does not seem torn before the test has seen it wait
	if err := os.Chtimes(file, soon, soon); err != nil {
		t.Fatal(err)
	}
	opts := &sessions.Options{Store: sessions.NewFolder(dir)}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for name, change := range map[string]func() error{
		"Rename": func() error { return sessions.Rename(short, idA, "x", opts) },
		"Append": func() error { return opts.Store.Append(short, keyA, []wire.JSON{`{"uuid":"2"}`}) },
	} {
		if err := change(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want that it waits", name, err)
		}
	}
	if got := read(t, dir, "p/"+idA+".jsonl"); got != half {
		t.Fatalf("the file is now %q", got)
	}
	done := make(chan error)
	go func() { done <- sessions.Rename(t.Context(), idA, "Renamed", opts) }()
	appendTo(t, file, rest)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "p/"+idA+".jsonl"); !strings.HasPrefix(got, half+rest+`{"type":"custom-title"`) {
		t.Errorf("the file is now %q", got)
	}
}

// appendTo writes to the end of a file as the agent does.
func appendTo(t *testing.T, name, text string) {
	t.Helper()
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Error(err)
	}
}

// A session may be changed while an agent writes to it: nothing of either is lost.
func TestChangeWhileWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := &sessions.Options{Store: sessions.NewFolder(dir)}
	write(t, dir, "p/"+idA+".jsonl", string(user("0", ""))+"\n")
	file := filepath.Join(dir, "p", idA+".jsonl")
	const lines, changes = 500, 50
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range lines {
			appendTo(t, file, string(user(fmt.Sprint(i+1), fmt.Sprint(i)))+"\n")
		}
	}()
	for i := range changes {
		if err := sessions.Rename(t.Context(), idA, fmt.Sprint("Title ", i), opts); err != nil {
			t.Fatal(err)
		}
		if _, err := sessions.Fork(t.Context(), idA, &sessions.ForkOptions{Store: opts.Store}); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	opts.Store.(*sessions.Folder).Skipped = func(l sessions.SkippedLine) { t.Errorf("a line is broken: %+v", l) }
	if got := len(mustLoad(t, opts.Store, keyA)); got != 1+lines+changes {
		t.Errorf("got %d entries, want %d", got, 1+lines+changes)
	}
}
