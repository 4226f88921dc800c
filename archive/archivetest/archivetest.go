// Package archivetest tests targets of package archive.
//
//	func TestTarget(t *testing.T) {
//		archivetest.Run(t, func(t *testing.T) archive.Target { return openMine(t) })
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

// Run tests a target. open returns a new, empty one, and closes it when its test ends.
func Run(t *testing.T, open func(t *testing.T) archive.Target) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, archive.Target)
	}{
		{"blobs", testBlobs},
		{"large blob", testLargeBlob},
		{"manifests", testManifests},
		{"revisions", testRevisions},
		{"bad names", testNames},
		{"swaps at once", testSwaps},
		{"canceled", testCanceled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
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
}
