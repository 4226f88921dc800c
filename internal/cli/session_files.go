package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/internal/export"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

const (
	maxImage  = 5 << 20  // bytes of a picture in a document
	maxImages = 64 << 20 // bytes of all of them, unless all is asked for
)

// sessionFiles has what a transcript in memory does not: pictures, and long
// results in files of their own. Nil has nothing.
type sessionFiles struct {
	session *sessions.Session // or nil
	path    string            // of the transcript
	left    int               // bytes of pictures that there is room for
}

// filesOf returns the files around a transcript.
func filesOf(ctx context.Context, path string) *sessionFiles {
	files := &sessionFiles{path: path}
	id, isTranscript := strings.CutSuffix(filepath.Base(path), ".jsonl")
	project, err := filepath.Abs(filepath.Dir(path))
	if !isTranscript || err != nil {
		return files
	}
	opts := &sessions.Options{Store: sessions.NewFolder(filepath.Dir(project)), ProjectName: filepath.Base(project)}
	if session, err := sessions.Open(ctx, id, opts); err == nil {
		files.session = session
	}
	return files
}

func (f *sessionFiles) close() {
	if f != nil && f.session != nil {
		_ = f.session.Close() // opened to be read
	}
}

// provide lets a document have what is in the files.
func (f *sessionFiles) provide(ctx context.Context, opts *export.Options, full bool) {
	if f == nil {
		return
	}
	f.left = maxImages
	opts.Images = func(agent string, item *transcript.DisplayItem) []export.Image {
		entry, err := f.entry(ctx, agent, item.ResultAt)
		if err != nil {
			return nil
		}
		images := export.ImagesIn(&entry, item.ToolID, maxImage)
		for _, image := range images {
			if f.left -= len(image.Data); f.left < 0 && !full {
				return nil
			}
		}
		return images
	}
	if !full || f.session == nil {
		return
	}
	opts.Output = func(item *transcript.DisplayItem) string {
		name, _ := transcript.SpillPath(item)
		text, err := f.session.Spill(name)
		if err != nil {
			return ""
		}
		return string(text)
	}
}

// entry reads one entry again.
func (f *sessionFiles) entry(ctx context.Context, agent string, at wire.Position) (transcript.Entry, error) {
	if f.session != nil {
		return f.session.Entry(ctx, agent, at)
	}
	if agent != "" {
		return transcript.Entry{}, os.ErrNotExist
	}
	file, err := os.Open(f.path)
	if err != nil {
		return transcript.Entry{}, err
	}
	defer file.Close()
	line := make([]byte, at.Bytes)
	if _, err := io.ReadFull(io.NewSectionReader(file, at.Offset, at.Bytes), line); err != nil {
		return transcript.Entry{}, err
	}
	return transcript.DecodeEntry(line)
}
