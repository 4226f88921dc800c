package render

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/tty"
)

// A text in pieces is wrapped like the complete text.
func TestFlow(t *testing.T) {
	t.Parallel()
	texts := []string{
		"One.", "One two three four five six seven.", "A line.\n\nAnother, after an empty one.\n", "\n\nLate.",
		"code:\n    indented and long enough to be broken\n  less", "averyverylongwordthatfitsonnolineatallatall and more",
		"短い文章ですが幅がありますので折り返します。 次の文です。", "a  b   c    d     e      f       g        h",
	}
	words := []string{"a", "bc", "def", "ghij", "klmnopqrs", " ", " ", "\n", "好", "averylongwordofeighteen"}
	seed := rand.New(rand.NewPCG(1, 2)) // the same texts each time
	for range 200 {
		var b strings.Builder
		for range 30 {
			b.WriteString(words[seed.IntN(len(words))] + " ")
		}
		texts = append(texts, "x"+strings.Join(strings.Fields(b.String()), " "))
	}
	for _, text := range texts {
		for _, width := range []int{0, 14, 30} {
			o := Options{Width: width}.in(2)
			want := o.block(tty.Plain, text)
			for _, size := range []int{1, 3, 1000} {
				f := &flow{Options: o}
				got := ""
				for runes := []rune(text); len(runes) > 0; {
					n := min(size, len(runes))
					got += f.add(string(runes[:n]))
					runes = runes[n:]
				}
				if got += f.end(); got != want {
					t.Fatalf("%q in %d columns, by %d:\n%q, want\n%q", text, width, size, got, want)
				}
			}
		}
	}
}

// Everything but the end of a piece is written at once.
func TestFlowAtOnce(t *testing.T) {
	t.Parallel()
	f := &flow{Options: Options{Width: 20}}
	if got := f.add("One two thr"); got != "One two" {
		t.Errorf("%q", got)
	}
	if got := f.add("ee. "); got != " three." {
		t.Errorf("%q", got)
	}
	f = &flow{}
	if got := f.add("One two thr"); got != "One two thr" {
		t.Errorf("without a limit: %q", got)
	}
}
