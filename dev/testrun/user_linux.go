package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// nobody is the ID of a user and a group without rights.
const nobody = 65534

// asOrdinaryUser runs a test binary, which "go test -exec" passes with its arguments, as a user whom
// permissions bind. It returns the exit code.
func asOrdinaryUser(args []string) int {
	code, err := runAs(nobody, args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		return 1
	}
	return code
}

func runAs(id int, args []string) (code int, err error) {
	dir, err := os.MkdirTemp("", "testrun")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Others may not read the directory of the binary.
	binary := filepath.Join(dir, filepath.Base(args[0]))
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile(args[0], binary)); err != nil { //nolint:gosec // others run it
		return 0, err
	}
	home := filepath.Join(dir, "home")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, id, id)); err != nil {
		return 0, err
	}
	cmd := exec.Command(binary, args[1:]...) //nolint:gosec,noctx // "go test" has built it, and ends it
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}, Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // others run it
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
