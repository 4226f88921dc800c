package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/clewdev/clew/cmd/clew/internal/pty"
)

// onTerminal is the program "onterminal [-stdin] INPUT PROGRAM ARGS..." of scripts. It runs a program at a
// pseudo-terminal on which somebody typed the content of a file and ^D. It writes all that the terminal got to
// the file screen. With -stdin, the terminal is also the input of the program. Scripts don't use the ttyin of
// testscript, which closes its terminal when the program ends and so may lose output that it has not read.
func onTerminal() {
	code, err := runOnTerminal(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "onterminal:", err)
		code = 1
	}
	os.Exit(code)
}

func runOnTerminal(args []string) (code int, err error) {
	isInput := len(args) > 0 && args[0] == "-stdin"
	if isInput {
		args = args[1:]
	}
	if len(args) < 2 {
		return 0, errors.New("usage: onterminal [-stdin] INPUT PROGRAM [ARGS]")
	}
	typed, err := os.ReadFile(args[0])
	if err != nil {
		return 0, err
	}
	user, program, err := pty.Open(0, 0)
	if err != nil {
		return 0, err
	}
	defer user.Close() //nolint:errcheck // all of it was read
	if err := silence(program); err != nil {
		return 0, err
	}
	cmd := exec.Command(args[1], args[2:]...) //nolint:noctx // the script ends it
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if isInput {
		cmd.Stdin = program
	}
	cmd.ExtraFiles = []*os.File{program}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3} // the first extra file
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if err := program.Close(); err != nil { // so that reading ends when the program has ended
		return 0, err
	}
	const endOfInput = 4
	go user.Write(append(typed, endOfInput)) //nolint:errcheck // nobody may read it
	screen, err := io.ReadAll(user)
	if err != nil && !errors.Is(err, syscall.EIO) { // the end of a terminal
		return 0, fmt.Errorf("reading the terminal: %w", err)
	}
	if err := os.WriteFile("screen", screen, 0o600); err != nil {
		return 0, err
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// silence turns off the echo of a terminal: typed text would be anywhere in the program's output.
func silence(terminal *os.File) error {
	fd := int(terminal.Fd())
	mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	mode.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, unix.TCSETS, mode)
}
