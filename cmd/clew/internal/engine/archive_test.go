package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/archive"
)

// TestArchiveNames checks the kinds of names. A name that may be a URL is shown without its password,
// even if its scheme is misspelled.
func TestArchiveNames(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	t.Chdir(dir)
	if wd, err := os.Getwd(); err != nil {
		t.Fatal(err)
	} else {
		dir = wd // without symbolic links
	}
	for name, want := range map[string]struct {
		absolute, shown string
		password        bool
	}{
		"copies":                    {filepath.Join(dir, "copies"), "copies", false},
		"nats":                      {filepath.Join(dir, "nats"), "nats", false},
		"~/copies":                  {filepath.Join(home, "copies"), "~/copies", false},
		"sqlite:a.db":               {"sqlite:" + filepath.Join(dir, "a.db"), "sqlite:a.db", false},
		"sqlite:~":                  {"sqlite:" + home, "sqlite:~", false},
		"nats://a:4222/":            {"nats://a:4222/", "nats://a:4222", false},
		"TLS://me:hidden@a,tls://b": {"TLS://me:hidden@a,tls://b", "tls://a,tls://b", true},
		" nats://me:hidden@a":       {" nats://me:hidden@a", "nats://a", true},
		"natss://me:hidden@a":       {"natss://me:hidden@a", "a NATS server with an invalid URL", true},
	} {
		a := Archive{Name: name}
		if got := a.Absolute().Name; got != want.absolute {
			t.Errorf("%s: the absolute name is %s", name, got)
		}
		if got := a.Shown(); got != want.shown {
			t.Errorf("%s is shown as %s", name, got)
		}
		if got := a.HasPassword(); got != want.password {
			t.Errorf("%s: has a password: %t", name, got)
		}
	}
}

// TestArchiveOpen opens archives before and after they are created.
func TestArchiveOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, a := range []Archive{{Name: filepath.Join(dir, "copies")}, {Name: "sqlite:" + filepath.Join(dir, "copies.db")}} {
		if target, err := a.Open(t.Context(), false); target != nil || !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("%s before it is created: %v, %v", a.Name, target, err)
		}
		for _, create := range []bool{true, false} {
			target, err := a.Open(t.Context(), create)
			if err != nil {
				t.Fatal(err)
			}
			if err := target.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	server := Archive{Name: "natss://me:hidden@a"}
	if target, err := server.Open(t.Context(), true); target != nil || err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a misspelled scheme: %v, %v", target, err)
	}
}
