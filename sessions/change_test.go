package sessions_test

import (
	"errors"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

func TestRename(t *testing.T) {
	t.Parallel()
	s := sessions.NewMemory()
	mustAppend(t, s, keyA, user("1", ""))
	opts := &sessions.Options{Store: s}
	for _, title := range []string{"", " \t\n"} {
		if err := sessions.Rename(t.Context(), idA, title, opts); err == nil {
			t.Errorf("%q is a title", title)
		}
	}
	if err := sessions.Rename(t.Context(), idA, "  <My> \"title\"\n", opts); err != nil {
		t.Fatal(err)
	}
	checkLoad(t, s, keyA, user("1", ""),
		`{"type":"custom-title","customTitle":"<My> \"title\"","sessionId":"`+idA+`"}`)
}

func TestTag(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"work":                     "work",
		"  two words ":             "two words",
		"":                         "",
		"a\u200bb\u202ec\ufeff":    "abc",
		"\ue000private\U000e0041":  "private",
		"\u0378undefined":          "undefined",
		"red\x1b[31m\x07":          "red[31m",
		"line\nbreak":              "line break",
		"grüße 😀":                  "grüße 😀",
		"\u200b \u200b visible \r": "visible",
	}
	for tag, want := range tests {
		s := sessions.NewMemory()
		mustAppend(t, s, keyA, user("1", ""))
		if err := sessions.Tag(t.Context(), idA, tag, &sessions.Options{Store: s}); err != nil {
			t.Fatalf("%q: %v", tag, err)
		}
		info, err := sessions.Get(t.Context(), idA, &sessions.Options{Store: s})
		if err != nil || info.Tag != want {
			t.Errorf("%q: got %q, %v, want %q", tag, info.Tag, err, want)
		}
		last := mustLoad(t, s, keyA)[1]
		if want := wire.JSON(`{"type":"tag","tag":"` + want + `","sessionId":"` + idA + `"}`); last != want {
			t.Errorf("got %s, want %s", last, want)
		}
	}
	s := sessions.NewMemory()
	mustAppend(t, s, keyA, user("1", ""))
	if err := sessions.Tag(t.Context(), idA, "\u200b", &sessions.Options{Store: s}); err == nil {
		t.Error("a tag that can't be seen was accepted")
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]sessions.Store{"memory": sessions.NewMemory(), "folder": sessions.NewFolder(t.TempDir())} {
		mustAppend(t, s, keyA, user("1", ""))
		mustAppend(t, s, keyAgent, user("1", ""))
		opts := &sessions.Options{Store: s}
		if err := sessions.Delete(t.Context(), idA, opts); err != nil {
			t.Fatal(err)
		}
		checkLoad(t, s, keyA)
		checkLoad(t, s, keyAgent)
		if err := sessions.Delete(t.Context(), idA, opts); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%s: got %v, want ErrNotFound", name, err)
		}
	}
}
