package sessions

import (
	"io/fs"
	"os"
	"strings"

	"github.com/clewdev/clew/transcript"
)

func sidecarOf(path string) string {
	return strings.TrimSuffix(path, transcriptExtension) + sidecarExtension
}

// readMeta reads what is known of a subagent from the file beside its transcript, and reports whether that is new. What
// was known stays so if the file goes, or is half written. named says that an event has named the file.
func (f *tailed) readMeta(named bool) bool {
	path := sidecarOf(f.path)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSidecar {
		return false
	}
	if !named && f.meta != nil && sameState(info, f.meta) {
		return false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	meta, err := transcript.DecodeAgentMeta(text)
	if err != nil {
		return false
	}
	isNew := f.meta == nil || meta.Raw != f.agent.Meta.Raw
	f.meta, f.agent.Meta = info, meta
	return isNew
}

func sameState(a, b fs.FileInfo) bool { return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) }
