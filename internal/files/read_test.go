package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestReadSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("empty", "")
	write("fits", "0123456789")
	write("large", "0123456789a")
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]struct {
		text string
		err  error
	}{
		"empty": {}, "fits": {text: "0123456789"}, "large": {err: ErrTooLarge},
		"dir": {err: ErrNotRegular}, "none": {err: fs.ErrNotExist},
	} {
		for _, read := range []func() ([]byte, error){
			func() ([]byte, error) { return ReadSmall(filepath.Join(dir, name), 10) },
			func() ([]byte, error) { return ReadSmallIn(root, name, 10) },
		} {
			got, err := read()
			var path *fs.PathError
			if string(got) != want.text || !errors.Is(err, want.err) || err != nil && !errors.As(err, &path) {
				t.Errorf("%s: %q, %v, want %q, %v", name, got, err, want.text, want.err)
			}
		}
	}
}
