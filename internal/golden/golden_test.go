package golden

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// A reporter notes that a test has failed.
type reporter struct {
	testing.TB
	failed bool
}

func (r *reporter) Helper()               {}
func (r *reporter) Errorf(string, ...any) { r.failed = true }

func TestCheck(t *testing.T) { //nolint:paralleltest // it changes the directory and the flag
	t.Chdir(t.TempDir())
	*update = true
	Check(t, "screens/one", "\x1b[1mone\x1b[0m\n")
	*update = false
	Check(t, "screens/one", "\x1b[1mone\x1b[0m\n")
	if data, err := os.ReadFile("testdata/screens/one.golden"); string(data) != `\e[1mone\e[0m`+"\n" {
		t.Errorf("the file has %q, %v", data, err)
	}
	r := &reporter{TB: t}
	if Check(r, "screens/one", "two\n"); !r.failed {
		t.Error("another text is taken for the same")
	}
	if err := os.WriteFile("testdata/screens/one.golden", []byte("one\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	Check(t, "screens/one", "one\n") // a checkout may have other line breaks
	if _, err := Read("two"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
