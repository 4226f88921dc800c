// Command pictures runs the program to make the pictures and the output in its documentation. These
// are a recording of "clew demo" on a terminal as an animated picture, a picture of a page of
// "clew serve", and a block of text with the output of the demo's commands. "make pictures" runs it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/pictures/browser"
	"github.com/clewdev/clew/cmd/clew/internal/cli"
)

// The files that it writes, from the root of the repository.
const (
	manual       = "docs/program.md"
	terminalFile = "docs/pictures/demo.svg"
	serveFile    = "docs/pictures/serve.png"
)

// limit bounds the whole run.
const limit = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1) //nolint:gocritic // there is nothing left to cancel
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "pictures-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary directory
	clew := filepath.Join(dir, "clew")
	if runtime.GOOS == "windows" {
		clew += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", clew, "./cmd/clew")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the program (run this in the root of the repository): %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(terminalFile), 0o755); err != nil {
		return err
	}
	return errors.Join(
		writeBlock(manual), //nolint:contextcheck // the program makes its own
		drawTerminal(ctx, clew, filepath.Join(dir, "tour")),
		drawServer(ctx, clew, dir),
	)
}

// save writes a file and prints its size. The error says if it would have more than most bytes.
func save(path string, data []byte, most int) error {
	if len(data) > most {
		return fmt.Errorf("%s would have %d bytes, which is more than %d", path, len(data), most)
	}
	fmt.Printf("%s: %d bytes\n", path, len(data))
	return os.WriteFile(path, data, 0o644) //nolint:gosec // it is public
}

// The lines before and after the block.
const (
	blockBegins = "<!-- made by make pictures -->\n```text\n"
	blockEnds   = "```\n<!-- end -->\n"
)

// writeBlock replaces the block in a file by the current output.
func writeBlock(path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	block, err := demoBlock()
	if err != nil {
		return err
	}
	text, err := replaceBlock(string(old), block)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return save(path, []byte(text), 1<<20)
}

// replaceBlock returns text with another block.
func replaceBlock(text, block string) (string, error) {
	before, rest, begun := strings.Cut(text, blockBegins)
	_, after, ended := strings.Cut(rest, blockEnds)
	if !begun || !ended {
		return "", fmt.Errorf("the lines before and after the block are missing: %q and %q", blockBegins, blockEnds)
	}
	return before + blockBegins + block + blockEnds + after, nil
}

// shown are the commands of the demo whose output is in the block. The picture has the others as
// well: lists have another form on a terminal, and the block is made without one.
var shown = []string{"run", "show", "stats", "export"}

// demoBlock runs the demo and returns the output of its commands.
func demoBlock() (string, error) {
	dir, err := os.MkdirTemp("", "block-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary directory
	tour := filepath.Join(dir, "tour")
	var out, errs bytes.Buffer
	args := []string{"demo", "--fast", "--yes", "--dir", tour}
	if code := cli.Main(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
		return "", fmt.Errorf("clew demo: exit code %d: %s", code, errs.String())
	}
	commands := strings.Split(normalize(out.String(), tour), "\n\n$ ")[1:]
	if len(commands) == 0 {
		return "", errors.New("clew demo shows no commands")
	}
	var parts []string
	for _, part := range commands {
		part, _, _ = strings.Cut(part, "\n\nAll files are in ")
		if verb := strings.Fields(part)[1]; slices.Contains(shown, verb) {
			parts = append(parts, "$ "+strings.TrimSpace(part)+"\n")
		}
	}
	return strings.Join(parts, "\n"), nil
}

var (
	stamps = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d\b`)
	days   = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
	dates  = regexp.MustCompile(`\b\d\d? [A-Z][a-z]{2} 20\d\d\b`)
	times  = regexp.MustCompile(`\b\d\d:\d\d\b`)
)

// normalize replaces what differs in each run: dates, times, and the name of a temporary directory, which commands
// quote if it contains a blank. The last day is always the same one.
func normalize(text, dir string) string {
	files := regexp.MustCompile(`["']?` + regexp.QuoteMeta(dir) + `([^\s"']*)["']?`)
	text = files.ReplaceAllString(text, "/tmp/tour$1")
	text = stamps.ReplaceAllString(text, "2026-11-15T15:04")
	last := slices.Max(append(days.FindAllString(text, -1), ""))
	text = days.ReplaceAllStringFunc(text, func(day string) string { return normalDay(day, last) })
	text = dates.ReplaceAllString(text, "15 Nov 2026")
	return times.ReplaceAllString(text, "15:04")
}

// normalDay returns a day that is as long before 2026-11-15 as day is before last.
func normalDay(day, last string) string {
	at, err := time.Parse(time.DateOnly, day)
	newest, lastErr := time.Parse(time.DateOnly, last)
	if err != nil || lastErr != nil {
		return day
	}
	return time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC).Add(at.Sub(newest)).Format(time.DateOnly)
}

// Limits of the picture of a page.
const (
	pageWidth, pageHeight = 1280, 1240
	pageBytes             = 400_000
)

// drawServer makes a picture of a session in the web viewer, with the sessions that the demo leaves.
func drawServer(ctx context.Context, clew, dir string) (err error) {
	tour := filepath.Join(dir, "page")
	if out, err := exec.CommandContext(ctx, clew, "demo", "--fast", "--yes", "--dir", tour).CombinedOutput(); err != nil {
		return fmt.Errorf("clew demo: %w\n%s", err, out)
	}
	config := filepath.Join(tour, "claude")
	found, err := filepath.Glob(filepath.Join(config, "projects", "*-uploader", "*.jsonl"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("the demo has the sessions %q, not one", found)
	}
	cmd := exec.CommandContext(ctx, clew, "serve", "--port", "0", "--json")
	cmd.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+config, "HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_STATE_HOME="+dir,
		"XDG_RUNTIME_DIR="+dir, "TZ=UTC")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill() // it has nothing to lose
		_ = cmd.Wait()         // it was killed
	}()
	var at struct{ URL, Code string }
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		return err
	}
	picture := filepath.Join(dir, "serve.png")
	page := strings.TrimSuffix(at.URL, "#"+at.Code) + "s/" + strings.TrimSuffix(filepath.Base(found[0]), ".jsonl") + "#" + at.Code
	if err := browser.Shoot(ctx, page, picture, pageWidth, pageHeight); err != nil {
		return err
	}
	data, err := os.ReadFile(picture)
	if err != nil {
		return err
	}
	return save(serveFile, data, pageBytes)
}
