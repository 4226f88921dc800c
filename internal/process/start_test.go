package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	missing, plain := filepath.Join(dir, "missing"), filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	huge := strings.Repeat("x", 8<<20)
	tests := []struct {
		name   string
		change func(s *Spec)
		is     error
		says   string
	}{
		{"no such directory", func(s *Spec) { s.Dir = missing }, fs.ErrNotExist, "working directory " + missing},
		{"directory is a file", func(s *Spec) { s.Dir = plain }, syscall.ENOTDIR, "working directory " + plain},
		{"no such binary", func(s *Spec) { s.Path = missing }, fs.ErrNotExist, missing},
		{"not executable", func(s *Spec) { s.Path = plain }, fs.ErrPermission, plain},
		{"a folder", func(s *Spec) { s.Path = dir }, fs.ErrPermission, dir},
		{"relative", func(s *Spec) { s.Path = "claude" }, nil, `not absolute: "claude"`},
		{"empty", func(s *Spec) { s.Path = "" }, nil, `not absolute: ""`},
		{"too long", func(s *Spec) { s.Args = []string{huge} }, syscall.E2BIG, "argument list too long"},
		{"NUL", func(s *Spec) { s.Args = []string{"\x00"} }, syscall.EINVAL, "start"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := child(t, "exit", "0")
			test.change(spec)
			p, err := Start(spec)
			if err == nil {
				p.Close()
				t.Fatal("it started")
			}
			// Windows has other codes for files that can't be run.
			if runtime.GOOS != "windows" && test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("got %v, want %v", err, test.is)
			}
			if !strings.HasPrefix(err.Error(), "process: ") || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}

func TestStartWithoutInterpreter(t *testing.T) {
	skipOnWindows(t, "a file does not name its interpreter")
	script := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(script, []byte("#!/no/such/node\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(&Spec{Path: script})
	if err == nil || !strings.Contains(err.Error(), script+": the file exists, but") {
		t.Errorf("got %v", err)
	}
}

func TestStartInFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := child(t, "folder")
	spec.Dir = dir
	buf := make([]byte, 4096)
	n, err := start(t, spec).Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := stat(t, string(buf[:n])), stat(t, dir); !os.SameFile(got, want) {
		t.Errorf("got %s, want %s", buf[:n], dir)
	}
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestIsBatch(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		`claude.cmd`:                         true,
		`claude.CMD.`:                        true,
		`C:\npm\claude.Bat . .`:              true,
		`C:/npm/claude.bat`:                  true,
		`dir.bat\x`:                          true,
		`claude.cmd:stream`:                  true,
		`claude.cmd::$DATA`:                  true,
		`claude.exe`:                         false,
		`C:\Program Files\claude\claude.exe`: false,
		`C:\cmd\bat\claude.exe`:              false,
		`C:\x.cmdlets\claude.com`:            false,
		``:                                   false,
	} {
		if got := isBatch(path); got != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
}
