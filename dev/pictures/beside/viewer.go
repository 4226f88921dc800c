package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A glance at the viewer: the keys that lead to a screen from the previous one, and a text on that
// screen.
type glance struct {
	name string
	keys []string // as tmux names them
	see  string
}

// viewerGlances lead through the viewer's screens, from the session list of the tour.
var viewerGlances = []glance{
	{"sessions", nil, "Fix the flaky upload test"},
	{"filter", []string{"/", "u", "p", "l"}, "upl"},
	{"session", []string{"Enter"}, "runs pass"},
	{"session-unfolded", []string{"g", "}", "Tab"}, "refused"},
	{"find", []string{"/", "e", "r", "r", "o", "r", "Enter"}, "of"},
	{"row", []string{"Escape", "g", "}", "Enter"}, "Result"},
	{"agents", []string{"q", "a"}, "Explore"},
	{"files", []string{"q", "f"}, "server.go"},
	{"context", []string{"q", "x"}, "%"},
	{"usage", []string{"q", "$"}, "opus"},
	{"help", []string{"q", "?"}, "follow"},
	{"search", []string{"q", "C-f", "u", "p", "l", "o", "a", "d"}, "upload"},
}

// The sizes of the terminals of the pictures.
var viewerSizes = [][2]int{{80, 24}, {160, 50}, {40, 12}}

// runViewer makes pictures of the viewer's screens with the sessions of the tour.
func runViewer(ctx context.Context, out, only string, _ int) error {
	dir, err := os.MkdirTemp("", "viewer-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary directory
	clew, tour := filepath.Join(dir, "clew"), filepath.Join(dir, "tour")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if _, err := output(ctx, "go", "build", "-o", clew, "./cmd/clew"); err != nil {
		return err
	}
	if _, err := output(ctx, clew, "demo", "--fast", "--yes", "--dir", tour); err != nil {
		return err
	}
	var errs []error
	for _, size := range viewerSizes {
		v := &viewing{dir: dir, out: out, only: only, screen: tmux{filepath.Base(dir) + fmt.Sprint(size[0]), size[0], size[1]}}
		env := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "CLAUDE_CONFIG_DIR=" + filepath.Join(tour, "claude"), "LANG=C.UTF-8"}
		err := v.screen.open(ctx, dir, env, clew)
		if err == nil {
			err = v.through(ctx)
		}
		v.screen.close(context.WithoutCancel(ctx))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// A viewing goes through the screens at a terminal of one size.
type viewing struct {
	dir, out, only string
	screen         tmux
}

func (v *viewing) through(ctx context.Context) error {
	for _, g := range viewerGlances {
		for _, key := range g.keys {
			if err := v.screen.press(ctx, key); err != nil {
				return err
			}
		}
		lines, err := v.screen.see(ctx, g.see)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		if v.only != "" && !slices.Contains(strings.Split(v.only, ","), g.name) {
			continue
		}
		for _, t := range []theme{dark, light} {
			picture := filepath.Join(v.out, fmt.Sprintf("%s-%d-%s.png", g.name, v.screen.columns, t.name))
			if err := t.draw(ctx, v.dir, picture, v.screen.columns, window{"clew, " + g.name, lines}); err != nil {
				return fmt.Errorf("%s: %w", g.name, err)
			}
			fmt.Println(picture)
		}
	}
	return nil
}
