package redact

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// sources returns the texts of Go's standard library, up to the given size.
func sources(tb testing.TB, size int) []string {
	tb.Helper()
	var texts []string
	err := filepath.WalkDir(filepath.Join(runtime.GOROOT(), "src"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || size <= 0 || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		texts, size = append(texts, string(text)), size-len(text)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return texts
}

func benchmarkTexts(b *testing.B, mask func(string) string) {
	for name, texts := range map[string][]string{
		"source": sources(b, 2_000_000),
		"error":  {"clew: the agent refused mcp_call: connection to 127.0.0.1:8080 refused: no such file or directory"},
		"log":    {strings.Repeat("2026-01-02T03:04:05Z INFO served the page in 35 ms, 12 rows, status ok\n", 20_000)},
	} {
		b.Run(name, func(b *testing.B) {
			size := 0
			for _, text := range texts {
				size += len(text)
			}
			b.SetBytes(int64(size))
			for b.Loop() {
				for _, text := range texts {
					mask(text)
				}
			}
		})
	}
}

func BenchmarkMask(b *testing.B) { benchmarkTexts(b, Mask) }

func BenchmarkRedact(b *testing.B) {
	benchmarkTexts(b, func(text string) string { return new(Redactor).Text(text) })
}
