//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Files that cannot be read are told of, whatever they are instead.
func TestFaultUnreadableFile(t *testing.T) {
	for name, replace := range unreadable {
		t.Run(name, func(t *testing.T) {
			for _, u := range faultUses {
				if !strings.Contains(u.line, "FILE") {
					continue
				}
				t.Run(u.line, func(t *testing.T) {
					t.Parallel()
					p := newFaultPlace(t)
					replace(t, p.file)
					o := p.run(t, p.command(t, u))
					if o.code != exitInput || !strings.HasPrefix(o.errs, "clew "+u.verb()+": ") {
						t.Errorf("exit code %d, stderr %q", o.code, o.errs)
					}
				})
			}
		})
	}
}

// unreadable are ways to put something that cannot be read in the place of a file.
var unreadable = map[string]func(t *testing.T, path string){
	"folder": func(t *testing.T, path string) {
		swap(t, path, func() error { return os.Mkdir(path, 0o700) })
	},
	"dangling link": func(t *testing.T, path string) {
		swap(t, path, func() error { return os.Symlink("nowhere.jsonl", path) })
	},
	"link to itself": func(t *testing.T, path string) {
		swap(t, path, func() error { return os.Symlink(path, path) })
	},
	"forbidden": func(t *testing.T, path string) {
		if os.Geteuid() == 0 {
			t.Skip("permissions do not stop this user")
		}
		swap(t, path, func() error { return os.WriteFile(path, []byte("{}\n"), 0) })
	},
	"reads that fail": func(t *testing.T, path string) {
		if runtime.GOOS != "linux" {
			t.Skip("no /proc/self/mem")
		}
		swap(t, path, func() error { return os.Symlink("/proc/self/mem", path) })
	},
}

func swap(t *testing.T, path string, make func() error) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := make(); err != nil {
		t.Fatal(err)
	}
}

// Beside a session there may be anything: what can be read is shown, and nothing
// waits for a pipe that nobody writes to.
func TestFaultUnreadableNeighbours(t *testing.T) {
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if u.endless || u.agent {
			t.Skip("it goes on, or has no use for sessions")
		}
		n := 2
		for name, replace := range unreadable {
			if name == "forbidden" || name == "reads that fail" && runtime.GOOS != "linux" {
				continue
			}
			path := filepath.Join(p.project, strings.TrimSuffix(faultID, "1")+strconv.Itoa(n)+".jsonl")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			replace(t, path)
			n++
		}
		if err := syscall.Mkfifo(filepath.Join(p.project, strings.TrimSuffix(faultID, "1")+"9.jsonl"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := p.run(t, p.command(t, u))
		if o.code != exitDone && o.code != exitInput || o.out == "" {
			t.Errorf("exit code %d, stdout %q, stderr %q", o.code, o.out, o.errs)
		}
	})
}

// The agent's folder may be a file, or not be there.
func TestFaultUnreadableHome(t *testing.T) {
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if strings.Contains(u.line, "FILE") || u.stdin {
			t.Skip("it has no use for the folder")
		}
		for _, dir := range []string{filepath.Dir(p.project), filepath.Join(p.home, ".claude")} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir, []byte("a file"), 0o600); err != nil {
				t.Fatal(err)
			}
			o := p.run(t, p.command(t, u))
			if o.code != exitDone && o.code != exitInput {
				t.Errorf("%s is a file: exit code %d, stderr %q", dir, o.code, o.errs)
			}
			if o.out == "" && o.errs == "" && !strings.Contains(u.line, "json") {
				t.Errorf("%s is a file: it says nothing", dir)
			}
		}
	})
}

// A transcript that goes away while it is read is shown as far as it was there.
func TestFaultVanishing(t *testing.T) {
	long := faultTranscript(1 + 17<<20/len(faultTranscript(1))) // long enough to be shown while it is read
	for name, spoil := range map[string]func(path string) error{
		"deleted":     os.Remove,
		"cut":         func(path string) error { return os.Truncate(path, 100_000) },
		"emptied":     func(path string) error { return os.Truncate(path, 0) },
		"overwritten": func(path string) error { return os.WriteFile(path, []byte("{}\n"), 0o600) },
	} {
		for _, line := range []string{"show ID", "show FILE", "inspect --json FILE"} {
			t.Run(line+" "+name, func(t *testing.T) {
				t.Parallel()
				p := newFaultPlace(t)
				p.write(t, long)
				cmd := p.command(t, faultUse{line: line})
				cmd.Stdout = &spoiler{do: func() error { return spoil(p.file) }}
				o := p.run(t, cmd)
				if o.code != exitDone && o.code != exitInput {
					t.Errorf("exit code %d, stderr %q", o.code, o.errs)
				}
			})
		}
	}
}

// A spoiler does something when it is first written to.
type spoiler struct {
	do    func() error
	wrote bool
}

func (s *spoiler) Write(p []byte) (int, error) {
	if s.wrote {
		return len(p), nil
	}
	s.wrote = true
	return len(p), s.do()
}

// Sessions come and go while all of them are read.
func TestFaultRestless(t *testing.T) {
	p := newFaultPlace(t)
	text := faultTranscript(20)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			path := filepath.Join(p.project, strings.TrimSuffix(faultID, "1")+strconv.Itoa(2+i%7)+".jsonl")
			_ = os.WriteFile(path, []byte(text), 0o600)
			_ = os.Truncate(path, int64(i*997%len(text)))
			_ = os.Remove(path)
		}
	}()
	for _, line := range []string{"ls --all", "stats --all", "show last", "show ID"} {
		for range 5 {
			// What is last may be gone when it is to be read.
			if o := p.run(t, p.command(t, faultUse{line: line})); o.code != exitDone && o.code != exitInput {
				t.Errorf("%s: exit code %d, stderr %q", line, o.code, o.errs)
			}
		}
	}
	close(stop)
	<-stopped
}
