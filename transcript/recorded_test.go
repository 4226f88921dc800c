package transcript

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// recordedFiles returns the paths of all recorded transcripts, those of subagents included.
func recordedFiles(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*/transcript.jsonl", "*/subagents/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join("testdata", "recorded", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no recordings for %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	return files
}

// recordedLines returns the lines of all recorded transcripts.
func recordedLines(t testing.TB) [][]byte {
	t.Helper()
	var lines [][]byte
	for _, file := range recordedFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, bytes.Split(bytes.TrimSpace(data), []byte("\n"))...)
	}
	return lines
}
