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

// TailOptions select a session and configure how it is followed. Nil and the zero value mean any
// project of the agent's own files.
type TailOptions struct {
	// Store, Project and ProjectName locate the session, as in [Options]. It must be in files: the
	// agent's own or a [Folder]'s. [TailFile] ignores them.
	Store                Store
	Project, ProjectName string

	// Read configures how transcripts are read, such as the longest line. Nil means the defaults.
	Read *transcript.ReadOptions
	// OnlyMain leaves out the subagents.
	OnlyMain bool
	// Progress is called while the session's own transcript is read from its start, with the bytes
	// read so far and the size of the file. The goroutine of the loop calls it, some four times for
	// each megabyte. Nil means that nothing is called.
	Progress func(done, total int64)
	// PollInterval is the interval between checks of the files for changes. 0 means that the
	// operating system reports changes; files are then also checked every 2 seconds, or every 200
	// milliseconds where the system can't report changes. Set it for files on a network file
	// system.
	PollInterval time.Duration

	notify func() (*notifier, error) // nil means newNotifier
}

// An Update is a change of a session that [Tail] follows. It concerns one transcript: the session's
// or a subagent's.
type Update struct {
	// Agent is the subagent whose transcript changed, or of which more is known now, such as the
	// tool call that started it. It is nil for the session itself.
	Agent *transcript.Agent
	// Transcript is everything that was written so far, or nil if the file does not exist or can't
	// be read. Don't keep it: the loop changes it before the next update.
	Transcript *transcript.Transcript
	// First is the index of the first chunk that is new or changed, or the number of chunks if none
	// has. A viewer needs to redraw only from there. Subagents that appear under an item don't
	// count as changes of its chunk, since they have their own updates.
	First int
	// Loading reports whether more updates follow of subagents that existed when the loop started.
	// It is false in the last of them, after which the transcripts are complete.
	Loading bool
	// More reports whether the next update is about the same moment, such as when several agents
	// write something. It follows without waiting, so that a viewer need not draw before it.
	More bool
	// Relinked reports whether subagents were put under items since the last update, anywhere in
	// the session. Then [transcript.DisplayItem.Agents] may have changed in chunks before First.
	Relinked bool
	// Reset reports whether the file was cut, replaced or moved, and was read again from the start.
	Reset bool
	// Gone reports whether the file no longer exists. If it comes back, it is read from the start.
	Gone bool
	// Err explains why the transcript of a subagent can't be read or, if Agent is nil, why a
	// directory of subagents can't be. The same error is reported once. If the file can be read
	// later, the next update has its contents.
	Err error
}

// Tail follows a session and its subagents as they grow. First it yields an update for each
// existing transcript, starting with the session's, which comes before the subagents are read.
// After that it yields one whenever an agent writes something. It finds the same subagents as
// [Read] and puts them under the items that started them, once they are read. After all updates,
// the transcripts equal what Read returns, except for an incomplete last line: see
// [Update.Loading].
//
//	for u, err := range sessions.Tail(ctx, id, nil) {
//		if err != nil {
//			return err
//		}
//		if u.Transcript != nil {
//			draw(u.Agent, u.Transcript.Chunks[u.First:])
//		}
//	}
//
// The loop ends when the caller leaves it, or with the error of the context when that ends. Nothing
// keeps running after it. If there is no such session, or its file can't be read, that error is the
// last pair. If the file is deleted and comes back, Tail continues with it: see [Update]. If the
// file moves to the directory of another project, as happens when the agent changes its working
// directory, Tail follows it there.
//
// The cost of an update is proportional to the new lines, except after a rewind and when a subagent
// starts or ends. Lines that an agent writes at once may come in one update or in several. An
// incomplete last line is kept in memory until it is complete. If it becomes longer than
// [transcript.ReadOptions.MaxLineBytes], it is skipped.
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

// locate returns the store that has a session, and the path of its file.
func (o *TailOptions) locate(ctx context.Context, id string) (*Folder, string, error) {
	s, key, err := (&Options{o.Store, o.Project, o.ProjectName}).find(ctx, id)
	if err != nil {
		return nil, "", err
	}
	folder, ok := s.store.(*Folder)
	if !ok {
		return nil, "", fmt.Errorf("sessions: follow session %s: the store, a %T, does not keep files", id, s.store)
	}
	path := folder.path(key)
	return folder, path, nil
}

// A follower is one loop of Tail. The session may move to the directory of another project during
// it.
type follower struct {
	id string
	// folder is the store that has the session, where it is looked for after a move.
	folder *Folder
	// opts are a copy of the caller's options.
	opts TailOptions
	// moved reports whether the next update is the first from another file, and so has to say
	// Reset.
	moved bool
	yield func(*Update, error) bool
}

// follow follows the session in one file. It returns the path to which the file moved, or "" if the
// loop ended.
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

// elsewhere returns the path of the session's file if it moved, or "".
func (f *follower) elsewhere(ctx context.Context, path string) string {
	anywhere := TailOptions{Store: f.folder}
	if _, found, err := anywhere.locate(ctx, f.id); err == nil && found != path {
		return found
	}
	return ""
}

