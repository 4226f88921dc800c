package prompt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed string
		want  []Key
	}{
		{"aé世", []Key{{Rune: 'a'}, {Rune: 'é'}, {Rune: '世'}}},
		{"\r\n\x1b\r\x1b\n\x1b[13;2u", []Key{{Code: Enter}, {Code: Newline}, {Code: Newline}, {Code: Newline}, {Code: Newline}}},
		{"\x1b[A\x1bOB\x1b[C\x1b[D", []Key{{Code: Up}, {Code: Down}, {Code: Right}, {Code: Left}}},
		{"\x1b[1;5C\x1bb\x1b[3~\x7f", []Key{{Code: WordRight}, {Code: WordLeft}, {Code: Delete}, {Code: Backspace}}},
		{"\x03\x04\t", []Key{{Code: Interrupt}, {Code: EOF}, {Code: Tab}}},
		{"\x1b[200~a\r\nb\rc\x1b[31m\x03\x1b[201~d", []Key{{Code: Paste, Text: "a\nb\nc\x1b[31m\x03"}, {Rune: 'd'}}},
		{"\x1b[99~\x1b[?1;2c\x00x", []Key{{Rune: 'x'}}},
		{"\x1b\x1b[A", []Key{{Code: Up}}},
		{"\x1b[1\x07x", []Key{{Rune: 'x'}}},
		{"\xffx", []Key{{Rune: '\uFFFD'}, {Rune: 'x'}}},
		{"\x1bé", []Key{{Rune: 'é'}}},
	} {
		var whole, bytewise Decoder
		if diff := cmp.Diff(tt.want, whole.Decode([]byte(tt.typed))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.typed, diff)
		}
		var got []Key
		for i := range len(tt.typed) {
			got = append(got, bytewise.Decode([]byte{tt.typed[i]})...)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q byte by byte (-want +got):\n%s", tt.typed, diff)
		}
	}
}

// However the bytes are cut, the keys are the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\x1b[200~x\x1b[201~\x1b[A\r"), 3)
	f.Add([]byte("\x1b[\x1b[200~\xe4\xb8"), 1)
	f.Fuzz(func(t *testing.T, typed []byte, cut int) {
		cut = min(max(cut, 0), len(typed))
		var whole, parts Decoder
		want := whole.Decode(typed)
		got := append(parts.Decode(typed[:cut]), parts.Decode(typed[cut:])...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		e := new(Editor)
		for _, key := range want {
			e.Press(key)
			e.view(size{10, 5})
			if e.at < 0 || e.at > len(e.text) {
				t.Fatalf("the cursor is at %d of %d", e.at, len(e.text))
			}
		}
	})
}
