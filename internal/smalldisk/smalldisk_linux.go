package smalldisk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// variable is the environment variable of a process that can mount disks.
const variable = "CLEW_TEST_OWN_MOUNTS"

// Alone reports whether this process can mount disks that nobody else sees. If it can't, Alone runs the test
// again in a process that can, and fails if that does: the test has to return then. It needs no privileges
// where Linux lets users have namespaces; otherwise it needs root. If the system refuses both, Alone skips the
// test, or fails it if the variable CI is "true".
func Alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(variable) != "" {
		// Otherwise root's mounts may appear outside.
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			t.Fatal(refused(err))
		}
		return true
	}
	out, err := runAlone(t, syscall.CLONE_NEWUSER|syscall.CLONE_NEWNS)
	// Some systems give a process a namespace of users, in which it may still not mount anything.
	if errors.Is(err, syscall.EPERM) || err != nil && strings.Contains(out, refusal) {
		out, err = runAlone(t, syscall.CLONE_NEWNS)
	}
	switch {
	case errors.Is(err, syscall.EPERM) || err != nil && strings.Contains(out, refusal):
		if os.Getenv("CI") != "true" {
			t.Skip(refusal)
		}
		t.Fatal(refused(err))
	case err != nil:
		t.Errorf("in a process with its own mounts: %v\n%s", err, out)
	default:
		t.Log(out)
	}
	return false
}

// refusal is the start of the error of a test that may not mount a disk.
const refusal = "this test mounts a small disk, which the system refuses"

func refused(err error) error {
	return fmt.Errorf(refusal+": %w; run it as root, in a container with "+
		"--cap-add SYS_ADMIN, or allow namespaces of users: sysctl kernel.apparmor_restrict_unprivileged_userns=0", err)
}

// runAlone runs the test in a process with its own mounts.
func runAlone(t *testing.T, flags uintptr) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v"}
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(arg, "-test.timeout=") {
			args = append(args, arg)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), variable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	if flags&syscall.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A Disk is a small file system.
type Disk struct {
	t   *testing.T
	dir string
}

// Mount mounts a disk with so many bytes at a directory, which must exist. [Alone] must have returned true.
func Mount(t *testing.T, dir string, bytes int64) *Disk {
	t.Helper()
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", bytes)); err != nil {
		t.Fatal(refused(err))
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return &Disk{t, dir}
}

// filler is the name of the file that fills a disk.
func (d *Disk) filler() string { return filepath.Join(d.dir, "filler") }

// Fill leaves so many bytes free.
func (d *Disk) Fill(free int64) {
	d.t.Helper()
	file, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	page := make([]byte, 4096)
	for err == nil && d.free() > free {
		_, err = file.Write(page)
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
}

func (d *Disk) free() int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &s); err != nil {
		d.t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}

// Empty makes room again.
func (d *Disk) Empty() {
	d.t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.t.Fatal(err)
	}
}
