package lineedit

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An Escape is a key of its own if nothing follows within the time-out, and takes no other key with
// it.
func TestReadKeysEscape(t *testing.T) {
	t.Parallel()
	const soon, late = escapeTimeout - time.Millisecond, escapeTimeout + time.Millisecond
	type typed struct {
		text  string
		after time.Duration // what follows comes so much later
	}
	for _, tt := range []struct {
		name  string
		typed []typed
		want  []Key
	}{
		{"alone", []typed{{"\x1b", late}}, []Key{{Code: Escape}}},
		{"at the end of the input", []typed{{"\x1b", 0}}, []Key{{Code: Escape}}},
		{"before Ctrl-C", []typed{{"\x1b", late}, {"\x03", 0}}, []Key{{Code: Escape}, {Code: Interrupt}}},
		{"just before Ctrl-C", []typed{{"\x1b", soon}, {"\x03", 0}}, []Key{{Code: Escape}, {Code: Interrupt}}},
		{"before a letter", []typed{{"\x1b", late}, {"b", 0}}, []Key{{Code: Escape}, {Rune: 'b'}}},
		{"with a letter", []typed{{"\x1b", soon}, {"b", 0}}, []Key{{Code: WordLeft}}},
		{"twice", []typed{{"\x1b", soon}, {"\x1b", late}}, []Key{{Code: Escape}, {Code: Escape}}},
		{"a sequence in pieces", []typed{{"\x1b", soon}, {"[", soon}, {"A", 0}}, []Key{{Code: Up}}},
		{"a sequence that never ends", []typed{{"\x1b[", late}, {"A", 0}}, []Key{{Rune: 'A'}}},
		{"in pasted text", []typed{{"\x1b[200~a\x1b", late}, {"b\x1b[201~", 0}}, []Key{{Code: Paste, Text: "a\x1bb"}}},
		{"half a character", []typed{{"\xc3", late}, {"\xa9", 0}}, []Key{{Rune: 'é'}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				terminal, keyboard := io.Pipe()
				var got []Key
				done := make(chan error, 1)
				go func() {
					done <- ReadKeys(terminal, func(keys []Key) { got = append(got, keys...) })
				}()
				for _, part := range tt.typed {
					if _, err := io.WriteString(keyboard, part.text); err != nil {
						t.Error(err)
					}
					time.Sleep(part.after)
				}
				synctest.Wait()
				_ = keyboard.Close()
				if err := <-done; err != io.EOF { //nolint:errorlint // a reader returns it as it is
					t.Error(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
