package prompts

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestImagePaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"look at shot.png":                    {"shot.png"},
		"@a/b.JPG, then @a/b.JPG and c.jpeg.": {"a/b.JPG", "c.jpeg"},
		`/tmp/my\ shot.png`:                   {"/tmp/my shot.png"},
		`see "my shot.webp" and 'x y.gif'`:    {"my shot.webp", "x y.gif"},
		"file:///tmp/a.png":                   {"/tmp/a.png"},
		"png and .png files, a.pngx":          nil,
	} {
		if diff := cmp.Diff(want, imagePaths(text)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}

// A file with the content of an image is an image, whatever its name.
func TestImages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string]string{
		"a.png": "\x89PNG\r\n\x1a\nrest", "b.jpg": "\xff\xd8\xffrest", "c.gif": "GIF89arest", "d.webp": "RIFF1234WEBPrest",
		"secret.png": "password", "large.png": "\x89PNG\r\n\x1a\n" + strings.Repeat("x", maxImage),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "dir.png"), 0o700); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, image := range Images("a.png b.jpg @c.gif d.webp secret.png large.png dir.png missing.png", dir) {
		got = append(got, image.Path+" "+image.Block.Source.MediaType)
	}
	want := []string{"a.png image/png", "b.jpg image/jpeg", "c.gif image/gif", "d.webp image/webp"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	output, err := Shell(t.Context(), "echo one; echo two >&2; exit 3", dir)
	if output != "one\ntwo" || err == nil || err.Error() != "exit status 3" {
		t.Errorf("%q, %v", output, err)
	}
	output, err = Shell(t.Context(), "yes | head -c 100000", dir)
	if want := "… 70000 more bytes"; err != nil || !strings.HasSuffix(output, want) || len(output) > maxOutput+len(want)+1 {
		t.Errorf("%d bytes, %v", len(output), err)
	}
	output, err = Shell(t.Context(), "sleep 1000 & echo $!", dir)
	if pid, atoiErr := strconv.Atoi(output); err != nil || atoiErr != nil {
		t.Errorf("a command in the background: %q, %v", output, err)
	} else if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Shell(ctx, "sleep 1000", dir); err == nil {
		t.Error("it runs although it was ended")
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "below", "history")
	h := OpenHistory(path)
	for _, entry := range []string{"one", "one", "two\nlines", "", strings.Repeat("x", maxHistoryBytes+1), "three"} {
		if err := h.Save(entry); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if want := "\"one\"\n\"two\\nlines\"\n\"three\"\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got := OpenHistory(path); got.Len() != 3 || got.Newest(2) != "two\nlines" {
		t.Errorf("%d entries", got.Len())
	}
	if got := OpenHistory(""); got.Len() != 0 || got.Save("x") != nil {
		t.Error("a history without a file fails")
	}
}

// A prompt that another process saves after the file was read is not lost when the file is shortened.
func TestHistoryShortenedByAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history")
	other := OpenHistory(path)
	for i := range 2 * maxHistory {
		if err := other.Save(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, lines, err := historyEntries(file); lines != 2*maxHistory || err != nil {
		t.Fatal(lines, err)
	}
	for _, prompt := range []string{"before", "after"} {
		if err := other.Save(prompt); err != nil {
			t.Fatal(err)
		}
		if err := shortenHistory(path); err != nil {
			t.Fatal(err)
		}
	}
	if h := OpenHistory(path); h.Len() != maxHistory || h.Newest(1) != "after" || h.Newest(2) != "before" {
		t.Errorf("%d entries, the last ones are %q and %q", h.Len(), h.Newest(2), h.Newest(1))
	}
}

// A file that has become long is written again, with the newest prompts.
func TestHistoryRewritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history")
	var all strings.Builder
	for i := range 3 * maxHistory {
		fmt.Fprintf(&all, "%q\nnot JSON\n", fmt.Sprint(i))
	}
	if err := os.WriteFile(path, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if h := OpenHistory(path); h.Len() != maxHistory || h.Newest(1) != fmt.Sprint(3*maxHistory-1) {
		t.Errorf("%d entries", h.Len())
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != maxHistory {
		t.Errorf("%d lines, %v", strings.Count(string(text), "\n"), err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"upload/server.go", "upload/client.go", "cmd/upload.go", "docs/an upload.md", ".git/upload", ".github/upload.yml", "node_modules/upload/x"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for word, want := range map[string][]string{
		"UPL":        {"upload/", "upload/server.go", "upload/client.go", "cmd/upload.go", "docs/an upload.md"},
		"upload/s":   {"upload/server.go"},
		"server":     {"upload/server.go"},
		".github/up": {".github/upload.yml"},
		"none":       nil,
	} {
		got := Files(t.Context(), dir, word)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got)\n%s", word, diff)
		}
	}
	if got := Files(t.Context(), dir, "upl"); got[0] != "upload/" || got[len(got)-1] != "docs/an upload.md" {
		t.Errorf("the order is %q", got)
	}
}

func TestReadUntil(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{"": "", "END": "", "one\nEND": "one\n", "EENDEND": "E", "ENENDmore": "EN", "EN": "EN"} {
		for _, r := range []io.Reader{strings.NewReader(input), iotest.OneByteReader(strings.NewReader(input))} {
			var b limitedBuffer
			b.readUntil(r, []byte("END"))
			if got := b.String(); got != want {
				t.Errorf("%q: %q, want %q", input, got, want)
			}
		}
	}
}
