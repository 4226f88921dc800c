package tempconfig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path"
	"strings"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// WriteTranscript writes a transcript to the path where the agent looks for it, and the metadata of
// a subagent to the file next to it. It returns the number of entries. Without entries, it creates
// no file. It returns an error if entries yields one, if the key or an entry is invalid, or if a
// file can't be written.
func (f *Folder) WriteTranscript(key wire.SessionKey, entries iter.Seq2[wire.JSON, error]) (n int, err error) {
	if err := key.Check(); err != nil {
		return 0, fmt.Errorf("tempconfig: %w", err)
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return 0, fmt.Errorf("tempconfig: %w", err)
	}
	defer root.Close()
	t := &transcript{root: root, key: key}
	defer func() {
		if closeErr := t.close(); err == nil {
			err = closeErr
		}
	}()
	for entry, err := range entries {
		if err != nil {
			return n, err
		}
		if err := t.write(entry); err != nil {
			return n, fmt.Errorf("tempconfig: entry %d of %s: %w", n+1, key, err)
		}
		n++
	}
	return n, nil
}

// A transcript is a transcript file that is being written, and its metadata file.
type transcript struct {
	root    *os.Root // refuses paths that lead out of the directory
	key     wire.SessionKey
	file    *os.File // nil before the first line
	lines   *bufio.Writer
	sidecar []byte // nil if there is none
}

func (t *transcript) write(entry wire.JSON) error {
	if t.key.Subpath != "" {
		if content, ok := sessionfile.Sidecar(entry); ok {
			t.sidecar = content // the last one counts
			return nil
		}
	}
	line, err := oneLine(entry)
	if err != nil {
		return err
	}
	if t.file == nil {
		if t.file, err = t.create(sessionfile.Path(t.key)); err != nil {
			return err
		}
		t.lines = bufio.NewWriterSize(t.file, 64<<10)
	}
	if _, err := t.lines.WriteString(line); err != nil {
		return err
	}
	return t.lines.WriteByte('\n')
}

// oneLine returns an entry on one line. A store may have formatted it differently.
func oneLine(entry wire.JSON) (string, error) {
	text := strings.TrimSpace(string(entry))
	if !strings.HasPrefix(text, "{") {
		return "", fmt.Errorf("not a JSON object")
	}
	if !strings.ContainsAny(text, "\r\n") {
		return text, nil
	}
	var b bytes.Buffer
	err := json.Compact(&b, []byte(text))
	return b.String(), err
}

func (t *transcript) create(name string) (*os.File, error) {
	name = path.Join(sessionfile.Folder, name)
	if err := t.root.MkdirAll(path.Dir(name), dirMode); err != nil {
		return nil, err
	}
	return t.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
}

// close writes the metadata and closes the file.
func (t *transcript) close() error {
	if t.file != nil {
		err := t.lines.Flush()
		if closeErr := t.file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return fmt.Errorf("tempconfig: %w", err)
		}
	}
	if t.sidecar == nil {
		return nil
	}
	f, err := t.create(sessionfile.SidecarPath(t.key))
	if err == nil {
		_, err = f.Write(t.sidecar)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		return fmt.Errorf("tempconfig: %w", err)
	}
	return nil
}