// TailFile follows a transcript by the path of its file, which must end in ".jsonl". It also
// follows the subagents whose transcripts are where the agent puts them, relative to that file.
// Neither the file nor its directory has to exist yet. See [Tail].
//
//	for u, err := range sessions.TailFile(ctx, "/var/log/agent/transcript.jsonl", nil) {
//		…
//	}
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

// errLeft is returned internally if the caller left the loop.
var errLeft = errors.New("the loop was left")

// clone returns a copy, or the zero value for nil.
func (o *TailOptions) clone() TailOptions {
	if o == nil {
		return TailOptions{}
	}
	return *o
}

// A tailer is one loop over the updates of a session. It works in rounds:
//
// 1. The watch waits until something may have changed. 2. find marks the files that may have
// changed, and discovers new ones. 3. read reads what is new in each of them, and collects updates.
// 4. link puts subagents under the items that started them, if that may have changed. 5. The
// updates are yielded to the caller.
//
// Before the first round, the session itself is read and yielded, if it may have subagents: see
// begin.
type tailer struct {
	opts   TailOptions
	main   *tailedFile
	agents []*tailedFile          // in the order they were found
	byPath map[string]*tailedFile // all files, by the paths of their transcripts and metadata files
	paths  tailPaths
	watch  *watch
	buffer []byte
	yield  func(*Update) bool

	startCalls map[string]bool // IDs of tool calls that are known to have started subagents
	outdated   bool            // subagents have to be linked to their items again
	relinked   bool            // they were, and no update has said so
	stage      tailStage

	// State of one round: files to read, errors of directories, and the updates to yield.
	touched []*tailedFile
	refused []error
	updates []*Update
}

// A tailStage is the progress of a tailer.
type tailStage int

const (
	tailBegins  tailStage = iota // the session itself is read
	tailLoads                    // the session was yielded, and subagents that existed before are read
	tailFollows                  // everything that was there at the beginning was yielded
)

// A tailedFile is a transcript that is followed.
type tailedFile struct {
	followedFile
	agent   *transcript.Agent // nil for the session itself
	meta    os.FileInfo       // of the metadata file that was read
	failed  string            // the last error that was reported
	touched bool
	linkFacts
	linked agentLink
}

// newTailer returns a tailer for a file, which need not exist. The caller has to close its watch.
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
		return nil, errors.New("file name does not end in " + transcriptExtension)
	}
	create := opts.notify
	if create == nil {
		create = newNotifier
	}
	t := &tailer{
		opts:   opts,
		main:   &tailedFile{followedFile: followedFile{path: path, opts: opts.Read, stat: os.Stat}},
		byPath: map[string]*tailedFile{},
		paths:  newTailPaths(folder),
		watch:  newWatch(opts.PollInterval, create),
		buffer: make([]byte, copyBuffer),
	}
	t.byPath[path] = t.main
	t.main.progress = opts.Progress
	return t, nil
}

