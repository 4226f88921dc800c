package statusline

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdev/clew/internal/polltest"
)

// playVariable makes the test binary one of the programs of TestStart: the directory of its files
// follows the word.
const (
	playVariable = "STATUSLINE_TEST"
	playDir      = "STATUSLINE_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch os.Getenv(playVariable) {
	case "starter": // it starts a program in the background, reports that, and runs until it is ended
		_ = os.Setenv(playVariable, "background")
		if err := Start(os.Args[0]); err != nil {
			fmt.Println(err)
		}
		fmt.Println("started")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "background": // it runs until it is asked to end
		dir := os.Getenv(playDir)
		_ = os.WriteFile(filepath.Join(dir, "running"), nil, 0o600)
		awaitFile(filepath.Join(dir, "end"))
		_ = os.WriteFile(filepath.Join(dir, "ended"), nil, 0o600)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// awaitFile waits for a file, and reports whether it came.
func awaitFile(path string) bool {
	return polltest.Eventually(func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// A program in the background keeps no pipe of its starter open, and outlives it, however it ends.
func TestStart(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), playVariable+"=starter", playDir+"="+dir)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if line, err := lines.ReadString('\n'); line != "started\n" {
			t.Fatalf("%q %v", line, err)
		}
		if !awaitFile(filepath.Join(dir, "running")) {
			t.Fatal("nothing runs in the background")
		}
		if kill {
			err = cmd.Process.Kill()
		} else {
			err = in.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		// The output ends here, while the program in the background keeps running.
		if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
			t.Errorf("%q %v", rest, err)
		}
		if err := cmd.Wait(); (err != nil) != kill {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "ended")); err == nil {
			t.Error("the program has ended before it was told to")
		}
		if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if !awaitFile(filepath.Join(dir, "ended")) {
			t.Error("the program did not outlive its starter")
		}
	}
}
