// Command beside makes pictures of the program beside Claude Code on the same data. Both run over a
// scripted model. Each terminal is a window of tmux, and Chromium draws what the windows show. "make
// beside" runs it, and "make screens" runs it for pictures of the viewer alone.
//
// The pictures are for looking at, before a change of a screen is called finished: nothing compares
// them, and they are not part of the repository.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// limit bounds the whole run.
const limit = 10 * time.Minute

func main() {
	out := flag.String("out", filepath.Join(".cache", "beside"), "directory for the pictures")
	only := flag.String("only", "", "comma-separated pictures to make, of "+strings.Join(sceneNames(), ","))
	columns := flag.Int("columns", 90, "columns of each terminal")
	viewer := flag.Bool("viewer", false, "make pictures of the screens of the viewer instead, in a light and a dark terminal")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, cancel := context.WithTimeout(ctx, limit)
	pictures := run
	if *viewer {
		pictures = runViewer
	}
	err := pictures(ctx, *out, *only, *columns)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "beside:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, only string, columns int) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "beside-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary directory
	s, err := newStage(ctx, dir, columns)
	if err != nil {
		return err
	}
	defer s.close(context.WithoutCancel(ctx))
	for _, scene := range chosen {
		left, right, err := scene.play(s, ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", scene.name, err)
		}
		picture := filepath.Join(out, scene.name+".png")
		if err := draw(ctx, dir, picture, columns, left, right); err != nil {
			return fmt.Errorf("%s: %w", scene.name, err)
		}
		fmt.Println(picture)
	}
	return nil
}

// A scene shows the same on two terminals.
type scene struct {
	name string
	play func(*stage, context.Context) (left, right window, err error)
}

// scenes are in the order in which they need each other: sessions that are listed have been run.
func scenes() []scene {
	return []scene{
		{"question", (*stage).question},
		{"chat-question", (*stage).chatQuestion},
		{"chat", (*stage).chatTurn},
		{"run", (*stage).turn},
		{"show", (*stage).show},
		{"ls", (*stage).list},
	}
}

func sceneNames() []string {
	var names []string
	for _, s := range scenes() {
		names = append(names, s.name)
	}
	return names
}

func choose(only string) ([]scene, error) {
	if only == "" {
		return scenes(), nil
	}
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.Contains(sceneNames(), name) {
			return nil, fmt.Errorf("-only: there is no picture %q", name)
		}
	}
	return slices.DeleteFunc(scenes(), func(s scene) bool { return !slices.Contains(wanted, s.name) }), nil
}

// output runs a command and returns what it prints.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var errs strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, errs.String())
	}
	return string(out), nil
}