// run yields updates until the context ends or the caller leaves the loop.
func (t *tailer) run(ctx context.Context, yield func(*Update) bool) error {
	t.yield = yield
	if err := t.begin(ctx); err != nil {
		return err
	}
	var changed *changes // nil means that any file may have changed
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

// begin reads the session itself and yields it, before any time is spent on subagents. If there are
// none, the update waits for the first round, and so it is the last update with Loading set.
func (t *tailer) begin(ctx context.Context) error {
	t.watch.add(t.paths.project)
	if err := t.read(ctx, t.main, false); err != nil {
		return err
	}
	if len(t.updates) == 0 || !t.mayHaveAgents() {
		t.stage = tailFollows
		return nil
	}
	t.stage = tailLoads
	return t.report(ctx)
}

// update reads the files that may have changed and yields what is new. It reads all of them first,
// since an entry of one may belong under an item of another.
func (t *tailer) update(ctx context.Context, changed *changes) error {
	t.find(changed)
	for len(t.touched) > 0 { // reading one file may mark others
		f := t.touched[0]
		t.touched, f.touched = t.touched[1:], false
		if err := t.read(ctx, f, changed != nil); err != nil {
			return err
		}
	}
	t.link()
	t.reportRefused()
	if t.stage == tailLoads {
		t.stage = tailFollows
		t.endLoading()
	}
	return t.report(ctx)
}

// endLoading marks the updates that end the first ones. There is at least one, so that the caller
// learns that no more follow.
func (t *tailer) endLoading() {
	if len(t.updates) == 0 {
		u := new(Update)
		t.main.fill(u)
		t.updates = append(t.updates, u)
	}
	for _, u := range t.updates[:len(t.updates)-1] {
		u.Loading = true
	}
}

// report yields the updates of a round.
func (t *tailer) report(ctx context.Context) error {
	updates := t.updates
	t.touched, t.refused, t.updates = nil, nil, nil
	if len(updates) > 0 {
		t.watch.found()
	}
	for i, u := range updates {
		if err := ctx.Err(); err != nil {
			return err
		}
		u.More = i < len(updates)-1
		u.Loading = u.Loading || t.stage == tailLoads
		u.Relinked, t.relinked = t.relinked, false
		if !t.yield(u) {
			return errLeft
		}
	}
	return nil
}

// find marks the files that may have changed, the session's first, and new files.
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

// touch marks a file to be read in this round.
func (t *tailer) touch(f *tailedFile) {
	if !f.touched {
		f.touched = true
		t.touched = append(t.touched, f)
	}
}

// read reads what is new in one file, and adds an update if there is any. named reports whether an
// event has named the file.
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

// followMain handles what a change of the main transcript may imply: replaced directories, and new
// teammates.
func (t *tailer) followMain(u *Update, isNew bool) {
	if u.Reset || u.Gone { // its directories may have been replaced as well
		t.watch.renew()
	}
	if isNew && u.Transcript != nil && !t.opts.OnlyMain && t.noteTeammates(u) && t.stage != tailBegins {
		t.discoverBeside()
	}
}

// fill puts the transcript that was read into an update.
func (f *tailedFile) fill(u *Update) {
	if f.builder != nil {
		u.First = f.builder.Changed()
		u.Transcript = f.builder.Transcript()
	}
	if f.agent != nil {
		f.agent.Transcript = u.Transcript
	}
}

// reportRefused adds updates for directories that can't be read.
func (t *tailer) reportRefused() {
	for _, err := range t.refused {
		u := &Update{Err: err}
		t.main.fill(u)
		t.updates = append(t.updates, u)
	}
}

// reportOnce returns an error for the caller, or nil if the same error was reported last. last is
// the text of that one.
func reportOnce(last *string, path string, err error) error {
	if err == nil {
		*last = ""
		return nil
	}
	if *last == err.Error() {
		return nil
	}
	*last = err.Error()
	return fmt.Errorf("sessions: follow %s: %w", path, err)
}

// sidecarOf returns the path of the metadata file of a transcript, given the transcript's path.
func sidecarOf(path string) string {
	return strings.TrimSuffix(path, transcriptExtension) + sidecarExtension
}

// readMeta reads the metadata file of a subagent, and reports whether there is something new in it.
// If the file is gone or incomplete, the metadata read before remains. named reports whether an
// event has named the file.
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

// sameState reports whether a file seems unchanged, by size and time.
func sameState(a, b fs.FileInfo) bool { return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) }

// linkFacts are the facts about a transcript that decide which item started which subagent. Linking
// takes time proportional to the length of the session, so it is done again only if one of these
// facts changed.
type linkFacts struct {
	starts map[int]uint64     // hashes of what chunks say about subagents, by index
	tasks  int                // the number of known task calls
	branch *transcript.Branch // the first branch: if one changes, all are new values
	start  time.Time
	kind   transcript.AgentKind
	team   string // name@team
}

// An agentLink names the item that a subagent is under.
type agentLink struct {
	by           transcript.LinkedBy
	call, parent string
}

// updateFacts updates the facts after an update, and reports whether any changed.
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

// hasFirstPrompt reports whether an update contains the first prompt of a transcript, which
// describes the task of a subagent.
func hasFirstPrompt(u *Update) bool {
	return !slices.ContainsFunc(u.Transcript.Chunks[:u.First], func(c transcript.Chunk) bool {
		return c.Type == transcript.UserChunk
	})
}

// updateStarts updates the hashes of the chunks in an update, and reports whether any changed.
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

// hashStarts returns a hash of the facts about subagents in items, or 0 if there are none.
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

// link puts the subagents under the items that started them, if the facts for that changed.
func (t *tailer) link() {
	if !t.outdated || t.main.builder == nil || t.opts.OnlyMain {
		return
	}
	t.outdated, t.relinked = false, true
	main := t.main.builder.Transcript()
	t.startCalls = map[string]bool{}
	t.noteTaskCalls(main)
	var agents []*transcript.Agent
	for _, f := range t.agents {
		if f.agent.Transcript != nil && f.offset > 0 { // has a complete line
			agents = append(agents, f.agent)
			t.startCalls[f.agent.Meta.ToolUseID] = true
			t.noteTaskCalls(f.agent.Transcript)
		}
	}
	delete(t.startCalls, "")
	linkAgents(main, agents)
	t.reportMoved()
}

// noteTaskCalls adds the tool calls that started tasks, according to a transcript.
func (t *tailer) noteTaskCalls(from *transcript.Transcript) {
	for _, call := range from.TaskCalls {
		t.startCalls[call] = true
	}
}

// reportMoved adds updates for subagents that are under another item now, unless they already have
// one.
func (t *tailer) reportMoved() {
	updated := map[*transcript.Agent]bool{}
	for _, u := range t.updates {
		updated[u.Agent] = true
	}
	for _, f := range t.agents {
		if f.agent.Transcript == nil {
			continue
		}
		now := agentLink{f.agent.LinkedBy, f.agent.CallID, f.agent.ParentID}
		if now != f.linked && !updated[f.agent] {
			u := &Update{Agent: f.agent}
			f.fill(u)
			t.updates = append(t.updates, u)
		}
		f.linked = now
	}
}
