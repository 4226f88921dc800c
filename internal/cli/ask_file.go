package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A workspace is where the agent works: its questions show what becomes of the files there.
type workspace struct {
	dir string // absolute, or ""
	// read returns the content of a file. Nil means that files are not read.
	read func(path string) (string, error)
}

// newWorkspace returns the working directory of an agent.
func newWorkspace(dir string) workspace {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return workspace{}
	}
	return workspace{dir: dir, read: readText}
}

// A change is what a call does to a file, as far as it is known before.
type change struct {
	diff     *transcript.FileDiff
	replaced []string // the members of the input that diff tells all of
	remark   string   // why diff does not tell more, or ""
}

// pathNames are the members that name the file of a call.
var pathNames = map[string]string{
	"Read": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path",
}

// changeNames are the members of a call that a diff replaces.
var changeNames = map[string][]string{
	"Edit": {"old_string", "new_string"}, "MultiEdit": {"edits"}, "Write": {"content"}, "NotebookEdit": {"new_source"},
}

// pathOf returns the path of the file that a call is about. It is not ok unless there is exactly one,
// and it can be shown as it is.
func pathOf(tool string, members []member) (path string, ok bool) {
	if !isUnique(members, pathNames[tool], '"') {
		return "", false
	}
	path, _ = valueOf(members, pathNames[tool])
	return path, path != "" && strings.TrimSpace(path) == path
}

// isUnique reports whether there is exactly one member of a name, however it is spelled, and its
// value is of a kind: JSON that begins with this character.
func isUnique(members []member, name string, kind byte) bool {
	found := 0
	for _, m := range members {
		if strings.EqualFold(m.name, name) {
			found++
			if m.name != name || m.value[0] != kind {
				return false
			}
		}
	}
	return found == 1 && name != ""
}

// changeOfFile returns what a call does to a file. There is no diff if it would not tell everything:
// if a member is repeated or of another type, or if another one differs from it only in case.
func changeOfFile(req *clew.PermissionRequest, members []member, w workspace) change {
	path, ok := pathOf(req.ToolName, members)
	names := changeNames[req.ToolName]
	if !ok || len(names) == 0 || !isPlainChange(req.ToolName, members) {
		return change{}
	}
	diff, err := w.diff(req, path)
	if err == nil {
		if mode, _ := valueOf(members, "edit_mode"); mode == "delete" { // the new source is not used
			names = nil
		}
		if all, _ := valueOf(members, "replace_all"); all == "false" {
			names = append(slices.Clone(names), "replace_all") // it is the default
		}
		return change{diff: diff, replaced: names}
	}
	c := change{remark: err.Error()}
	if errors.Is(err, errNotRead) {
		c.remark = ""
	}
	proposed, ok := transcript.InputDiff(req.ToolName, req.Input)
	if !ok || len(proposed.Hunks) == 0 || req.ToolName == "MultiEdit" || isPartialLine(members, names) {
		return c
	}
	proposed.Relative, proposed.Created = true, false
	c.diff, c.replaced = proposed, names
	return c
}

// isPlainChange reports whether the members of a change mean the same to every reader of JSON.
func isPlainChange(tool string, members []member) bool {
	for _, name := range changeNames[tool] {
		kind := byte('"')
		if name == "edits" {
			kind = '['
		}
		if !isUnique(members, name, kind) {
			return false
		}
	}
	for _, m := range members {
		if strings.EqualFold(m.name, "replace_all") && (m.name != "replace_all" || m.value != "true" && m.value != "false") ||
			strings.EqualFold(m.name, "edit_mode") && m.name != "edit_mode" ||
			strings.EqualFold(m.name, "cell_id") && m.name != "cell_id" || m.name == "edits" && !arePlainEdits(m.value) {
			return false
		}
	}
	return true
}

// arePlainEdits reports whether the edits of a MultiEdit have the usual members, and no others.
func arePlainEdits(list string) bool {
	var edits []wire.JSON
	err := json.Unmarshal([]byte(list), &edits)
	for _, edit := range edits {
		members, wrong := membersOf(edit)
		if wrong != nil || !isUnique(members, "old_string", '"') || !isUnique(members, "new_string", '"') {
			return false
		}
		for _, m := range members {
			if m.name != "old_string" && m.name != "new_string" && (m.name != "replace_all" || m.value != "true" && m.value != "false") {
				return false
			}
		}
	}
	return err == nil
}

// isPartialLine reports whether only one of two texts ends its last line, which a diff of the texts
// alone does not tell.
func isPartialLine(members []member, names []string) bool {
	ended := 0
	for _, name := range names {
		text, _ := valueOf(members, name)
		ended += boolOrder(strings.HasSuffix(text, "\n"))
	}
	return ended == 1 && len(names) == 2
}

var errNotRead = errors.New("files are not read here")

// diff returns what becomes of the file of a call.
func (w workspace) diff(req *clew.PermissionRequest, path string) (*transcript.FileDiff, error) {
	if w.read == nil {
		return nil, errNotRead
	}
	if strings.HasPrefix(path, "~") {
		return nil, errors.New("the file was not read: its path begins with ~")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.dir, path)
	}
	text, err := w.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		diff, ok := transcript.InputDiff(req.ToolName, req.Input)
		if !ok || !diff.Created || len(diff.Hunks) == 0 {
			return nil, errors.New("there is no such file")
		}
		return diff, nil
	}
	if err != nil {
		return nil, errors.New("the file was not read: " + cause(err).Error())
	}
	return transcript.InputDiffOf(req.ToolName, req.Input, text)
}

// maxEdited is the size of the largest file that a question compares.
const maxEdited = 4 << 20

var (
	errNotRegular = errors.New("it is not a regular file")
	errTooLarge   = errors.New("it is larger than 4 MiB")
	errBinary     = errors.New("it is not a text")
)

// readText returns the content of a text file. It does not wait for what is not a file.
func readText(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errNotRegular
	case info.Size() > maxEdited:
		return "", errTooLarge
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxEdited+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxEdited:
		return "", errTooLarge
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "", errBinary
	}
	return string(data), nil
}
