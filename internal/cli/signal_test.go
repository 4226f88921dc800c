package cli

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestSignal sends signals to a process: TestMain has put this binary into the
// path under the name of the program.
func TestSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to another process")
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			var errs strings.Builder
			cmd := exec.CommandContext(t.Context(), "clew", "inspect", "--json")
			cmd.Stderr = &errs
			out := startAndRead(t, cmd)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
				t.Errorf("after the signal: %q, %v", rest, err)
			}
			_ = cmd.Wait() // the code says it
			want := "clew inspect: interrupted; the output covers what was read until then\n"
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || errs.String() != want {
				t.Errorf("exit code %d, stderr %q; want %d, %q", code, errs.String(), exitInterrupted, want)
			}
		})
	}
}

// startAndRead starts a listing, sends it a frame, and waits until that is listed.
// The process then waits for more.
func startAndRead(t *testing.T, cmd *exec.Cmd) io.Reader {
	t.Helper()
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"type":"keep_alive"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "keep_alive") {
		t.Fatalf("listed %q, %v", line, err)
	}
	return lines
}
