package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// An effect is the effect of a call on a file, as far as it is known before.
type effect struct {
	diff     *transcript.FileDiff // nil if it is not known
	replaced []string             // the input members that diff shows whole
	remark   string               // the reason why diff does not show more, or ""
}

// PathNames are the members that name the file of a call.
var PathNames = map[string]string{
	"Read": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path",
}

// ChangeNames are the names of the input members that a diff replaces, by tool.
var ChangeNames = map[string][]string{
	"Edit": {"old_string", "new_string"}, "MultiEdit": {"edits"}, "Write": {"content"}, "NotebookEdit": {"new_source"},
}

// pathOf returns the path of the file that a call is about. It is not ok unless there is exactly one,
// and it can be shown as it is.
func pathOf(tool string, members []Member) (path string, ok bool) {
	if !isUnique(members, PathNames[tool], '"') {
		return "", false
	}
	path, _ = Value(members, PathNames[tool])
	return path, path != "" && strings.TrimSpace(path) == path
}

// named returns the members of a name, however it is spelled.
func named(members []Member, name string) (found []Member) {
	for _, m := range members {
		if strings.EqualFold(m.Name, name) {
			found = append(found, m)
		}
	}
	return found
}

// isUnique reports whether there is exactly one member of a name, however it is spelled, and its
// value is of a kind: JSON that starts with this character.
func isUnique(members []Member, name string, kind byte) bool {
	found := named(members, name)
	return len(found) == 1 && name != "" && found[0].Name == name && found[0].Value[0] == kind
}

// effectOf returns the effect of a call on a file. There is no diff if it would not show
// everything: if a member is repeated or of another type, or if another one differs from it only in
// case.
func effectOf(req *permission.Request, members []Member, w Workspace) effect {
	path, ok := pathOf(req.ToolName, members)
	names := ChangeNames[req.ToolName]
	if !ok || len(names) == 0 || !isPlainChange(req.ToolName, members) {
		return effect{}
	}
	diff, err := w.diff(req, path)
	if err == nil {
		if mode, _ := Value(members, "edit_mode"); mode == "delete" { // the new source is not used
			names = nil
		}
		if all, _ := Value(members, "replace_all"); all == "false" {
			names = append(slices.Clone(names), "replace_all") // it is the default
		}
		return effect{diff: diff, replaced: names}
	}
	e := effect{remark: err.Error()}
	if errors.Is(err, errNotRead) {
		e.remark = ""
	}
	proposed, ok := transcript.InputDiff(req.ToolName, req.Input)
	if !ok || len(proposed.Hunks) == 0 || req.ToolName == "MultiEdit" || isPartialLine(members, names) {
		return e
	}
	proposed.Relative, proposed.Created = true, false
	e.diff, e.replaced = proposed, names
	return e
}

// isPlainChange reports whether a change means the same to every reader of JSON.
func isPlainChange(tool string, members []Member) bool {
	for _, name := range ChangeNames[tool] {
		kind := byte('"')
		if name == "edits" {
			kind = '['
		}
		if !isUnique(members, name, kind) {
			return false
		}
	}
	if len(named(members, "replace_all")) > 1 {
		return false
	}
	for _, m := range members {
		if strings.EqualFold(m.Name, "replace_all") && (m.Name != "replace_all" || m.Value != "true" && m.Value != "false") ||
			strings.EqualFold(m.Name, "edit_mode") && m.Name != "edit_mode" ||
			strings.EqualFold(m.Name, "cell_id") && m.Name != "cell_id" || m.Name == "edits" && !arePlainEdits(m.Value) {
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
		members, wrong := Members(edit)
		if wrong != nil || len(named(members, "replace_all")) > 1 || !isUnique(members, "old_string", '"') || !isUnique(members, "new_string", '"') {
			return false
		}
		for _, m := range members {
			if m.Name != "old_string" && m.Name != "new_string" && (m.Name != "replace_all" || m.Value != "true" && m.Value != "false") {
				return false
			}
		}
	}
	return err == nil
}

// isPartialLine reports whether only one of two texts ends its last line, which a diff of the texts
// alone does not say.
func isPartialLine(members []Member, names []string) bool {
	ended := 0
	for _, name := range names {
		text, _ := Value(members, name)
		ended += boolOrder(strings.HasSuffix(text, "\n"))
	}
	return ended == 1 && len(names) == 2
}

var errNotRead = errors.New("files are not read here")

// diff returns what becomes of the file of a call.
func (w Workspace) diff(req *permission.Request, path string) (*transcript.FileDiff, error) {
	if w.Read == nil {
		return nil, errNotRead
	}
	if strings.HasPrefix(path, "~") {
		return nil, errors.New("the file was not read: its path begins with ~")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.Dir, path)
	}
	text, err := w.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		diff, ok := transcript.InputDiff(req.ToolName, req.Input)
		if !ok || !diff.Created || len(diff.Hunks) == 0 {
			return nil, errors.New("there is no such file")
		}
		return diff, nil
	}
	if err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = failed.Err // the path is shown beside it
		}
		return nil, errors.New("the file was not read: " + err.Error())
	}
	return transcript.InputDiffOf(req.ToolName, req.Input, text)
}

// maxEdited is the size of the largest file that a question compares.
const maxEdited = 4 << 20

var (
	errTooLarge = errors.New("it is larger than 4 MiB")
	errBinary   = errors.New("it is not a text")
)

// ReadText returns the content of a text file. It does not block on anything but a regular file,
// even if that takes the place of one in between.
func ReadText(path string) (string, error) {
	data, err := files.ReadSmall(path, maxEdited)
	switch {
	case errors.Is(err, files.ErrTooLarge):
		return "", errTooLarge
	case errors.Is(err, files.ErrNotRegular):
		return "", files.ErrNotRegular
	case err != nil:
		return "", err
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "", errBinary
	}
	return string(data), nil
}
