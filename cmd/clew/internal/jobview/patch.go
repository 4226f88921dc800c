package jobview

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/transcript"
)

// Limits of patches.
const (
	MaxPatch      = 1 << 20 // bytes
	MaxPatchLines = 5000    // that are shown
)

// Files are the files that records name, such as a [*fleet.Fleet]'s.
type Files interface {
	File(ctx context.Context, name string) (io.ReadCloser, error)
}

// ReadPatch reads a patch of a job, which has at most [MaxPatch] bytes. A longer one is not whole.
func ReadPatch(ctx context.Context, f Files, name string) (patch string, isWhole bool, err error) {
	file, err := f.File(ctx, name)
	if err != nil {
		return "", false, err
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxPatch+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return "", false, err
	}
	return string(text), len(text) <= MaxPatch, nil
}

// Patched returns the last attempt that changed something, or nil.
func Patched(j *fleet.Job) *fleet.Attempt {
	for i := range slices.Backward(j.Attempts) {
		if j.Attempts[i].Patch != "" {
			return &j.Attempts[i]
		}
	}
	return nil
}

// ParsePatch reads a git patch. A file in an unknown form, such as a binary one, has an unknown
// change.
func ParsePatch(patch string) []transcript.FileDiff {
	p := patchParser{}
	for line := range strings.Lines(patch) {
		p.line(strings.TrimSuffix(line, "\n"))
	}
	for i := range p.files {
		f := &p.files[i]
		f.Unknown = len(f.Hunks) == 0 && !f.Created && !f.Deleted
	}
	return p.files
}

// A patchParser reads a patch line by line. Within a hunk it counts lines, since a line of a file can look
// like a heading.
type patchParser struct {
	files    []transcript.FileDiff
	old, now int // lines that the hunk still has
}

func (p *patchParser) line(line string) {
	if heading, ok := strings.CutPrefix(line, "diff --git "); ok && p.old <= 0 && p.now <= 0 {
		p.files = append(p.files, transcript.FileDiff{Path: headingPath(heading)})
		return
	}
	if len(p.files) == 0 {
		return
	}
	f := &p.files[len(p.files)-1]
	if p.old > 0 || p.now > 0 || strings.HasPrefix(line, `\`) {
		p.hunkLine(f, line)
		return
	}
	switch name, ok := strings.CutPrefix(line, "+++ "); {
	case ok && name != "/dev/null" && len(f.Hunks) == 0:
		f.Path = patchPath(name)
	case strings.HasPrefix(line, "new file mode"):
		f.Created = true
	case strings.HasPrefix(line, "deleted file mode"):
		f.Deleted = true
	case strings.HasPrefix(line, "@@ -"):
		if h, ok := parseHunk(line); ok {
			p.old, p.now = h.OldLines, h.NewLines
			f.Hunks = append(f.Hunks, h)
		}
	}
}

func (p *patchParser) hunkLine(f *transcript.FileDiff, line string) {
	if len(f.Hunks) == 0 {
		return
	}
	if line == "" {
		line = " " // some programs remove it
	}
	switch line[0] {
	case '+':
		p.now--
		f.Added++
	case '-':
		p.old--
		f.Removed++
	case ' ':
		p.old--
		p.now--
	case '\\':
	default: // the patch is damaged
		p.old, p.now = 0, 0
		return
	}
	h := &f.Hunks[len(f.Hunks)-1]
	h.Lines = append(h.Lines, line)
}

// parseHunk reads the heading of a hunk: "@@ -1,2 +1,3 @@ func main".
func parseHunk(line string) (h tooluse.Hunk, ok bool) {
	ranges, _, _ := strings.Cut(strings.TrimPrefix(line, "@@ -"), " @@")
	before, after, ok := strings.Cut(ranges, " +")
	if !ok {
		return h, false
	}
	h.OldStart, h.OldLines, ok = parseRange(before)
	if ok {
		h.NewStart, h.NewLines, ok = parseRange(after)
	}
	return h, ok
}

// parseRange reads "1,2", or "1", which means one line.
func parseRange(text string) (start, lines int, ok bool) {
	first, count, found := strings.Cut(text, ",")
	if !found {
		count = "1"
	}
	start, err1 := strconv.Atoi(first)
	lines, err2 := strconv.Atoi(count)
	return start, lines, err1 == nil && err2 == nil && start >= 0 && lines >= 0
}

// headingPath returns the new path of "a/path b/path".
func headingPath(heading string) string {
	if i := strings.LastIndex(heading, " b/"); i >= 0 {
		return heading[i+len(" b/"):]
	}
	return patchPath(heading)
}

// patchPath returns a path without the prefix of git. Git quotes odd ones.
func patchPath(name string) string {
	name, _, _ = strings.Cut(name, "\t")
	if plain, err := strconv.Unquote(name); err == nil {
		name = plain
	}
	return strings.TrimPrefix(name, "b/")
}
