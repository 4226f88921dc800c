package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/cli"
)

// What the block stands between.
const (
	blockBegins = "<!-- made by make pictures -->\n```text\n"
	blockEnds   = "```\n<!-- end -->\n"
)

// writeBlock puts the output of today into a file.
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
		return "", fmt.Errorf("there is no place for the block, between %q and %q", blockBegins, blockEnds)
	}
	return before + blockBegins + block + blockEnds + after, nil
}

// shown are the commands of the demo whose output is in the block; the picture has the others as well.
var shown = []string{"run", "ls", "search", "stats", "export"}

// demoBlock runs the demo and returns the output of its commands.
func demoBlock() (string, error) {
	dir, err := os.MkdirTemp("", "block-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary folder
	tour := filepath.Join(dir, "tour")
	var out, errs bytes.Buffer
	args := []string{"demo", "--fast", "--yes", "--dir", tour}
	if code := cli.Main(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
		return "", fmt.Errorf("clew demo: exit code %d: %s", code, errs.String())
	}
	commands := strings.Split(steady(out.String(), tour), "\n\n$ ")[1:]
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
	days  = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
	times = regexp.MustCompile(`\b\d\d:\d\d\b`)
)

// steady returns output without what is another each time: times, and the name of a temporary folder.
func steady(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "/tmp/tour")
	return times.ReplaceAllString(days.ReplaceAllString(text, "2026-11-15"), "15:04")
}
