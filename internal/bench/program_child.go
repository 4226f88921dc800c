package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// useProgram runs a program and measures it from outside. It is the job of a small process: a system that shares
// memory between a process and what it starts counts that for both.
func useProgram(path string, args []string, f *figures) error {
	cmd := exec.CommandContext(context.Background(), path, args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := f.watch(out, start); err != nil {
		return err
	}
	err = cmd.Wait()
	f.Elapsed = time.Since(start)
	f.Peak = peakOf(cmd.ProcessState)
	if err != nil {
		first, _, _ := strings.Cut(complaints.String(), "\n")
		return fmt.Errorf("%w: %s", err, first)
	}
	return nil
}

// watch reads to the end, counts the lines and takes the time of the first byte.
func (f *figures) watch(out io.Reader, start time.Time) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		if n > 0 && f.First == 0 {
			f.First = time.Since(start)
		}
		f.Count += bytes.Count(buf[:n], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
