// Command pictures makes what the README shows of the program, by running it: a recording of "clew demo" on a terminal as
// an animated picture, a picture of the page that the demo exports, and a block of text with the output of its commands.
// "make pictures" runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"
)

// Where things are, from the root of the repository.
const (
	readme       = "README.md"
	terminalFile = "docs/pictures/demo.svg"
	pageFile     = "docs/pictures/page.png"
)

// limit is how long all of it may take.
const limit = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1) //nolint:gocritic // there is nothing left to be cancelled
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "pictures-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary folder
	clew := filepath.Join(dir, "clew")
	if runtime.GOOS == "windows" {
		clew += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", clew, "./cmd/clew")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the program, which is done in the root of the repository: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(terminalFile), 0o755); err != nil {
		return err
	}
	return errors.Join(
		writeBlock(readme), //nolint:contextcheck // the program makes its own
		drawTerminal(ctx, clew, filepath.Join(dir, "tour")),
		drawPage(ctx, clew, dir),
	)
}

// save writes a file and says so.
func save(path string, data []byte, most int) error {
	if len(data) > most {
		return fmt.Errorf("%s would have %d bytes, which is more than %d", path, len(data), most)
	}
	fmt.Printf("%s: %d bytes\n", path, len(data))
	return os.WriteFile(path, data, 0o644) //nolint:gosec // everybody may see it
}
