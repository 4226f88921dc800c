package cli

import (
	"strings"
	"testing"

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
			table := newTable("NAME", "COUNT>", "WHY")
			table.add("你好", "7", "a reason of some words")
			table.add("a-name-of-some-use", "1,000", "")
			var b strings.Builder
			table.print(&b, tt.columns)
			if diff := cmp.Diff(tt.want, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
