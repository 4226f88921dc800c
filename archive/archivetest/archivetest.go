// Package archivetest tests targets of package archive.
//
//	func TestTarget(t *testing.T) {
//		archivetest.Run(t, func(t *testing.T) func() archive.Target {
//			path := filepath.Join(t.TempDir(), "archive")
//			return func() archive.Target { return openMine(t, path) }
//		})
//	}
package archivetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/clewdev/clew/archive"
)

// Run tests a target. newStore makes a new, empty store, and returns a function that opens it, which is
// called once or twice. The function closes the target when its test ends.
func Run(t *testing.T, newStore func(t *testing.T) (open func() archive.Target)) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, archive.Target)
	}{
		{"blobs", testBlobs},
		{"large blob", testLargeBlob},
		{"manifests", testManifests},
		{"large manifests", testLargeManifests},
		{"revisions", testRevisions},
		{"bad names", testNames},
		{"swaps at once", testSwaps},
		{"canceled", testCanceled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)()) })
	}
	t.Run("two targets", func(t *testing.T) {
		open := newStore(t)
		testTwo(t, open(), open())
	})
}

func nameOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func testBlobs(t *testing.T, target archive.Target) {
	ctx := t.Context()
	data := []byte("some bytes\x00\xff")
	want, name := bytes.Clone(data), nameOf(data)
	if _, err := target.Get(ctx, name); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("a blob that is not there: got %v", err)
	}
	for range 2 {
		if err := target.Put(ctx, name, data); err != nil {
			t.Fatal(err)
		}
	}
	clear(data) // the target must have its own copy
	got, err := target.Get(ctx, name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

func testLargeBlob(t *testing.T, target archive.Target) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
	if err := target.Put(t.Context(), nameOf(data), data); err != nil {
		t.Fatal(err)
	}
	if got, err := target.Get(t.Context(), nameOf(data)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func keyOf(machine, project string, n int) archive.Key {
	return archive.Key{Machine: machine, Project: project, Session: fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}
}

func testManifests(t *testing.T, target archive.Target) {
	ctx := t.Context()
	keys := []archive.Key{
		{Machine: "one"}, keyOf("one", "-home-me", 1), keyOf("one", "-home-me", 2), keyOf("one", "odd name ö.*>", 1), keyOf("two", "p", 1),
	}
	for _, key := range keys {
		if _, err := target.Manifest(ctx, key); !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("%s: got %v", key, err)
		}
		if err := target.Swap(ctx, key, []byte(key.String()), ""); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	for machine, want := range map[string]int{"": 5, "one": 4, "two": 1, "on": 0} {
		found := map[archive.Key]bool{}
		for m, err := range target.Manifests(ctx, machine) {
			if err != nil || m.Err != nil {
				t.Fatal(err, m.Err)
			}
			if string(m.Data) != m.Key.String() || m.Revision == "" {
				t.Errorf("%s: got %q, revision %q", m.Key, m.Data, m.Revision)
			}
			found[m.Key] = true
		}
		if len(found) != want {
			t.Errorf("machine %q: got %v", machine, found)
		}
	}
	for range target.Manifests(ctx, "") {
		break // leaving the loop must not hang
	}
}

// testLargeManifests replaces a manifest by a larger one and by a small one again. Sessions with many
// subagents have manifests of several megabytes.
func testLargeManifests(t *testing.T, target archive.Target) {
	ctx, key, other := t.Context(), keyOf("m", "p", 1), keyOf("m", "p", 2)
	if err := target.Swap(ctx, other, []byte("small"), ""); err != nil {
		t.Fatal(err)
	}
	revision := ""
	for _, size := range []int{1<<20 - 1, 1 << 20, 5 << 20, 6 << 20, 10} {
		data := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		if err := target.Swap(ctx, key, data, revision); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if err := target.Swap(ctx, key, bytes.Repeat([]byte("x"), 2<<20), revision); !errors.Is(err, archive.ErrChanged) {
			t.Errorf("%d bytes: an old revision was replaced: %v", size, err)
		}
		m, err := target.Manifest(ctx, key)
		if err != nil || !bytes.Equal(m.Data, data) {
			t.Fatalf("%d bytes: got %d, %v", size, len(m.Data), err)
		}
		revision = m.Revision
		found := 0
		for m, err := range target.Manifests(ctx, "m") {
			if err != nil || m.Err != nil {
				t.Fatal(err, m.Err)
			}
			found++
			if m.Key == key && (!bytes.Equal(m.Data, data) || m.Revision != revision) {
				t.Errorf("%d bytes: got %d, revision %q", size, len(m.Data), m.Revision)
			}
		}
		if found != 2 {
			t.Errorf("%d bytes: got %d manifests", size, found)
		}
	}
}

// testTwo uses two targets of one store. Each sees what the other one wrote.
func testTwo(t *testing.T, one, two archive.Target) {
	ctx, key, data := t.Context(), keyOf("m", "p", 1), []byte("x")
	if err := one.Put(ctx, nameOf(data), data); err != nil {
		t.Fatal(err)
	}
	if got, err := two.Get(ctx, nameOf(data)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := one.Swap(ctx, key, []byte("1"), ""); err != nil {
		t.Fatal(err)
	}
	m, err := two.Manifest(ctx, key)
	if err != nil || string(m.Data) != "1" {
		t.Fatalf("got %q, %v", m.Data, err)
	}
	if err := two.Swap(ctx, key, []byte("2"), m.Revision); err != nil {
		t.Fatal(err)
	}
	if err := one.Swap(ctx, key, []byte("3"), m.Revision); !errors.Is(err, archive.ErrChanged) {
		t.Errorf("what the other target has written was replaced: %v", err)
	}
	found := ""
	for m, err := range one.Manifests(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		found += string(m.Data)
	}
	if found != "2" {
		t.Errorf("got %q", found)
	}
}

func testRevisions(t *testing.T, target archive.Target) {
	ctx, key := t.Context(), keyOf("m", "p", 1)
	if err := target.Swap(ctx, key, []byte("1"), "none"); !errors.Is(err, archive.ErrChanged) {
		t.Errorf("a manifest that does not exist was replaced: %v", err)
	}
	if err := target.Swap(ctx, key, []byte("1"), ""); err != nil {
		t.Fatal(err)
	}
	if err := target.Swap(ctx, key, []byte("2"), ""); !errors.Is(err, archive.ErrChanged) {
		t.Errorf("a manifest that exists was created: %v", err)
	}
	first, err := target.Manifest(ctx, key)
	if err != nil || string(first.Data) != "1" {
		t.Fatalf("got %q, %v", first.Data, err)
	}
	if err := target.Swap(ctx, key, []byte("2"), first.Revision); err != nil {
		t.Fatal(err)
	}
	if err := target.Swap(ctx, key, []byte("3"), first.Revision); !errors.Is(err, archive.ErrChanged) {
		t.Errorf("an old revision was replaced: %v", err)
	}
	if second, err := target.Manifest(ctx, key); err != nil || string(second.Data) != "2" || second.Revision == first.Revision {
		t.Errorf("got %q, %v", second.Data, err)
	}
}

func testNames(t *testing.T, target archive.Target) {
	ctx := t.Context()
	for _, name := range []string{"", "x", "../../etc/passwd", nameOf(nil) + "/"} {
		if err := target.Put(ctx, name, nil); err == nil {
			t.Errorf("blob %q was stored", name)
		}
		if _, err := target.Get(ctx, name); err == nil {
			t.Errorf("blob %q was read", name)
		}
	}
	for _, key := range []archive.Key{
		{}, {Machine: ".."}, {Machine: "a/b"}, keyOf("m", "..", 1), keyOf("m", "a/b", 1), {Machine: "m", Project: "p", Session: "../x"},
		{Machine: "m", Project: "p"}, {Machine: "m", Session: keyOf("", "", 1).Session},
	} {
		if err := target.Swap(ctx, key, nil, ""); err == nil {
			t.Errorf("manifest %+v was stored", key)
		}
		if _, err := target.Manifest(ctx, key); err == nil {
			t.Errorf("manifest %+v was read", key)
		}
	}
}

// testSwaps counts: of several swaps of one revision, one succeeds.
func testSwaps(t *testing.T, target archive.Target) {
	ctx, key := t.Context(), keyOf("m", "p", 1)
	var wg sync.WaitGroup
	var swapped atomic.Int64
	const writers, each = 4, 5
	for i := range writers {
		wg.Go(func() {
			for n := 0; n < each; {
				m, err := target.Manifest(ctx, key)
				if err != nil && !errors.Is(err, archive.ErrNotFound) {
					t.Error(err)
					return
				}
				data := append(bytes.Clone(m.Data), byte('a'+i))
				switch err := target.Swap(ctx, key, data, m.Revision); {
				case err == nil:
					n++
					swapped.Add(1)
				case !errors.Is(err, archive.ErrChanged):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	m, err := target.Manifest(ctx, key)
	if err != nil || len(m.Data) != writers*each || swapped.Load() != writers*each {
		t.Errorf("got %q after %d swaps, %v", m.Data, swapped.Load(), err)
	}
}

func testCanceled(t *testing.T, target archive.Target) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	data := []byte("x")
	if err := target.Put(ctx, nameOf(data), data); !errors.Is(err, context.Canceled) {
		t.Errorf("Put: got %v", err)
	}
	if err := target.Swap(ctx, keyOf("m", "p", 1), data, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("Swap: got %v", err)
	}
	if _, err := target.Get(ctx, nameOf(data)); !errors.Is(err, context.Canceled) {
		t.Errorf("Get: got %v", err)
	}
	if _, err := target.Manifest(ctx, keyOf("m", "p", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Manifest: got %v", err)
	}
	if err := target.Swap(t.Context(), keyOf("m", "p", 1), data, ""); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, last = range target.Manifests(ctx, "") {
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("Manifests: got %v", last)
	}
}
