package sessions

import (
	"os"

	"github.com/fsnotify/fsnotify"
)

// SetWrite replaces the write of a folder's appends.
func (f *Folder) SetWrite(write func(*os.File, []byte) (int, error)) { f.write = write }

// SetNotifier replaces the way in which the system tells of changes, and that in which it is told of a folder.
func (o *TailOptions) SetNotifier(create func() (*fsnotify.Watcher, error), add func(*fsnotify.Watcher, string) error) {
	o.notify = func() (*notifier, error) {
		w, err := create()
		if err != nil {
			return nil, err
		}
		return &notifier{w, func(folder string) error { return add(w, folder) }}, nil
	}
}
