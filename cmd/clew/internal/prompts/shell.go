package prompts

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// maxOutput is the maximum number of bytes of a command's output that are kept.
const maxOutput = 30_000

// Shell runs a command of the user in a directory, with no input, and returns the start of its output. It does not wait
// for processes that the command leaves in the background. When the context is done, the command ends with everything
// that it has started.
func Shell(ctx context.Context, command, dir string) (output string, err error) {
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	var out limitedBuffer
	end := []byte(rand.Text())
	read := make(chan struct{})
	go func() {
		defer close(read)
		out.readUntil(r, end)
	}()
	cmd := exec.CommandContext(ctx, shell[0], shell[1], command) //nolint:gosec // the user has typed it
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, w, w
	inOwnGroup(cmd)
	err = cmd.Run()
	// Something in the background may keep the pipe open, so that there is no end of it. Whatever the
	// command itself has written is before this.
	_, endErr := w.Write(end)
	err = cmp.Or(err, endErr, w.Close())
	<-read
	return strings.TrimRight(out.String(), "\n"), err
}

// A limitedBuffer keeps the start of the text that is written to it.
type limitedBuffer struct {
	buf  bytes.Buffer
	more int // bytes that were not kept
}

func (b *limitedBuffer) write(p []byte) {
	n := min(len(p), maxOutput-b.buf.Len())
	b.buf.Write(p[:n])
	b.more += len(p) - n
}

// readUntil reads until it has read a text, or can't read more.
func (b *limitedBuffer) readUntil(r io.Reader, end []byte) {
	chunk := make([]byte, 32<<10)
	held := 0 // bytes at the start of chunk that may be a part of the end
	for {
		n, err := r.Read(chunk[held:])
		n += held
		if i := bytes.Index(chunk[:n], end); i >= 0 {
			b.write(chunk[:i])
			return
		}
		if err != nil {
			b.write(chunk[:n])
			return
		}
		held = min(n, len(end)-1)
		b.write(chunk[:n-held])
		copy(chunk, chunk[n-held:n])
	}
}

func (b *limitedBuffer) String() string {
	text := strings.ToValidUTF8(b.buf.String(), "\uFFFD")
	if b.more > 0 {
		text += fmt.Sprintf("\n… %d more bytes", b.more)
	}
	return text
}
