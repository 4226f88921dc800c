package natsstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/nats/natsstore"
)

// blocks returns the files in which an embedded server keeps messages.
func blocks(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".blk" {
			found[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d blocks, %v", len(found), err)
	}
	return found
}

// readAll returns everything that can be read from a store in a directory.
func readAll(t *testing.T, dir string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
	defer cancel()
	s, err := natsstore.Open(ctx, &natsstore.Options{Dir: dir})
	if err != nil {
		return "", err
	}
	appendErr := s.Append(ctx, other, numbered(0, 1)) // is already there
	entries, loadErr := tryLoad(ctx, s, main)
	others, othersErr := tryLoad(ctx, s, other)
	times, timesErr := s.Sessions(ctx, main.Project)
	summaries, summariesErr := s.Summaries(ctx, main.Project)
	projects, projectsErr := s.Projects(ctx)
	return fmt.Sprint(entries, others, times, summaries, projects),
		errors.Join(appendErr, loadErr, othersErr, timesErr, summariesErr, projectsErr, s.Close())
}

// copyDir copies a directory.
func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// damageErrors are parts of error messages that name the damage.
var damageErrors = []string{
	"the server has lost messages", "earlier messages are missing", "the server can't read all messages",
	"does not match its checksum", "is not an append", "is not the last of its append", "the number of the message",
}

// namesDamage reports whether an error names the damage. A time-out does not.
func namesDamage(err error) bool {
	return !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "no answer") &&
		slices.ContainsFunc(damageErrors, func(part string) bool { return strings.Contains(err.Error(), part) })
}

// Whatever byte of the stored messages is damaged: the entries read are correct, or there is an
// error about the damage.
func TestDamageIsNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := natsstore.Open(t.Context(), &natsstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		appendTo(t, s, main, numbered(10*i, 10*i+3)...)
		appendTo(t, s, other, numbered(10*i, 10*i+1)...)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := readAll(t, copyDir(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	tries := soak.Size(20, 200)
	for _, rebuilt := range []bool{false, true} {
		for i := range tries {
			damaged := copyDir(t, dir)
			for path, content := range blocks(t, damaged) {
				at := i * len(content) / tries
				changed := bytes.Clone(content)
				changed[at] ^= byte(1 + i*37%255)
				if err := os.WriteFile(path, changed, 0o600); err != nil {
					t.Fatal(err)
				}
				if rebuilt { // the server then reads all blocks when it starts
					if err := os.Remove(filepath.Join(filepath.Dir(path), "index.db")); err != nil {
						t.Fatal(err)
					}
				}
				got, err := readAll(t, damaged)
				if err == nil && got != want || err != nil && !namesDamage(err) {
					t.Errorf("byte %d of %d is damaged, and nobody says so (index removed: %v): %v", at, len(content), rebuilt, err)
				}
			}
		}
	}
}

// The mark of a server records which messages existed, and can be removed.
func TestLostMessages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := natsstore.Open(t.Context(), &natsstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		appendTo(t, s, main, numbered(i, i+1)...)
		appendTo(t, s, other, numbered(i, i+1)...)
	}
	if err := s.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, other, numbered(0, 1)...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, &natsstore.Options{Dir: dir})
	checkLoad(t, again, other, numbered(0, 1))
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	for path, content := range blocks(t, dir) {
		if err := os.WriteFile(path, content[:len(content)/2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mark := filepath.Join(dir, "natsstore.mark")
	for range 2 { // the error stays
		if _, err := natsstore.Open(t.Context(), &natsstore.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), mark) {
			t.Errorf("got %v, want an error that names %s", err, mark)
		}
	}
	if err := os.WriteFile(mark, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := natsstore.Open(t.Context(), &natsstore.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), mark) {
		t.Errorf("got %v, want an error that names %s", err, mark)
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	left := open(t, &natsstore.Options{Dir: dir})
	if got := load(t, left, main); len(got) == 0 || len(got) > 5 {
		t.Errorf("%d entries are left", len(got))
	}
}

// A server with a damaged number of a message would take all memory, so it is not started. The
// error explains how to open the store with the remaining messages.
func TestDamagedNumber(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := natsstore.Open(t.Context(), &natsstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		appendTo(t, s, main, numbered(i, i+1)...)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	block, second := "", 0
	for path, content := range blocks(t, dir) {
		second = int(binary.LittleEndian.Uint32(content) &^ (1 << 31))
		content[second+4+5] ^= 1 // a byte of the number
		block, err = path, os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, dir, fmt.Sprintf("%s is damaged: the number of the message at byte %d", block, second))
	for _, file := range []string{filepath.Join(filepath.Dir(block), "index.db"), filepath.Join(dir, "natsstore.mark")} {
		wantOpenError(t, dir, file)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	checkLoad(t, open(t, &natsstore.Options{Dir: dir}), main, numbered(0, 1))
}

func wantOpenError(t *testing.T, dir, words string) {
	t.Helper()
	if _, err := natsstore.Open(t.Context(), &natsstore.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want an error with %q", err, words)
	}
}
