package fleettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing/iotest"

	"github.com/clewdev/clew/fleet"
)

func (x *tester) put(name string, data []byte) {
	x.Helper()
	if err := x.e.Put(x.ctx, name, bytes.NewReader(data)); err != nil {
		x.Fatalf("Put %s: %v", name, err)
	}
}

func readFile(ctx context.Context, e fleet.Engine, name string) ([]byte, error) {
	file, err := e.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	return data, errors.Join(err, file.Close())
}

// checkFile compares the content of a file.
func (x *tester) checkFile(name string, want []byte) {
	x.Helper()
	got, err := readFile(x.ctx, x.e, name)
	if err != nil {
		x.Errorf("Open %s: %v", name, err)
		return
	}
	if !bytes.Equal(got, want) {
		x.Errorf("%s has %s, want %s", name, short(got), short(want))
	}
}

// noFile checks that a file is not there.
func (x *tester) noFile(name string) {
	x.Helper()
	if data, err := readFile(x.ctx, x.e, name); !errors.Is(err, fleet.ErrNotFound) {
		x.Errorf("Open %s: got %s and the error %v, want ErrNotFound", name, short(data), err)
	}
}

// large returns 20 MB that differ by a letter.
func large(letter byte) []byte {
	data := bytes.Repeat([]byte{letter, 0, 0xff, '\n'}, 5<<20)
	for i := 0; i < len(data); i += 4096 {
		copy(data[i:], fmt.Sprint(i))
	}
	return data
}

// fileTests store files.
var fileTests = map[string]func(*tester){
	"a file comes back": func(x *tester) {
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		for i, data := range [][]byte{[]byte("text\n"), all, {0}, bytes.Repeat(all, 1000)} {
			x.put(keyOf(i), data)
			x.checkFile(keyOf(i), data)
		}
	},
	"an empty file": func(x *tester) {
		x.put("job/empty", nil)
		x.checkFile("job/empty", nil)
	},
	"a file of 20 MB": func(x *tester) {
		data := large('a')
		x.put("job/1/snapshot", data)
		x.checkFile("job/1/snapshot", data)
	},
	"a reader of small pieces": func(x *tester) {
		data := bytes.Repeat([]byte("0123456789"), 300)
		if err := x.e.Put(x.ctx, "file", iotest.OneByteReader(bytes.NewReader(data))); err != nil {
			x.Fatal(err)
		}
		x.checkFile("file", data)
	},
	"a file is replaced": func(x *tester) {
		for _, data := range []string{"a long first text", "second", "", "third"} {
			x.put("file", []byte(data))
			x.checkFile("file", []byte(data))
		}
	},
	"a file that is not there": func(x *tester) {
		x.put("job/1/file", []byte("data"))
		for _, name := range []string{"file", "job", "job/1", "job/1/", "job/1/file2", "job/1/FILE"} {
			x.noFile(name)
		}
	},
	"a reader that fails leaves what is there": func(x *tester) {
		bad := func() io.Reader {
			return io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), iotest.ErrReader(errors.New("the disk is gone")))
		}
		if x.e.Put(x.ctx, "new", bad()) == nil {
			x.Error("Put has no error")
		}
		x.noFile("new")
		x.put("old", []byte("old"))
		if x.e.Put(x.ctx, "old", bad()) == nil {
			x.Error("Put has no error")
		}
		x.checkFile("old", []byte("old"))
	},
	"a file that is replaced while it is read": func(x *tester) {
		first, second := large('a'), large('b')
		x.put("file", first)
		file, err := x.e.Open(x.ctx, "file")
		if err != nil {
			x.Fatal(err)
		}
		defer file.Close()
		begin := make([]byte, 1000)
		if _, err := io.ReadFull(file, begin); err != nil {
			x.Fatal(err)
		}
		x.put("file", second)
		rest, err := io.ReadAll(file)
		if got := slices.Concat(begin, rest); err == nil && !bytes.Equal(got, first) {
			x.Error("without an error, the reader got something else than the file that it has opened")
		}
		x.checkFile("file", second)
	},
	"files are removed by prefix": func(x *tester) {
		names := []string{"job1/1/patch", "job1/1/a/b", "job1/2/patch", "job10/1/patch", "job1", "other/job1/1"}
		for _, name := range names {
			x.put(name, []byte(name))
		}
		x.delete("job1/1/")
		x.delete("nothing/")
		x.checkFiles(names, "job1/1/")
		x.delete("job1/")
		x.checkFiles(names, "job1/")
		x.delete("job1")
		x.checkFiles(names, "job1")
		x.put("job1/1/patch", []byte("new"))
		x.checkFile("job1/1/patch", []byte("new"))
	},
	"names of all characters": func(x *tester) {
		names := []string{
			"a", "A", "a.b", "a-b", "a_b", "a/b", "a/b/c", "0", "-", "_", "...", "a/.b", "con",
			"6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11/12/snapshot.bundle",
			"abcdefghijklmnopqrstuvwxyz/ABCDEFGHIJKLMNOPQRSTUVWXYZ/0123456789-_.", strings.Repeat("long/", 30) + "name",
		}
		for _, name := range names {
			x.put(name, []byte(name))
		}
		x.checkFiles(names, "there is no such prefix")
	},
	"the file is the engine's own": func(x *tester) {
		data := []byte("data")
		x.put("file", data)
		clear(data)
		x.checkFile("file", []byte("data"))
	},
	"files and records are apart": func(x *tester) {
		revision := x.set(fleet.Jobs, "name", 0, "record")
		x.put("name", []byte("file"))
		x.remove(fleet.Jobs, "name", revision)
		x.checkFile("name", []byte("file"))
		x.set(fleet.Jobs, "name", 0, "record")
		x.delete("name")
		x.has(fleet.Jobs, "name", "record")
	},
	"a file that many write is one of theirs": func(x *tester) {
		content := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 300<<10) }
		atOnce(6, func(i int) {
			if err := x.e.Put(x.ctx, "file", bytes.NewReader(content(i))); err != nil {
				x.Error(err)
			}
		})
		got, err := readFile(x.ctx, x.e, "file")
		if err != nil || len(got) == 0 || !bytes.Equal(got, content(int(got[0]-'a'))) {
			x.Errorf("got %s, %v", short(got), err)
		}
	},
	"a file can be left unread": func(x *tester) {
		x.put("file", large('a'))
		for range 20 {
			file, err := x.e.Open(x.ctx, "file")
			if err != nil {
				x.Fatal(err)
			}
			if _, err := io.ReadFull(file, make([]byte, 10)); err != nil {
				x.Error(err)
			}
			if err := file.Close(); err != nil {
				x.Error(err)
			}
		}
		x.put("file", []byte("new"))
		x.checkFile("file", []byte("new"))
	},
}

func (x *tester) delete(prefix string) {
	x.Helper()
	if err := x.e.Delete(x.ctx, prefix); err != nil {
		x.Fatalf("Delete %s: %v", prefix, err)
	}
}

// checkFiles checks that the files exist whose names don't start with a prefix.
func (x *tester) checkFiles(names []string, without string) {
	x.Helper()
	for _, name := range names {
		if strings.HasPrefix(name, without) {
			x.noFile(name)
		} else {
			x.checkFile(name, []byte(name))
		}
	}
}
