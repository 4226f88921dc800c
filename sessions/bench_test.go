package sessions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// BenchmarkList lists many sessions, each of a few entries. The time for each session must not grow with their number.
func BenchmarkList(b *testing.B) {
	for _, count := range []int{1_000, 10_000} {
		memory, folder := sessions.NewMemory(), sessions.NewFolder(b.TempDir())
		for i := range count {
			key := wire.SessionKey{Project: fmt.Sprintf("p-%d", i%100), SessionID: id(i)}
			for _, s := range []sessions.Store{memory, folder} {
				if err := s.Append(b.Context(), key, []wire.JSON{user("1", ""), assistant("2", "1")}); err != nil {
					b.Fatal(err)
				}
			}
		}
		for name, s := range map[string]sessions.Store{
			"summarizer": memory, "loaded": loadedStore{memory, memory}, "folder": folder,
		} {
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					infos, err := sessions.List(b.Context(), &sessions.ListOptions{Store: s})
					if err != nil || len(infos) != count {
						b.Fatalf("got %d sessions, %v", len(infos), err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/session")
			})
		}
	}
}

// BenchmarkListLarge lists 200 sessions of 340 MB: only the ends of the files are read.
func BenchmarkListLarge(b *testing.B) {
	const count, lines = 200, 560
	dir := b.TempDir()
	var text strings.Builder
	text.WriteString(string(prompt(`"Said first"`)) + "\n")
	for i := range lines {
		text.WriteString(string(entry("user", fmt.Sprint(i), fmt.Sprint(i-1),
			`,"cwd":"/code","timestamp":"2026-05-01T00:00:00Z","text":"`+strings.Repeat("x \\n", 750)+`"`)) + "\n")
	}
	for i := range count {
		file := filepath.Join(dir, fmt.Sprintf("p-%d", i%20), id(i)+".jsonl")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		infos, err := sessions.List(b.Context(), &sessions.ListOptions{Store: sessions.NewFolder(dir)})
		if err != nil || len(infos) != count {
			b.Fatalf("got %d sessions, %v", len(infos), err)
		}
	}
}

// BenchmarkRename renames a session of 100 MB: the file is not read.
func BenchmarkRename(b *testing.B) {
	dir := b.TempDir()
	file := filepath.Join(dir, "p", idA+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		b.Fatal(err)
	}
	line := string(entry("user", "1", "", `,"text":"`+strings.Repeat("x", 2000)+`"`)) + "\n"
	if err := os.WriteFile(file, []byte(strings.Repeat(line, 50_000)), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := sessions.Rename(b.Context(), idA, "A title", &sessions.Options{Store: sessions.NewFolder(dir)}); err != nil {
			b.Fatal(err)
		}
	}
}

// A loadedStore has no summaries.
type loadedStore struct {
	sessions.Store
	sessions.ProjectLister
}

// BenchmarkFolderAppend appends one entry to a large file: for the first time, when it is read for its UUIDs, and later.
func BenchmarkFolderAppend(b *testing.B) {
	const size = 200 << 20
	dir := b.TempDir()
	file := filepath.Join(dir, "p", idA+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		text.WriteString(string(entry("user", fmt.Sprint(i), "", `,"text":"`+strings.Repeat("x", 2000)+`"`)) + "\n")
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	known := sessions.NewFolder(dir)
	if err := known.Append(b.Context(), keyA, []wire.JSON{user("known", "")}); err != nil {
		b.Fatal(err)
	}
	for name, folder := range map[string]func() *sessions.Folder{
		"first": func() *sessions.Folder { return sessions.NewFolder(dir) },
		"later": func() *sessions.Folder { return known },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := folder().Append(b.Context(), keyA, []wire.JSON{user(fmt.Sprint(name, i), "")}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
