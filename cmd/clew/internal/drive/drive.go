// Package drive holds the agents of "clew serve --drive", with their prompts and questions. It has
// no HTTP in it, and shows nothing. Package ask decides for it, as for the chat, on the content
// of a question and the effect of an answer.
//
// Requests come from pages, which may send one twice, be out of date, or be gone before the answer.
//
//   - A request counts once. It carries an ID, which its sender makes: the same ID again gets the
//     first result, for as long as the agent is known, and a request continues when its sender is
//     gone. Results are kept up to 16 MiB for an agent, and 1 MiB after its end. A request whose
//     result was dropped still counts once, and its sender gets an error.
//   - A prompt is never lost and never sent twice. An agent gets one prompt at a time, and the
//     rest waits here. When an agent ends, a prompt that it may have acted on is returned as
//     lost, and one that it never saw as unsent. Neither is sent again without the user.
//   - Prompts outlive the server, which may be killed, though its agents don't. Each agent has a
//     file that only the user can read; see keptAgent. The next server shows these agents as
//     ended, with the prompts that were not answered, and knows the IDs that were accepted. Each
//     server holds a lock, by which the next one knows that it ended. Texts are not encrypted,
//     and images are not kept. The page keeps drafts, and prompts that the server has not
//     confirmed, in localStorage. It sends the latter again in order, with their IDs, for five
//     minutes; after that the user decides.
//   - An answer is bound to its question. It names the question and a digest of everything that
//     pages show of it. The digest is made again when the answer arrives, since the file of a
//     diff may have changed, and an answer with another digest changes nothing. The first answer
//     counts, and later ones learn who gave it.
//   - No page widens what the server was started with. No path comes from a page. The permission
//     modes are the one of --permission-mode and stricter ones, or without it default,
//     acceptEdits and plan. An untrusted directory has no hooks or MCP servers, as with "clew
//     chat".
//   - A session that another process has open is not driven, since both would write to the same
//     file. If several projects have a session with the same ID, only the one in the project of
//     its directory can be driven: the agent looks for the ID there.
package drive

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// The limits.
const (
	MaxAgents     = 8        // that run at the same time
	MaxQueue      = 100      // prompts that wait for an agent
	MaxQuestions  = 64       // of one agent that are open
	MaxPrompt     = 1 << 20  // bytes of the text of a prompt
	MaxImages     = 20       // of a prompt
	MaxImageBytes = 10 << 20 // of all images of a prompt
	maxQueueBytes = 64 << 20 // of the prompts that wait for an agent
	maxEnded      = 32       // ended agents that are remembered
	maxRequests   = 10_000   // requests to one agent

	maxResultBytes      = 16 << 20 // of the results of requests that are remembered, for one agent
	maxEndedResultBytes = 1 << 20  // the same for an ended agent

	maxStarts = 4096 // requests to start an agent that are remembered
)

// mergeInterval is the time for which answer text is collected before readers get it.
const mergeInterval = 50 * time.Millisecond

// controlTimeout is the time that the agent has to answer a page's request.
var controlTimeout = 20 * time.Second

var _ = timelimit.Register(&controlTimeout, &stopTimeout)

