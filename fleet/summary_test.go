package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A label has the same content as the summary, in ASCII without control characters, whatever is in
// it.
func TestLabel(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "plain", "a|b|c", "\x00\x1b[31m\r\n\t\x7f", "\xff\xfe", "😀 ä \u202e", `\x7c"\\`, strings.Repeat("😀", 500)} {
		j := newJob("j", &Spec{Prompt: "p", Title: text, Priority: -3, Queue: "q", Account: "a"}, text, start)
		j = must(t, j, Claim{worker}, Begin{Owner{worker, 1}, "s", "p", ""}, Report{Owner: Owner{worker, 1}, CostUSD: 0.123},
			Pause{Owner: Owner{worker, 1}, Cause: ByLimit, Until: after(2 * time.Hour), Stored: true})
		want := j.Summary()
		label := want.Label()
		if i := strings.IndexFunc(label, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 || len(label) > 2<<10 || !isOpen(label) {
			t.Errorf("%q: %d bytes, character %d", label, len(label), i)
		}
		got, err := readLabel("j", label)
		want.Title, want.By = strings.ToValidUTF8(want.Title, "\x00"), strings.ToValidUTF8(want.By, "\x00")
		if got != nil {
			got.Title, got.By = strings.ToValidUTF8(got.Title, "\x00"), strings.ToValidUTF8(got.By, "\x00")
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q (-want +got): %v\n%s", text, err, diff)
		}
	}
	for _, label := range []string{"", "done", "{}", "done|||||||||||||||", "done|result|q|a|x|w|1|0||1|2|me|t"} {
		if s, err := readLabel("j", label); err == nil {
			t.Errorf("%q: %+v", label, s)
		}
	}
	for _, s := range States {
		if got := (&Job{State: s}).Summary(); got.Worker != "" { // a record may be wrong
			t.Errorf("%s: worker %q without an attempt", s, got.Worker)
		}
		if label := (&Summary{State: s}).Label(); isOpen(label) == s.Ended() {
			t.Errorf("%s: open is %v", s, isOpen(label))
		}
	}
}
