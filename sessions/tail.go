package sessions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/clewdev/clew/transcript"
)

// TailOptions say which session to follow, and how. Nil and the zero value mean any project of the agent's own files.
type TailOptions struct {
	// Options say where the session is, which must be in files.
	Options
	// Read says how transcripts are read. Nil means the defaults.
	Read *transcript.ReadOptions
	// OnlyMain leaves out the subagents.
	OnlyMain bool
	// PollInterval is how often to look for changes. 0 means that the system tells of them, and that files are looked at
	// every 2 s besides, or every 200 ms where the system cannot tell.
	PollInterval time.Duration

	notify func() (*notifier, error) // nil means newNotifier
}

// An Update tells what is new in a session that is followed.
type Update struct {
	// Agent is the subagent whose transcript has changed, or of which more is known, such as the call that has started
	// it. It is nil for the session itself.
	Agent *transcript.Agent
	// Transcript is what has been written so far, or nil if there is no file that can be read. It belongs to the loop,
	// which changes it before the next update.
	Transcript *transcript.Transcript
	// First is the index of the first chunk that is new or has changed, or the number of chunks if none has. Subagents
	// that come under an item don't count: they have updates of their own.
	First int
	// Reset says that the file was cut, replaced or moved, and was read anew.
	Reset bool
	// Gone says that the file is not there any more. If it comes again, it is read from its start.
	Gone bool
	// Err says why the transcript of a subagent can't be read, or, if Agent is nil, why a folder of them can't be. It is
	// told once; what can be read later is.
	Err error
}

// Tail follows a session and its subagents as they grow, those that [Read] finds. First comes an update for each
// transcript that is there, that of the session before the others, then one whenever an agent has written something.
// Subagents are under the items that started them: once all updates were taken, the whole is what [Read] returns, but
// for a last line that has no end yet.
//
// It ends with the error of the context, or when the loop is left; then nothing stays behind. A session that is not
// there, and one whose file can't be read, is the error of the last pair. The file may go and come again, see [Update], and
// is followed to the folder of another project: agents that change their working folder take it along.
//
// An update costs as much as the new lines are long, except after a rewind, and when a subagent starts or ends. What an
// agent writes at once may come in one update or in several. The last line waits until it has an end. It is held in
// memory meanwhile, up to [transcript.ReadOptions.MaxLineBytes]: a longer line is passed over.
func Tail(ctx context.Context, id string, opts *TailOptions) iter.Seq2[*Update, error] {
	own := opts.clone()
	return func(yield func(*Update, error) bool) {
		folder, path, err := own.locate(ctx, id)
		if err != nil {
			yield(nil, err)
			return
		}
		f := following{id: id, folder: folder, opts: own, yield: yield}
		for path != "" {
			path = f.follow(ctx, path)
		}
	}
}

// locate returns the file of a session, and the store that it is in.
func (o *TailOptions) locate(ctx context.Context, id string) (*Folder, string, error) {
	p, key, err := o.find(ctx, id)
	if err != nil {
		return nil, "", err
	}
	folder, ok := p.store.(*Folder)
	if !ok {
		return nil, "", fmt.Errorf("sessions: session %s can't be followed: it is in a %T, not in files", id, p.store)
	}
	path := folder.path(key)
	return folder, path, nil
}

// A following is one loop over a session that may move to the folder of another project, as it does when the agent
// changes its working folder.
type following struct {
	id     string
	folder *Folder
	opts   TailOptions
	moved  bool
	yield  func(*Update, error) bool
}

// follow follows the session in a file, and returns where it has moved to, or "" when the loop has ended.
func (f *following) follow(ctx context.Context, path string) (next string) {
	TailFile(ctx, path, &f.opts)(func(u *Update, err error) bool {
		if err == nil && u.Gone && u.Agent == nil {
			if next = f.elsewhere(ctx, path); next != "" {
				f.moved = true
				return false
			}
		}
		if f.moved && err == nil {
			u.Reset, f.moved = true, false
		}
		return f.yield(u, err)
	})
	return next
}

// elsewhere returns the file of the session if it is now another one, or "".
func (f *following) elsewhere(ctx context.Context, path string) string {
	anywhere := TailOptions{Options: Options{Store: f.folder}}
	if _, found, err := anywhere.locate(ctx, f.id); err == nil && found != path {
		return found
	}
	return ""
}

// TailFile follows the transcript in a file, and the subagents that lie around it as the agent lays them out. Neither
// the file nor its folder need be there yet. opts.Options do not count. See [Tail].
func TailFile(ctx context.Context, path string, opts *TailOptions) iter.Seq2[*Update, error] {
	own := opts.clone()
	return func(yield func(*Update, error) bool) {
		t, err := newTailing(path, own)
		if err != nil {
			yield(nil, fmt.Errorf("sessions: follow %s: %w", path, err))
			return
		}
		defer t.watch.close()
		err = t.run(ctx, func(u *Update) bool { return yield(u, nil) })
		if !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// errLeft says that the caller has left the loop.
var errLeft = errors.New("the loop was left")

func (o *TailOptions) clone() TailOptions {
	if o == nil {
		return TailOptions{}
	}
	return *o
}
