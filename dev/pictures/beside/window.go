package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// rows is the height of a terminal; a picture leaves out the blank ones at its end.
const rows = 48

// A window is the content of a terminal: its title in the picture, and its lines with escape
// sequences for styles and no others.
type window struct{ title, lines string }

// A tmux is a server of tmux that nobody else uses, with one window.
type tmux struct {
	socket  string
	columns int
	rows    int // rows if it is 0
}

// open runs a command with this environment alone, and keeps its last screen when it ends.
func (t tmux) open(ctx context.Context, dir string, env []string, command ...string) error {
	args := []string{"-L", t.socket, "-f", "/dev/null", "new-session", "-d", "-c", dir,
		"-x", fmt.Sprint(t.columns), "-y", fmt.Sprint(cmp.Or(t.rows, rows)), "--", "env", "-i"}
	args = append(append(args, env...), "TERM=xterm-256color", "COLORTERM=truecolor", "sh", "-c", `"$@"; exec sleep 600`, "sh")
	if _, err := output(ctx, "tmux", append(args, command...)...); err != nil {
		return fmt.Errorf("pictures of terminals need tmux: %w", err)
	}
	_, err := output(ctx, "tmux", "-L", t.socket, "set-option", "-g", "status", "off")
	return err
}

func (t tmux) close(ctx context.Context) {
	_, _ = output(ctx, "tmux", "-L", t.socket, "kill-server") // it may have ended
}

// typeText types text as a user does.
func (t tmux) typeText(ctx context.Context, text string) error {
	_, err := output(ctx, "tmux", "-L", t.socket, "send-keys", "-l", text)
	return err
}

// press presses keys by their names in tmux.
func (t tmux) press(ctx context.Context, keys ...string) error {
	_, err := output(ctx, "tmux", append([]string{"-L", t.socket, "send-keys"}, keys...)...)
	return err
}

// see waits until the screen has a text and has not changed for a while, and returns it.
func (t tmux) see(ctx context.Context, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var before string
	var quiet int
	for quiet < 3 || !strings.Contains(before, text) {
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("there is no %q on the screen:\n%s", text, before)
		case <-time.After(200 * time.Millisecond):
		}
		now, err := output(ctx, "tmux", "-L", t.socket, "capture-pane", "-p")
		if err != nil {
			return "", err
		}
		quiet++
		if now != before {
			quiet = 0
		}
		before = now
	}
	return output(ctx, "tmux", "-L", t.socket, "capture-pane", "-p", "-e")
}