// Options configures the agents.
type Options struct {
	// Base has the options of every agent. This package sets the individual ones: the directory,
	// the session, the callbacks.
	Base clew.Options
	// Roots are directories in which, and in whose subdirectories, agents can be started, in addition
	// to the directories of known projects.
	Roots []string
	// Mode is the permission mode of agents for which none is asked for, and pages can set none that is
	// looser. Empty means [clew.PermissionModeDefault], and that pages can also have edits accepted. A
	// mode that asks nothing can be used only if it is this one.
	Mode wire.PermissionMode
	// Trust changes the options of an agent whose directory the user does not trust, and returns a
	// line about it or "". Nil means that every directory is trusted.
	Trust func(dir string, opts *clew.Options) (note string, err error)
	// Keep is a directory for the prompts of agents until they are answered, so that they outlive this
	// process: see [Agents.Restore]. Empty means that nothing is kept.
	Keep string
	// Connect starts an agent; nil means [clew.Connect].
	Connect func(ctx context.Context, opts *clew.Options) (*clew.Session, error)
	// Names returns the sessions of a project, or of all projects for "", newest first and each ID
	// once; nil means [sessions.Names].
	Names func(ctx context.Context, project string) ([]sessions.SessionInfo, error)
	// Running returns the sessions that agents have open; nil means [sessions.Running].
	Running func(ctx context.Context) ([]sessions.RunningSession, error)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// Agents are the agents that are driven. The methods may be called by several goroutines.
type Agents struct {
	opts   Options
	ctx    context.Context //nolint:containedctx // it ends with the agents
	cancel context.CancelFunc
	starts *onceEach
	modes  []wire.PermissionMode // that a page may set
	work   sync.WaitGroup        // requests that are being fulfilled

	locking sync.Mutex
	lock    *os.File // held while there are files in Options.Keep, or nil

	mu       sync.Mutex
	closed   bool
	agents   []*Agent // in the order in which they were started
	watchers map[*Watcher]bool
	models   []string // as the last agent reported them
}

// New returns no agents yet. The caller has to close them.
func New(opts Options) *Agents {
	if opts.Connect == nil {
		opts.Connect = clew.Connect
	}
	if opts.Names == nil {
		opts.Names = func(ctx context.Context, project string) ([]sessions.SessionInfo, error) {
			return sessions.Names(ctx, &sessions.ListOptions{ProjectName: project})
		}
	}
	if opts.Running == nil {
		opts.Running = func(ctx context.Context) ([]sessions.RunningSession, error) { return sessions.Running(ctx) }
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	modes := modesUpTo(opts.Mode)
	opts.Mode = modes[0]
	a := &Agents{opts: opts, starts: newOnceEach(maxStarts, true), modes: modes, watchers: map[*Watcher]bool{}}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// Modes returns the permission modes that a page may set. The first one is the default.
func (a *Agents) Modes() []wire.PermissionMode { return slices.Clone(a.modes) }

// modesUpTo returns a permission mode, and then the stricter ones. Without one it returns the usual
// one first, and then all in which the agent asks.
func modesUpTo(mode wire.PermissionMode) []wire.PermissionMode {
	asking := []wire.PermissionMode{clew.PermissionModePlan, clew.PermissionModeDefault, clew.PermissionModeAcceptEdits}
	stricter := asking
	if i := slices.Index(asking, mode); i >= 0 {
		stricter = asking[:i]
	}
	first := cmp.Or(mode, clew.PermissionModeDefault)
	modes := []wire.PermissionMode{first}
	for _, m := range stricter {
		if m != first {
			modes = append(modes, m)
		}
	}
	return modes
}

// allows reports whether a page may set a permission mode.
func (a *Agents) allows(mode wire.PermissionMode) bool { return slices.Contains(a.modes, mode) }

// Models returns the models that an agent reported, or its usual aliases before that.
func (a *Agents) Models() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.models) == 0 {
		return []string{"default", "opus", "sonnet", "haiku"}
	}
	return slices.Clone(a.models)
}

// List returns the agents, the last started first, and some that ended.
func (a *Agents) List() []Status {
	a.mu.Lock()
	agents := slices.Clone(a.agents)
	a.mu.Unlock()
	slices.Reverse(agents)
	list := make([]Status, len(agents))
	for i, g := range agents {
		list[i] = g.Status()
	}
	return list
}

// Agent returns an agent by its ID.
func (a *Agents) Agent(id string) (*Agent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.agents {
		if g.id == id {
			return g, nil
		}
	}
	return nil, &Error{Kind: NotFound, Reason: "there is no such agent", Hint: "Start one, or reload the page."}
}

// Driving returns the ID of the agent that has a session open, or "". Sessions of several projects
// with the same ID count as one: the agent keeps copies of files by that ID.
func (a *Agents) Driving(session string) string {
	session, _, _ = strings.Cut(session, "@")
	a.mu.Lock()
	agents := slices.Clone(a.agents)
	a.mu.Unlock()
	for _, g := range agents {
		if g.sessionID() == session && !g.elsewhere && !g.hasEnded() {
			return g.id
		}
	}
	return ""
}

// add adds an agent, unless there are too many. It forgets the oldest ended agents.
func (a *Agents) add(g *Agent) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return errClosing
	}
	running := 0
	for _, other := range a.agents {
		if other.elsewhere || other.hasEnded() {
			continue
		}
		running++
		if other.sessionID() == g.sessionID() {
			return &Error{Kind: Conflict, Reason: "the session is driven here already", Agent: other.id}
		}
	}
	if running >= MaxAgents {
		return &Error{Kind: TooMany, Reason: "8 agents are running, which is the most", Hint: "End one of them."}
	}
	a.forgetLocked(false)
	a.agents = append(a.agents, g)
	return nil
}

var errClosing = &Error{Kind: Gone, Reason: "the server is ending"}

// Close interrupts and ends all agents, and waits for that. It returns the agents that were still
// running, as they were.
func (a *Agents) Close() []Status {
	a.mu.Lock()
	a.closed = true
	agents := slices.Clone(a.agents)
	a.mu.Unlock()
	var open []Status
	var ending sync.WaitGroup
	for _, g := range agents {
		if s := g.Status(); s.State != Ended {
			if !s.Elsewhere {
				open = append(open, s)
			}
			ending.Go(func() { g.stop("the server has ended") })
		}
	}
	ending.Wait()
	a.cancel()
	a.work.Wait()
	a.unclaim()
	a.mu.Lock()
	defer a.mu.Unlock()
	for w := range a.watchers {
		w.end()
	}
	return open
}

// A Kind is the reason why a request is refused.
type Kind int

// The kinds.
const (
	Invalid   Kind = iota // the request makes no sense
	NotFound              // what it names does not exist
	Forbidden             // the server was not started for it
	Conflict              // the state changed, or is another one
	TooMany               // a limit is reached
	Gone                  // it ended
	Fulfilled             // it was fulfilled before, and the result is not known any more
	Failed                // the agent refused it, or does not answer
)

// An Error is the refusal of a request.
type Error struct {
	Kind   Kind
	Reason string // what is wrong
	Hint   string // what to do, or ""
	Agent  string // the agent that has to do with it, or ""
	// Preview is the preview of a refused rewind as of now, or nil.
	Preview *Rewound
}

func (e *Error) Error() string { return e.Reason }

// failed turns an agent's error into a refusal.
func failed(what string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Failed, Reason: what + ": " + reasonOf(err)}
}
