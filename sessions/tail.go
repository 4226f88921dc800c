package sessions

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		f := follower{id: id, folder: folder, opts: own, yield: yield}
		for path != "" {
			path = f.follow(ctx, path)
		}
	}
}

// locate returns the file of a session, and the store that it is in.
func (o *TailOptions) locate(ctx context.Context, id string) (*Folder, string, error) {
	s, key, err := o.find(ctx, id)
	if err != nil {
		return nil, "", err
	}
	folder, ok := s.store.(*Folder)
	if !ok {
		return nil, "", fmt.Errorf("sessions: session %s can't be followed: it is in a %T, not in files", id, s.store)
	}
	path := folder.path(key)
	return folder, path, nil
}

// A following is one loop over a session that may move to the folder of another project, as it does when the agent
// changes its working folder.
type follower struct {
	id     string
	folder *Folder
	opts   TailOptions
	moved  bool
	yield  func(*Update, error) bool
}

// follow follows the session in a file, and returns where it has moved to, or "" when the loop has ended.
func (f *follower) follow(ctx context.Context, path string) (next string) {
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
func (f *follower) elsewhere(ctx context.Context, path string) string {
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
		t, err := newTailer(path, own)
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

// A tailing is one loop over the updates of a session.
type tailer struct {
	opts   TailOptions
	main   *tailedFile
	agents []*tailedFile          // in the order in which they were found
	byPath map[string]*tailedFile // all of them, by the paths of their transcripts and of the files beside them
	paths  tailPaths
	watch  *watch
	buffer []byte
	yield  func(*Update) bool

	startCalls map[string]bool // calls that something says have started subagents
	outdated   bool            // subagents have to be put under their items anew

	// Of one look: the files to be read, and what is to be told.
	touched []*tailedFile
	refused []error
	updates []*Update
}

// A tailed file is a transcript that is followed.
type tailedFile struct {
	followedFile
	agent   *transcript.Agent // nil for the session itself
	meta    os.FileInfo       // of the file beside it
	failed  string            // why it can't be read
	touched bool
	linkFacts
	linked agentLink
}

func newTailer(path string, opts TailOptions) (*tailer, error) {
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
	t := &tailer{
		opts:   opts,
		main:   &tailedFile{followedFile: followedFile{path: path, opts: opts.Read, stat: os.Stat}},
		byPath: map[string]*tailedFile{},
		paths:  newTailPaths(folder),
		watch:  newWatch(&opts),
		buffer: make([]byte, copyBuffer),
	}
	t.byPath[path] = t.main
	return t, nil
}

func (t *tailer) run(ctx context.Context, yield func(*Update) bool) error {
	t.yield = yield
	var changed *changes // nil means that anything may have changed
	for {
		if err := t.update(ctx, changed); err != nil {
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
func (t *tailer) update(ctx context.Context, changed *changes) error {
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
	t.reportRefused()
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
func (t *tailer) find(changed *changes) {
	if changed == nil {
		t.watch.forgetUnwatched()
		t.watch.add(t.paths.project)
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

func (t *tailer) touch(f *tailedFile) {
	if !f.touched {
		f.touched = true
		t.touched = append(t.touched, f)
	}
}

// read takes what is new in one file, and notes the update that tells of it. named says that an event has named the
// file.
func (t *tailer) read(ctx context.Context, f *tailedFile, named bool) error {
	met := f.agent != nil && f.readMeta(named)
	g, err := f.followedFile.read(ctx, t.buffer, named)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && f.agent == nil {
		return fmt.Errorf("sessions: follow %s: %w", f.path, err)
	}
	u := &Update{Agent: f.agent, Reset: g.reset, Gone: g.gone, Err: reportOnce(&f.failed, f.path, err)}
	if u.Err == nil && !g.changed() && !(met && f.agent.Transcript != nil) {
		return nil
	}
	f.fill(u)
	t.updates = append(t.updates, u)
	isNew := f.updateFacts(u, t.startCalls)
	t.outdated = t.outdated || isNew || met
	if f.agent == nil {
		t.followMain(u, isNew)
	}
	return nil
}

// followMain looks for what an update of the session itself may have brought about.
func (t *tailer) followMain(u *Update, isNew bool) {
	if u.Reset || u.Gone { // so may its folders be
		t.watch.renew()
	}
	if isNew && u.Transcript != nil && !t.opts.OnlyMain {
		t.findTeammates(u)
	}
}

// fill puts what was read into an update.
func (f *tailedFile) fill(u *Update) {
	if f.builder != nil {
		u.First = f.builder.Changed()
		u.Transcript = f.builder.Transcript()
	}
	if f.agent != nil {
		f.agent.Transcript = u.Transcript
	}
}

// tellRefused notes updates for folders that can't be read.
func (t *tailer) reportRefused() {
	for _, err := range t.refused {
		u := &Update{Err: err}
		t.main.fill(u)
		t.updates = append(t.updates, u)
	}
}

// tellOnce returns an error for the caller unless the same one was told last, which told is.
func reportOnce(told *string, path string, err error) error {
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

func sidecarOf(path string) string {
	return strings.TrimSuffix(path, transcriptExtension) + sidecarExtension
}

// readMeta reads what is known of a subagent from the file beside its transcript, and reports whether that is new. What
// was known stays so if the file goes, or is half written. named says that an event has named the file.
func (f *tailedFile) readMeta(named bool) bool {
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

// linkFacts are what was known of a transcript when subagents were last put under their items. To do that takes as long
// as the session is, so it is done only if one of the facts is another one now.
type linkFacts struct {
	starts map[int]uint64     // what chunks tell of subagents, by index
	tasks  int                // how many calls of tasks are known
	branch *transcript.Branch // the first one: they are all made anew if one has changed
	start  time.Time
	kind   transcript.AgentKind
	team   string // name@team
}

// An agentPlace is where a subagent hangs.
type agentLink struct {
	by           transcript.LinkedBy
	call, parent string
}

// outdates takes note of the facts after an update, and reports whether one is new.
func (f *tailedFile) updateFacts(u *Update, named map[string]bool) bool {
	t, before := u.Transcript, f.linkFacts
	if t == nil {
		f.linkFacts = linkFacts{}
		return true
	}
	f.tasks, f.branch = len(t.TaskCalls), nil
	if len(t.Branches) > 0 {
		f.branch = &t.Branches[0]
	}
	if f.agent != nil {
		f.start, f.kind = f.agent.Start(), f.agent.Kind()
		f.team, _ = transcript.TeamAgent(t)
	}
	return f.updateStarts(u, named) || hasFirstPrompt(u) || len(t.Sidechains) > 0 || f.tasks != before.tasks ||
		f.branch != before.branch || f.kind != before.kind || f.team != before.team || !f.start.Equal(before.start)
}

// begins reports whether an update has the first words of a transcript, which tell what a subagent was started for.
func hasFirstPrompt(u *Update) bool {
	return !slices.ContainsFunc(u.Transcript.Chunks[:u.First], func(c transcript.Chunk) bool {
		return c.Type == transcript.UserChunk
	})
}

// noteStarts takes note of what the chunks of an update tell of subagents, and reports whether that is new.
func (f *tailedFile) updateStarts(u *Update, named map[string]bool) bool {
	if f.starts == nil || u.First == 0 {
		f.starts = map[int]uint64{}
	}
	isNew := false
	for i := u.First; i < len(u.Transcript.Chunks); i++ {
		if sum := hashStarts(u.Transcript.Chunks[i].Items, named); sum != f.starts[i] {
			isNew = true
			f.starts[i] = sum
		}
	}
	return isNew
}

var startSeed = maphash.MakeSeed()

// sumOfStarts returns a number that is another one if items tell something else of subagents, and 0 if they tell
// nothing.
func hashStarts(items []transcript.DisplayItem, named map[string]bool) uint64 {
	type facts struct {
		item                      int
		call, agent               string
		input, result, structured int
	}
	var sum uint64
	for i := range items {
		item := &items[i]
		if item.Type == transcript.ItemSubagent || item.ToolName == "Workflow" || item.AgentID != "" || named[item.ToolID] {
			sum ^= maphash.Comparable(startSeed, facts{
				i, item.ToolID, item.AgentID, len(item.ToolInput), len(item.ToolResult), len(item.Structured),
			})
		}
	}
	return sum
}

// link puts the subagents under the items that started them, if something has changed that tells which those are.
func (t *tailer) link() {
	if !t.outdated || t.main.builder == nil || t.opts.OnlyMain {
		return
	}
	t.outdated = false
	main := t.main.builder.Transcript()
	t.startCalls = map[string]bool{}
	t.noteTaskCalls(main)
	var agents []*transcript.Agent
	for _, f := range t.agents {
		if f.agent.Transcript != nil && f.offset > 0 { // has a line with an end
			agents = append(agents, f.agent)
			t.startCalls[f.agent.Meta.ToolUseID] = true
			t.noteTaskCalls(f.agent.Transcript)
		}
	}
	delete(t.startCalls, "")
	linkAgents(main, agents)
	t.reportMoved()
}

// name takes note of the calls that a transcript says have started tasks.
func (t *tailer) noteTaskCalls(from *transcript.Transcript) {
	for _, call := range from.TaskCalls {
		t.startCalls[call] = true
	}
}

// tellPlaces notes updates of subagents that hang elsewhere now, unless they have one.
func (t *tailer) reportMoved() {
	told := map[*transcript.Agent]bool{}
	for _, u := range t.updates {
		told[u.Agent] = true
	}
	for _, f := range t.agents {
		if f.agent.Transcript == nil {
			continue
		}
		now := agentLink{f.agent.LinkedBy, f.agent.CallID, f.agent.ParentID}
		if now != f.linked && !told[f.agent] {
			u := &Update{Agent: f.agent}
			f.fill(u)
			t.updates = append(t.updates, u)
		}
		f.linked = now
	}
}
