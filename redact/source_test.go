package redact

import (
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
)

// goroot returns the directory of Go. A binary that was built with -trimpath does not know it.
func goroot(tb testing.TB) string {
	tb.Helper()
	if build.Default.GOROOT != "" {
		return build.Default.GOROOT
	}
	out, err := exec.CommandContext(tb.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// sources returns the text of one in so many files of Go's standard library and tools.
func sources(tb testing.TB, oneIn int) []string {
	tb.Helper()
	var texts []string
	files := 0
	err := filepath.WalkDir(filepath.Join(goroot(tb), "src"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files++
		if files%oneIn != 0 {
			return nil
		}
		text, err := os.ReadFile(path)
		texts = append(texts, string(text))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return texts
}

// realSecrets matches lines of Go's source that have what is a secret by its form: keys, headers
// and URLs with passwords in tests and examples.
var realSecrets = regexp.MustCompile(`(?i)basic [a-z0-9]{12,}|://[^/\s]*:[^/\s]*@|secr3t|asdf|kremvax|(?:PrivateKey|Secret): +"[0-9a-f]{32}|` +
	`PRIVATE KEY|cookie: |\bpassword (?:pwd|is)|password=longpassword`)

// Of a megabyte of source code, at most one place is taken for a secret that is none.
func TestRedactLeavesSource(t *testing.T) {
	t.Parallel()
	size, wrong, rules := 0, 0, Rules()
	for _, text := range sources(t, soak.Size(64, 1)) {
		size += len(text)
		for line := range strings.Lines(text) {
			var r Redactor
			if r.Text(line); realSecrets.MatchString(line) {
				continue
			}
			for _, rule := range rules {
				if n := r.counts[rule.Name]; n > 0 && !rule.personal {
					t.Logf("%s: %s", rule.Name, strings.TrimSpace(line))
					wrong += n
				}
			}
		}
	}
	soak.Figure(t, "%d wrong marks in %d bytes", wrong, size)
	if size < soak.Size(1_000_000, 4_000_000) || wrong*1_000_000 > size {
		t.Errorf("%d wrong marks in %d bytes", wrong, size)
	}
}

func benchmarkTexts(b *testing.B, mask func(string) string) {
	for name, texts := range map[string][]string{
		"source": sources(b, 50),
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
