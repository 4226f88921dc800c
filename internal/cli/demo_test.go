package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// An interrupt ends the demo wherever it is, and leaves no folder behind if there is nothing in it to go on with.
func TestDemoInterrupted(t *testing.T) {
	for _, at := range []string{"$ clew run", "* Agent", "Allow it?", "$ clew show"} {
		t.Run(at, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			t.Setenv("TMP", temp)
			t.Setenv("CLAUDE_CONFIG_DIR", "before")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &watcher{text: at, seen: cancel}
			var errs bytes.Buffer
			if code := execute(ctx, []string{"demo"}, Streams{In: strings.NewReader(""), Out: out, Err: &errs}); code != exitInterrupted {
				t.Errorf("exit code %d: %s", code, errs.String())
			}
			if got := errs.String(); !strings.HasPrefix(got, "clew demo: ") && !strings.HasPrefix(got, "clew show: ") {
				t.Errorf("stderr is %q", got)
			}
			left, err := os.ReadDir(temp)
			if err != nil || len(left) > 0 != strings.Contains(out.all.String(), "$ clew ls") {
				t.Errorf("left: %v, %v", left, err)
			}
			if got := os.Getenv("CLAUDE_CONFIG_DIR"); got != "before" {
				t.Errorf("CLAUDE_CONFIG_DIR is %q", got)
			}
		})
	}
}
