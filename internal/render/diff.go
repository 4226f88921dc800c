package render

import (
	"fmt"
	"strings"

	"github.com/clewdev/clew/transcript"
)

// Diff returns what was changed in a file, call by call. Lines are not broken:
// they would be no diff any more.
func (o Options) Diff(f *transcript.FileChanges) string {
	o.Width = 0
	var b strings.Builder
	b.WriteString(o.line(bold, fmt.Sprintf("%s +%d -%d", Line(f.Path), f.Added, f.Removed)))
	for i := range f.Calls {
		for line := range strings.SplitSeq(strings.TrimRight(Clean(f.Calls[i].String()), "\n"), "\n") {
			b.WriteString(o.DiffLine(line) + "\n")
		}
	}
	return b.String() + "\n"
}

// DiffLine returns a clean line of a diff in the colour of its kind.
func (o Options) DiffLine(line string) string { return o.styled(diffStyle(line), line) }

func diffStyle(line string) style {
	switch {
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "@@"):
		return dim
	}
	return plain
}
