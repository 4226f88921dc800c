package prompts

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// maxOutput is how many bytes of the output of a command are kept.
const maxOutput = 30_000

// waitDelay is how long a command that has ended may leave its output open.
const waitDelay = 100 * time.Millisecond

// Shell runs a command of the user in a directory, with no input, and returns the beginning of its
// output. It ends when the context is done, with all that it has started.
func Shell(ctx context.Context, command, dir string) (output string, err error) {
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], command) //nolint:gosec // the user has typed it
	cmd.Dir, cmd.WaitDelay = dir, waitDelay
	var out limitedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	inOwnGroup(cmd)
	err = cmd.Run()
	return strings.TrimRight(out.String(), "\n"), err
}

// A limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more int // bytes that were not kept
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(p), maxOutput-b.buf.Len())
	b.buf.Write(p[:n])
	b.more += len(p) - n
	return len(p), nil
}

func (b *limitedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.ToValidUTF8(b.buf.String(), "\uFFFD")
	if b.more > 0 {
		text += fmt.Sprintf("\n… %d more bytes", b.more)
	}
	return text
}
