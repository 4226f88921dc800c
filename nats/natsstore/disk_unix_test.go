//go:build unix

package natsstore_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/natsstore"
)

// diskVariable makes TestDiskIsFull the process that fills a directory.
const diskVariable = "NATSSTORE_TEST_DISK"

// A limit of a megabyte for files stands for a full disk.
func TestDiskIsFull(t *testing.T) {
	if dir := os.Getenv(diskVariable); dir != "" {
		fillDisk(t, dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDiskIsFull$")
	cmd.Env = append(os.Environ(), diskVariable+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, text, _ := strings.Cut(string(out), "stored ")
	var stored int
	if _, err := fmt.Sscan(text, &stored); err != nil || stored == 0 {
		t.Fatalf("%v\n%s", err, out)
	}

	s := open(t, &natsstore.Options{Dir: dir})
	checkLoad(t, s, main, kilobytes(0, 20*stored))
	appendTo(t, s, main, kilobytes(1, 1)...)
}

// fillDisk appends until the disk is full, and prints how many appends were stored.
func fillDisk(t *testing.T, dir string) {
	signal.Ignore(unix.SIGXFSZ)
	s := open(t, &natsstore.Options{Dir: dir})
	limit := unix.Rlimit{Cur: 1 << 20, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	entries := kilobytes(0, 2000)
	for stored := 0; ; {
		ctx, cancel := context.WithTimeout(t.Context(), polltest.Again)
		err := s.Append(ctx, main, entries[stored*20:][:20])
		cancel()
		switch {
		case err == nil:
			stored++
		case strings.Contains(err.Error(), "file too large"): // and not just a slow machine
			fmt.Println("stored", stored)
			return
		}
	}
}
