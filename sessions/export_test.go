package sessions

import (
	"os"

	"github.com/fsnotify/fsnotify"
)

// SetWrite replaces the function that a Folder writes with.
func (f *Folder) SetWrite(write func(*os.File, []byte) (int, error)) { f.write = write }

// SetLink replaces the function that a Folder links files with.
func (f *Folder) SetLink(link func(from, to string) error) { f.link = link }

// SetStep sets a function that a Folder calls before each step of Append, Delete and Restore.
func (f *Folder) SetStep(step func(name string)) { f.step = step }

// SetReadJob sets a function that a Folder calls before it reads the directory of a project for its job.
func (f *Folder) SetReadJob(read func(project string)) { f.readJob = read }

// SetNotifier replaces the functions that create a notifier and add a directory to it.
func (o *TailOptions) SetNotifier(create func() (*fsnotify.Watcher, error), add func(*fsnotify.Watcher, string) error) {
	o.notify = func() (*notifier, error) {
		w, err := create()
		if err != nil {
			return nil, err
		}
		return &notifier{w, func(dir string) error { return add(w, dir) }}, nil
	}
}

// SetNotifier replaces the function that creates a notifier.
func (o *WatchOptions) SetNotifier(create func() (*fsnotify.Watcher, error)) {
	o.notify = func() (*notifier, error) {
		w, err := create()
		if err != nil {
			return nil, err
		}
		return &notifier{w, w.Add}, nil
	}
}
