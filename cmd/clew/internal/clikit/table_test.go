package clikit

import (
	"regexp"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/tty"

	"github.com/google/go-cmp/cmp"
)

func TestTableFits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		columns int
		want    []string
	}{
		{"any width", 0, []string{
			"NAME                COUNT  WHY",
			"你好                    7  a reason of some words",
			"a-name-of-some-use  1,000",
		}},
		{"texts are broken", 36, []string{
			"NAME                COUNT  WHY",
			"你好                    7  a reason",
			"                           of some",
			"                           words",
			"a-name-of-some-use  1,000",
		}},
		{"lists", 20, []string{
			"你好",
			"  COUNT  7",
			"  WHY    a reason of",
			"         some words",
			"a-name-of-some-use",
			"  COUNT  1,000",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table := NewTable("NAME", "COUNT>", "WHY")
			table.Add("你好", "7", "a reason of some words")
			table.Add("a-name-of-some-use", "1,000", "")
			var b strings.Builder
			table.Print(&b, tt.columns)
			if diff := cmp.Diff(tt.want, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Cells are painted without the space around them, in each layout.
func TestTablePaints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		columns int
		want    string
	}{
		{"a table", 0, "<1>NAME<0>  <1>COUNT<0>\nab        <2>0<0>\n"},
		{"a list", 8, "ab\n  <2>C…<0>  <2>0<0>\n"},
		{"a column", 4, "ab\n<2>0<0>\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table := NewTable("NAME", "COUNT>")
			table.Color = true
			table.Add("ab", "0")
			table.Style(tty.Plain, tty.Dim)
			var b strings.Builder
			table.Print(&b, tt.columns)
			got := regexp.MustCompile("\x1b\\[([0-9]+)m").ReplaceAllString(b.String(), "<$1>")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
