package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/transcript"
)

// A tailing is one loop over the updates of a session.
type tailing struct {
	opts   TailOptions
	main   *tailed
	agents []*tailed          // in the order in which they were found
	byPath map[string]*tailed // all of them, by the paths of their transcripts and of the files beside them
	places tailPlaces
	watch  *watch
	buffer []byte
	yield  func(*Update) bool

	named    map[string]bool // calls that something says have started subagents
	outdated bool            // subagents have to be put under their items anew

	// Of one look: the files to be read, and what is to be told.
	touched []*tailed
	refused []error
	updates []*Update
}

// A tailed file is a transcript that is followed.
type tailed struct {
	followed
	agent   *transcript.Agent // nil for the session itself
	meta    os.FileInfo       // of the file beside it
	failed  string            // why it can't be read
	touched bool
	linkFacts
	place agentPlace
}

func newTailing(path string, opts TailOptions) (*tailing, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	folder, ok := strings.CutSuffix(path, transcriptExtension)
	if !ok {
		return nil, errors.New("its name does not end in " + transcriptExtension)
	}
	t := &tailing{
		opts:   opts,
		main:   &tailed{followed: followed{path: path, opts: opts.Read, stat: os.Stat}},
		byPath: map[string]*tailed{},
		places: newTailPlaces(folder),
		watch:  newWatch(&opts),
		buffer: make([]byte, copyBuffer),
	}
	t.byPath[path] = t.main
	return t, nil
}

func (t *tailing) run(ctx context.Context, yield func(*Update) bool) error {
	t.yield = yield
	var changed *changes // nil means that anything may have changed
	for {
		if err := t.look(ctx, changed); err != nil {
			return err
		}
		var err error
		if changed, err = t.watch.wait(ctx); err != nil {
			return err
		}
	}
}

// look yields what is new in the files that may have changed. They are all read before, since what one of them says may
// belong under an item of another.
func (t *tailing) look(ctx context.Context, changed *changes) error {
	t.touched, t.refused, t.updates = nil, nil, nil
	t.find(changed)
	for len(t.touched) > 0 { // to read one may touch others
		f := t.touched[0]
		t.touched, f.touched = t.touched[1:], false
		if err := t.read(ctx, f, changed != nil); err != nil {
			return err
		}
	}
	t.link()
	t.tellRefused()
	for _, u := range t.updates {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !t.yield(u) {
			return errLeft
		}
	}
	return nil
}

// find touches the files that may have changed, that of the session first, and those that are new.
func (t *tailing) find(changed *changes) {
	if changed == nil {
		t.watch.begin()
		t.watch.add(t.places.project)
		t.touch(t.main)
		for _, f := range t.agents {
			t.touch(f)
		}
		t.discoverAll()
		return
	}
	if changed.has(t.main.path) {
		t.touch(t.main)
	}
	for _, path := range changed.paths {
		if f := t.byPath[path]; f != nil {
			t.touch(f)
			continue
		}
		t.discover(path)
	}
}

func (t *tailing) touch(f *tailed) {
	if !f.touched {
		f.touched = true
		t.touched = append(t.touched, f)
	}
}

// read takes what is new in one file, and notes the update that tells of it. named says that an event has named the
// file.
func (t *tailing) read(ctx context.Context, f *tailed, named bool) error {
	met := f.agent != nil && f.readMeta(named)
	g, err := f.followed.read(ctx, t.buffer, named)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && f.agent == nil {
		return fmt.Errorf("sessions: follow %s: %w", f.path, err)
	}
	u := &Update{Agent: f.agent, Reset: g.reset, Gone: g.gone, Err: tellOnce(&f.failed, f.path, err)}
	if u.Err == nil && !g.tells() && !(met && f.agent.Transcript != nil) {
		return nil
	}
	f.fill(u)
	t.updates = append(t.updates, u)
	isNew := f.outdates(u, t.named)
	t.outdated = t.outdated || isNew || met
	if f.agent == nil {
		t.followMain(u, isNew)
	}
	return nil
}

// followMain looks for what an update of the session itself may have brought about.
func (t *tailing) followMain(u *Update, isNew bool) {
	if u.Reset || u.Gone { // so may its folders be
		t.watch.renew()
	}
	if isNew && u.Transcript != nil && !t.opts.OnlyMain {
		t.seekMates(u)
	}
}

// fill puts what was read into an update.
func (f *tailed) fill(u *Update) {
	if f.builder != nil {
		u.First = f.builder.Changed()
		u.Transcript = f.builder.Transcript()
	}
	if f.agent != nil {
		f.agent.Transcript = u.Transcript
	}
}

// tellRefused notes updates for folders that can't be read.
func (t *tailing) tellRefused() {
	for _, err := range t.refused {
		u := &Update{Err: err}
		t.main.fill(u)
		t.updates = append(t.updates, u)
	}
}

// tellOnce returns an error for the caller unless the same one was told last, which told is.
func tellOnce(told *string, path string, err error) error {
	if err == nil {
		*told = ""
		return nil
	}
	if *told == err.Error() {
		return nil
	}
	*told = err.Error()
	return fmt.Errorf("sessions: follow %s: %w", path, err)
}
