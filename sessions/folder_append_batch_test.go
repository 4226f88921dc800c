package sessions_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// cutAppend appends two entries and then three, and cuts the file in the middle of the second
// append. It returns the number of bytes that the second append had.
func cutAppend(t *testing.T, dir string, keep int) int {
	t.Helper()
	name := "p/" + idA + ".jsonl"
	s := sessions.NewFolder(dir)
	mustAppend(t, s, keyA, `{"uuid":"1"}`, `{"uuid":"2"}`)
	before := read(t, dir, name)
	mustAppend(t, s, keyA, `{"uuid":"3"}`, `{"uuid":"4"}`, `{"uuid":"5","text":"more"}`)
	after := read(t, dir, name)
	write(t, dir, name, after[:min(len(before)+keep, len(after))])
	old := time.Now().Add(-time.Hour) // so that nobody seems to be writing
	if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), old, old); err != nil {
		t.Fatal(err)
	}
	return len(after) - len(before)
}

// Wherever an append was cut, none of its entries counts, and it can be repeated.
func TestFolderCutAppend(t *testing.T) {
	t.Parallel()
	first := []wire.JSON{`{"uuid":"1"}`, `{"uuid":"2"}`}
	second := []wire.JSON{`{"uuid":"3"}`, `{"uuid":"4"}`, `{"uuid":"5","text":"more"}`}
	for name, other := range map[string][]wire.JSON{
		"nothing":              nil,
		"one entry":            {`{"uuid":"6"}`},
		"one without a UUID":   {`{"type":"custom-title"}`},
		"several":              {`{"uuid":"6"}`, `{"uuid":"7"}`, `{"uuid":"8"}`},
		"several without UUID": {`{"a":6}`, `{"b":7}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for keep := 0; ; keep++ {
				dir := t.TempDir()
				if keep >= cutAppend(t, dir, keep) {
					break
				}
				s := sessions.NewFolder(dir)
				s.Skipped = func(sessions.SkippedLine) {}
				checkLoad(t, s, keyA, first...)
				mustAppend(t, s, keyA, other...)
				checkLoad(t, s, keyA, slices.Concat(first, other)...)
				mustAppend(t, s, keyA, second...)
				checkLoad(t, s, keyA, slices.Concat(first, other, second)...)
				if t.Failed() {
					t.Fatalf("with %d bytes", keep)
				}
			}
		})
	}
}

// listed returns the numbers of the prompts in texts, such as "prompt 3", in order.
func listed(texts ...string) (numbers []string) {
	for _, text := range texts {
		for _, piece := range strings.Split(text, "prompt ")[1:] {
			number, _, _ := strings.Cut(piece, "!")
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// Wherever an append was cut, and whatever follows it: listing, reading and following find the same
// entries as Load.
func TestReadersOfCutAppend(t *testing.T) {
	t.Parallel()
	said := func(n int) wire.JSON {
		return wire.JSON(fmt.Sprintf(`{"type":"user","uuid":"u%d","lastPrompt":"prompt %[1]d!","message":{"role":"user","content":"prompt %[1]d!"}}`, n))
	}
	recorded := func(n int) wire.JSON {
		return wire.JSON(fmt.Sprintf(`{"type":"last-prompt","lastPrompt":"prompt %d!"}`, n))
	}
	dir := t.TempDir()
	name := "p/" + idA + ".jsonl"
	s := sessions.NewFolder(dir)
	s.Skipped = func(sessions.SkippedLine) {}
	mustAppend(t, s, keyA, said(1))
	start := len(read(t, dir, name))
	mustAppend(t, s, keyA, said(2), recorded(2), said(3), recorded(3))
	whole := read(t, dir, name)
	for follows, rest := range map[string]string{
		"nothing": "", "an entry of an agent": "\n" + string(said(4)) + "\n" + string(recorded(4)) + "\n",
		"an append":                ",\n \t " + string(said(5)) + "\n" + string(recorded(5)) + "\t \t\n",
		"a part of another append": ",\n \t " + string(said(6)) + "\n" + string(recorded(6)),
	} {
		for cut := start; cut < len(whole); cut++ {
			if near := whole[cut-6 : min(cut+2, len(whole))]; !strings.Contains(near, "\n") && cut%soak.Size(97, 31) != 0 {
				continue // most cuts are inside a value
			}
			write(t, dir, name, whole[:cut]+rest)
			var want []string
			last := ""
			for _, entry := range mustLoad(t, s, keyA) {
				if strings.Contains(string(entry), `"last-prompt"`) {
					last = listed(string(entry))[0]
				} else if strings.Contains(string(entry), `"user"`) {
					want = append(want, listed(string(entry))[0])
				}
			}
			opts := &sessions.Options{Store: s}
			got, err := sessions.Read(t.Context(), idA, &sessions.ReadOptions{Store: s})
			if err != nil {
				t.Fatal(err)
			}
			if texts := listed(chunkTexts(got.Chunks)...); !slices.Equal(texts, want) {
				t.Errorf("%s after %q: read %q, loaded %q", follows, whole[start:cut], texts, want)
			}
			for u, err := range sessions.Tail(t.Context(), idA, &sessions.TailOptions{Store: s, OnlyMain: true}) {
				if err != nil {
					t.Fatal(err)
				}
				if texts := listed(chunkTexts(u.Transcript.Chunks)...); !slices.Equal(texts, want) {
					t.Errorf("%s after %q: followed %q, loaded %q", follows, whole[start:cut], texts, want)
				}
				break
			}
			info, err := sessions.Get(t.Context(), idA, opts)
			if err != nil || strings.Join(listed(info.LastPrompt), " ") != last {
				t.Errorf("%s after %q: the last prompt is %q, loaded %q, error %v", follows, whole[start:cut], info.LastPrompt, last, err)
			}
			if t.Failed() {
				return
			}
		}
	}
}

// A list that reads only the end of a file notices a cut append that started before it.
func TestListAfterLongCutAppend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := "p/" + idA + ".jsonl"
	s := sessions.NewFolder(dir)
	mustAppend(t, s, keyA, prompt(`"First"`))
	entries := []wire.JSON{prompt(`"Second"`)}
	for range 300 {
		entries = append(entries, wire.JSON(`{"type":"last-prompt","lastPrompt":"`+strings.Repeat("x", 1000)+`"}`))
	}
	mustAppend(t, s, keyA, entries...)
	whole := read(t, dir, name)
	for cut, want := range map[int]bool{0: true, 10: false, 2000: false} {
		write(t, dir, name, whole[:len(whole)-cut])
		info, err := sessions.Get(t.Context(), idA, &sessions.Options{Store: s})
		if err != nil || (info.LastPrompt != "") != want {
			t.Errorf("without %d bytes: the last prompt is %.20q, %v", cut, info.LastPrompt, err)
		}
	}
}

// An agent may append to a file that ends with a part of an append. Its entry counts, unless it is
// on the same line.
func TestFolderCutAppendBeforeOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cutAppend(t, dir, len("{'uuid':'3'} \t \n"))
	appendTo(t, filepath.Join(dir, "p", idA+".jsonl"), `{"uuid":"9"}`+"\n")
	s := sessions.NewFolder(dir)
	var skipped []string
	s.Skipped = func(l sessions.SkippedLine) { skipped = append(skipped, fmt.Sprint(l.Line, " ", l.Err)) }
	checkLoad(t, s, keyA, `{"uuid":"1"}`, `{"uuid":"2"}`, `{"uuid":"9"}`)
	if len(skipped) != 1 || !strings.HasPrefix(skipped[0], "3 transcript: an append of several entries was not completed") {
		t.Errorf("skipped %q", skipped)
	}
	mustAppend(t, s, keyA, `{"uuid":"3"}`)
	checkLoad(t, s, keyA, `{"uuid":"1"}`, `{"uuid":"2"}`, `{"uuid":"9"}`, `{"uuid":"3"}`)
}

// A line of the agent that is not ended yet is not taken for a part of an append that was cut
// before.
func TestFolderCutAppendBeforeOpenLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cutAppend(t, dir, len("{'uuid':'3'} \t \n"))
	appendTo(t, filepath.Join(dir, "p", idA+".jsonl"), `{"uuid":"9"}`+"\n"+`{"uuid":"10"}`)
	s := sessions.NewFolder(dir)
	s.Skipped = func(sessions.SkippedLine) {}
	checkLoad(t, s, keyA, `{"uuid":"1"}`, `{"uuid":"2"}`, `{"uuid":"9"}`, `{"uuid":"10"}`)
}

// Damage to a line of a complete append affects only that line.
func TestFolderDamagedAppend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cutAppend(t, dir, 1000)
	name := "p/" + idA + ".jsonl"
	write(t, dir, name, strings.Replace(read(t, dir, name), "{\"uuid\":\"4\"} \t\t", "{\"uuid\":\"4}", 1))
	s := sessions.NewFolder(dir)
	s.Skipped = func(sessions.SkippedLine) {}
	checkLoad(t, s, keyA, `{"uuid":"1"}`, `{"uuid":"2"}`, `{"uuid":"3"}`, `{"uuid":"5","text":"more"}`)
}

// appendDir is the variable with the directory in which a child process of the test appends.
const appendDir = "SESSIONS_TEST_APPEND"

// batch returns a number of entries with a text of a length each.
func batch(name string, n, size int) []wire.JSON {
	entries := make([]wire.JSON, n)
	for i := range entries {
		entries[i] = wire.JSON(fmt.Sprintf(`{"uuid":"%s-%d","text":"%s"}`, name, i, strings.Repeat("x", size)))
	}
	return entries
}

// batchLength is the number of entries of each append, and batchSizes the lengths of their texts.
const batchLength = 7

var batchSizes = []int{10, 3000, 200 << 10, 2 << 20}

// appendBatches reports the start and the end of each of its appends. It appends until the process
// is killed, or until its input ends with the test that started it.
func appendBatches(dir string) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	s := sessions.NewFolder(dir)
	for i := 0; ; i++ {
		entries := batch(fmt.Sprint(os.Getpid(), "-", i), batchLength, batchSizes[i%len(batchSizes)])
		fmt.Println("begin")
		if err := s.Append(context.Background(), keyA, entries); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("end")
	}
}

// Whenever a process is killed, each of its appends is there as a whole or not at all, and
// confirmed appends are there.
func TestFolderKilledAppend(t *testing.T) {
	if dir := os.Getenv(appendDir); dir != "" {
		appendBatches(dir)
		return
	}
	rnd := soak.Search(t)
	const rounds = 120
	for range rounds {
		dir := t.TempDir()
		ended := killInAppend(t, dir, 1+rnd.IntN(8))
		s := sessions.NewFolder(dir)
		s.Skipped = func(sessions.SkippedLine) {}
		var got []string
		for _, entry := range mustLoad(t, s, keyA) {
			uuid, err := sessions.EntryUUID(entry)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, uuid)
		}
		if n := len(got); n%batchLength != 0 || n < ended*batchLength {
			t.Errorf("%d entries, want appends of %d, and %d of them at least", n, batchLength, ended)
		}
	}
	soak.Figure(t, "%d writers were killed, nothing that they confirmed is lost", rounds)
}

// killInAppend kills a child process that appends, after it starts its nth append. It returns how
// many appends the process confirmed.
func killInAppend(t *testing.T, dir string, nth int) (ended int) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFolderKilledAppend$")
	child.Env = append(os.Environ(), appendDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := child.StdinPipe()
	if err == nil {
		defer in.Close()
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	begun := 0
	for lines := bufio.NewScanner(out); lines.Scan(); { // the loop continues with the rest of the pipe
		switch lines.Text() {
		case "begin":
			if begun++; begun == nth {
				_ = child.Process.Kill()
			}
		case "end":
			ended++
		default:
			t.Error(lines.Text())
		}
	}
	_ = child.Wait() // it was killed
	return ended
}

// A reader in another process sees all entries of an append or none, even while it is written.
func TestFolderReadDuringAppend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var writing sync.WaitGroup
	done := make(chan struct{})
	writing.Go(func() {
		defer close(done)
		s := sessions.NewFolder(dir)
		for i := range soak.Size(8, 80) {
			if err := s.Append(t.Context(), keyA, batch(fmt.Sprint(i), batchLength, 100<<10)); err != nil {
				t.Error(err)
			}
		}
	})
	reader := sessions.NewFolder(dir) // like another process, it does not wait for the append
	reader.Skipped = func(sessions.SkippedLine) {}
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		if n := len(mustLoad(t, reader, keyA)); n%batchLength != 0 {
			t.Errorf("%d entries, want appends of %d", n, batchLength)
		}
	}
	writing.Wait()
}

// White space at the end of an entry is not taken for a mark.
func TestFolderEntriesWithSpace(t *testing.T) {
	t.Parallel()
	s := sessions.NewFolder(t.TempDir())
	mustAppend(t, s, keyA, "{\"uuid\":\"1\"} \t ")
	mustAppend(t, s, keyA, "{\"uuid\":\"2\"}\t \t", "{\"uuid\":\"3\"} \t ")
	mustAppend(t, s, keyA, "{\"uuid\":\"4\"}\n \t\t")
	want := []wire.JSON{`{"uuid":"1"}`, `{"uuid":"2"}`, `{"uuid":"3"}`, `{"uuid":"4"}`}
	if diff := cmp.Diff(want, mustLoad(t, s, keyA)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
