package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// ReconnectOptions configure how often and how fast a session replaces an agent that died. The zero
// value means the defaults.
//
// An agent counts as dead if it was killed, crashed, can't be reached any more, or exited in the
// middle of a turn. An agent that exits normally between turns, as some prompts make it do, ends
// the session. So does an agent that was silent for [Limits.IdleTimeout].
//
// The new agent resumes the conversation by its ID, as far as the old one wrote the transcript. It
// gets the options, and then the changes that methods of the session made: model, permission mode,
// thinking, settings, MCP servers and their state, working directories, added plugins, remote
// control, subscribers, suggestions, browsers, and a rewind of the conversation that no turn
// followed. Permission rules of the session are lost, and so are background tasks, logins that had
// not ended and files that were seeded as read. Limits such as [Limits.MaxBudgetUSD] start again
// from zero.
//
// While no agent runs, control requests and prompts wait until their contexts end. A request or
// prompt that the dead agent had received and not answered fails with a [*LostError], and is never
// sent again. A [wire.SessionReconnectedMessage] precedes the messages of the new agent. When all
// attempts fail, the session ends with a [*ReconnectError].
type ReconnectOptions struct {
	// MaxAttempts is the number of consecutive starts before the session gives up. A turn that
	// succeeds resets the count. 0 means 5.
	MaxAttempts int
	// MinBackoff and MaxBackoff bound the pause before an attempt. The first attempt has no pause,
	// the second has the shortest, and the pause doubles before each further one. 0 means 500
	// milliseconds and 30 seconds.
	MinBackoff time.Duration
	MaxBackoff time.Duration
}

// withDefaults returns the options with defaults for the fields that are zero.
func (o ReconnectOptions) withDefaults() ReconnectOptions {
	o.MaxAttempts = cmp.Or(o.MaxAttempts, 5)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, max(30*time.Second, o.MinBackoff))
	o.MinBackoff = cmp.Or(o.MinBackoff, min(500*time.Millisecond, o.MaxBackoff))
	return o
}

// pause returns how long to wait before an attempt, counted from 1.
func (o ReconnectOptions) pause(attempt int) time.Duration {
	if attempt <= 1 {
		return 0
	}
	pause := o.MinBackoff
	for range attempt - 2 {
		if pause >= o.MaxBackoff/2 {
			return o.MaxBackoff
		}
		pause *= 2
	}
	return pause
}

// check returns why the options can't be used, or "".
func (o *ReconnectOptions) check() string {
	switch {
	case o.MaxAttempts < 0:
		return "MaxAttempts is negative"
	case o.MinBackoff < 0:
		return "MinBackoff is negative"
	case o.MaxBackoff < 0:
		return "MaxBackoff is negative"
	case o.MaxBackoff > 0 && o.MaxBackoff < o.MinBackoff:
		return "MaxBackoff is shorter than MinBackoff"
	}
	return ""
}

// checkReconnect refuses options with which a session can't be resumed.
func (o *Options) checkReconnect() error {
	if o.Reconnect == nil {
		return nil
	}
	if o.Session.Ephemeral {
		return badOption("Reconnect", "can't be combined with Session.Ephemeral: there is nothing to resume")
	}
	if reason := o.Reconnect.check(); reason != "" {
		return badOption("Reconnect", "%s", reason)
	}
	return nil
}

// A reconnector replaces a process that died. Only the read loop uses its fields, but for the
// context and the wait group.
type reconnector struct {
	agent *agent
	opts  ReconnectOptions

	open     context.Context //nolint:containedctx // it belongs to the session, and ends when that is closed
	stop     context.CancelFunc
	starting sync.WaitGroup // the goroutines that make a process ready

	attempts int // in a row, without a turn that ended normally
	outage   outage
	gaveUp   *ReconnectError
}

// An outage is the time from the death of one process until another one is ready.
type outage struct {
	began    time.Time
	exit     *ExitError // how the process died
	lost     []string   // the prompts that were lost with it
	attempts int
	last     error // why there is still no process
}

func newReconnector(a *agent) *reconnector {
	r := &reconnector{agent: a}
	r.open, r.stop = context.WithCancel(context.Background())
	if o := a.session.opts.Reconnect; o != nil {
		r.opts = o.withDefaults()
	}
	return r
}

// wait waits until no process is being made ready any more.
func (r *reconnector) wait() {
	r.stop()
	r.starting.Wait()
}

// replace starts another process after p ended. It returns nil if the session ends.
func (r *reconnector) replace(p *agentProcess) *agentProcess {
	s := r.agent.session
	if !r.wanted(p) {
		return nil
	}
	lost := &LostError{Exit: p.unexpectedEnd()}
	prompts := r.disconnect(lost)
	s.trace.settled(lost, prompts...)
	switch err := r.startOutcome(p); {
	case err == nil:
		r.outage = outage{began: time.Now(), exit: lost.Exit, lost: prompts, last: lost.Exit}
	case r.outage.exit == nil:
		return nil // it was the first process, and never ready
	case isLost(err) || errors.Is(err, errGone):
		r.outage.last = p.startError(lost.Exit)
	default:
		r.outage.last = err
	}
	if s.progress.restart() {
		r.attempts = 0
	}
	s.meter.restart()
	s.log.Warn("the agent has died", "error", r.outage.last)
	r.drainStore()
	return r.startNext()
}

// wanted reports whether a process that ended is to be replaced. It is not if it ended as it
// should: by itself, between turns.
func (r *reconnector) wanted(p *agentProcess) bool {
	s := r.agent.session
	if s.opts.Reconnect == nil || r.agent.noReconnect.Load() || s.ending.closing() || !r.agent.initialized() {
		return false
	}
	return !p.ready.Load() || p.failure() != nil || s.progress.inTurn()
}

// disconnect cuts the session off from a process that died: calls fail, callbacks end, and the
// prompts that the process had received are lost. It returns their ids. Other prompts wait for the
// next process.
func (r *reconnector) disconnect(err *LostError) (lost []string) {
	s := r.agent.session
	s.sending.Lock()
	defer s.sending.Unlock()
	kept := s.control.Break(err)
	r.agent.forgetPrompt(func(id string) bool { return !slices.Contains(kept, id) })
	lost = s.progress.lose(kept)
	s.readers.lose(lost, err)
	return lost
}

// drainStore copies what the process wrote to the store before another one writes to the same
// files, unless that takes too long.
func (r *reconnector) drainStore() {
	ctx, cancel := context.WithTimeout(r.open, r.agent.session.opts.storeTimeout())
	defer cancel()
	r.agent.session.mirror.drain(ctx.Done())
}

// startOutcome waits until it is known whether a process that ended was ready before, and returns
// why not.
func (r *reconnector) startOutcome(p *agentProcess) error {
	select {
	case err := <-p.initialized:
		return err
	case <-r.open.Done():
		return ErrClosed
	}
}

// startNext makes attempts until a process is started. It returns nil if there are none left, or if
// the session is closed.
func (r *reconnector) startNext() *agentProcess {
	for r.open.Err() == nil {
		if r.attempts == r.opts.MaxAttempts {
			r.gaveUp = &ReconnectError{Attempts: r.attempts, Exit: r.outage.exit, Last: r.outage.last}
			return nil
		}
		r.attempts++
		r.outage.attempts++
		if pause.For(r.open, r.opts.pause(r.attempts)) != nil {
			return nil
		}
		p, err := r.start()
		if err == nil {
			return p
		}
		r.agent.session.log.Warn("the agent can't be started", "attempt", r.attempts, "error", err)
		r.outage.last = err
	}
	return nil
}

// start starts a process. A goroutine makes it ready while the read loop reads what it writes.
func (r *reconnector) start() (p *agentProcess, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("clew: panic while the agent was started: %s", redact.Mask(fmt.Sprint(v)))
		}
	}()
	s := r.agent.session
	plan, err := r.options().planFor(r.open, false)
	if err != nil {
		return nil, err
	}
	conn, err := start(r.open, plan)
	if err != nil {
		return nil, err
	}
	s.record.started(plan)
	p = newAgentProcess(conn, s.record)
	p.open = s.control.Attach(p.input)
	r.agent.current.Store(p)
	if s.ending.closing() { // Close may have closed the one before
		p.close()
	}
	down := r.outage
	r.starting.Go(func() { p.initialized <- r.makeReady(p, plan, &down) })
	return p, nil
}

// options returns the options of the next process: it resumes the conversation, if there is one.
// When the agent died in its first turn, that may not be in the transcript, so every other attempt
// starts the conversation again under the same ID. The agent refuses that if there is something to
// resume.
func (r *reconnector) options() *Options {
	o := *r.agent.session.opts
	talk := r.agent.session.progress.conversation()
	switch again := talk.answers <= 1 && r.outage.attempts%2 == 0; {
	case talk.id == "":
		return &o
	case again && !talk.reset:
		if o.Session.Fork || o.Session.Resume == "" && !o.Session.Continue {
			o.Session.ID = talk.id
		}
		return &o
	case again:
		o.Session.Resume, o.Session.ID = "", talk.id
	default:
		o.Session.Resume, o.Session.ID = talk.id, ""
	}
	o.Session.Continue, o.Session.Fork, o.Session.ResumeAt, o.Session.ResumeDropsTurn = false, false, "", nil
	o.Session.Title = "" // the session has it, or a newer one
	return &o
}

// errGone reports that a process died before it was ready.
var errGone = errors.New("clew: the agent is gone")

// makeReady makes a process ready that was just started, and lets the session continue with it. If
// it can't, it ends the process.
func (r *reconnector) makeReady(p *agentProcess, plan *launchPlan, down *outage) error {
	s := r.agent.session
	ctx, cancel := r.agent.withInitializeTimeout(r.open)
	defer cancel()
	err := r.initialize(ctx, plan)
	if err != nil {
		if errors.Is(context.Cause(ctx), errInitializeTimeout) {
			err = r.agent.notReady()
		}
		p.interrupt(s.log)
		p.close()
		return err
	}
	s.watchdog.markActive()
	if !p.open() {
		return errGone
	}
	p.markReady(func(early []wire.Message) {
		reconnected := down.message()
		reconnected.Resumed = plan.options.Session.Resume != "" || plan.options.Session.Continue
		s.trace.message(reconnected)
		for _, msg := range early {
			s.update(msg)
		}
		reconnected.SessionID = s.ID()
		s.push(append([]wire.Message{reconnected}, early...))
	})
	s.log.Info("the session continues with another agent", "attempts", down.attempts)
	return nil
}

// initialize sends a new process its plan, and the changes that methods of the session made since.
func (r *reconnector) initialize(ctx context.Context, plan *launchPlan) error {
	s := r.agent.session
	if err := r.agent.sendInitialize(ctx, plan); err != nil {
		return err
	}
	changed := r.agent.changes.all()
	if err := r.agent.sendServers(ctx, newestServers(plan, changed)); err != nil {
		return err
	}
	if mode := s.progress.permissionMode(); mode != "" && mode != r.agent.info.Load().CurrentPermissionMode {
		if _, err := s.ask(ctx, s.control.CallEarly, modeSubtype, setPermissionModeRequest{mode}); err != nil {
			return err
		}
	}
	for i := range changed {
		if err := r.repeat(ctx, &changed[i]); err != nil {
			return err
		}
	}
	return nil
}

// newestServers returns the MCP servers that a new process gets right after it is initialized: the
// servers that were set last.
func newestServers(plan *launchPlan, changed []change) any {
	for _, c := range changed {
		if c.subtype == serversSubtype {
			return c.fields
		}
	}
	return plan.servers
}

// repeat repeats a request for a new process. If the agent refuses it now, the change is dropped,
// unless the agent must not continue without it.
func (r *reconnector) repeat(ctx context.Context, c *change) error {
	if c.subtype == serversSubtype {
		return nil // sendServers has sent them
	}
	s := r.agent.session
	_, err := s.ask(ctx, s.control.CallEarly, c.subtype, c.fields)
	if refusal, ok := errors.AsType[*ControlError](err); ok && !c.strict() {
		s.log.Warn("the new agent refuses a change that the old one had made", "error", refusal)
		return nil
	}
	return err
}

// message returns what the caller reads when the outage is over, without the ID of the session.
func (o *outage) message() *wire.SessionReconnectedMessage {
	m := &wire.SessionReconnectedMessage{
		Error: o.exit.Error(), ExitCode: o.exit.Code, Attempts: o.attempts, LostPrompts: o.lost,
		Downtime: wire.Millis(float64(time.Since(o.began)) / float64(time.Millisecond)),
		UUID:     newid.UUID(),
	}
	if o.exit.Signal != nil {
		m.Signal = o.exit.Signal.String()
	}
	return m
}

// Subtypes of requests that need special treatment.
const (
	rewindSubtype     = "rewind_conversation"
	serversSubtype    = "mcp_set_servers"
	settingsSubtype   = "apply_flag_settings"
	modeSubtype       = "set_permission_mode"
	serverModeSubtype = "set_mcp_permission_mode_override"
	thinkingSubtype   = "set_max_thinking_tokens"
	cwdSubtype        = "set_cwd"
)

// remembered are the subtypes of requests that change how an agent works until it ends. If such a
// request can change several things, the value is the field that names the thing. Of requests that
// change the same thing, the last counts.
var remembered = map[string]string{
	"set_model":                     "",
	modeSubtype:                     "",
	settingsSubtype:                 "",
	thinkingSubtype:                 "",
	serversSubtype:                  "",
	serverModeSubtype:               "serverName",
	"mcp_toggle":                    "serverName",
	"channel_enable":                "serverName",
	"register_repo_root":            "directory",
	"reload_plugins":                "add_plugins",
	"remote_control":                "",
	"select_chrome_browser":         "",
	"set_chrome_browser_hints":      "",
	"set_color":                     "",
	"set_has_subscribers":           "",
	"set_prompt_suggestions_paused": "",
}

// changes are the requests that changed how the agent works. They are repeated for an agent that
// replaces it.
type changes struct {
	mu   sync.Mutex
	list []change // the newest last
}

// A change is a request that changed something. Its key names the thing.
type change struct {
	key, subtype string
	fields       map[string]wire.JSON
}

// remember keeps a request that the agent granted, if it changed how the agent works.
func (a *agent) remember(subtype string, in any) {
	what, ok := remembered[subtype]
	if !ok || a.session.opts.Reconnect == nil {
		return
	}
	fields := fieldsOf(in)
	switch subtype {
	case modeSubtype:
		var mode wire.PermissionMode
		if fields["mode"].Decode(&mode) == nil {
			a.session.progress.setPermissionMode(mode)
		}
	case settingsSubtype:
		a.changes.merge(fields)
	case thinkingSubtype:
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			a.changes.add(change{subtype + name, subtype, map[string]wire.JSON{name: fields[name]}})
		}
	default:
		if what == "" || !rawjson.Absent(fields[what]) {
			a.changes.add(change{subtype + string(fields[what]), subtype, fields})
		}
	}
}

// rememberAlways keeps a request whose answer reports that it changed something.
func (a *agent) rememberAlways(subtype string, in any) {
	if a.session.opts.Reconnect != nil {
		a.changes.add(change{subtype, subtype, fieldsOf(in)})
	}
}

// fieldsOf returns the fields of a request that was sent, and so can be encoded.
func fieldsOf(in any) map[string]wire.JSON {
	var fields map[string]wire.JSON
	if data, err := rawjson.Encode(in); err == nil {
		_ = data.Decode(&fields) // it is an object, or null
	}
	return fields
}

// add adds a change after all others. It replaces an earlier one with the same key.
func (c *changes) add(newest change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(newest.key)
	c.list = append(c.list, newest)
}

// merge adds settings to the settings of earlier requests. As in the agent, a setting replaces an
// earlier one of the same name.
func (c *changes) merge(fields map[string]wire.JSON) {
	settings := make(map[string]wire.JSON)
	for _, old := range c.all() {
		if old.key == settingsSubtype {
			_ = old.fields["settings"].Decode(&settings) // it was encoded here
		}
	}
	if fields["settings"].Decode(&settings) != nil {
		return
	}
	if merged, err := rawjson.Encode(settings); err == nil {
		c.add(change{settingsSubtype, settingsSubtype, map[string]wire.JSON{"settings": merged}})
	}
}

// forget removes a change that no longer matters.
func (c *changes) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
}

func (c *changes) drop(key string) {
	c.list = slices.DeleteFunc(c.list, func(old change) bool { return old.key == key })
}

// all returns the changes in the order in which they were made.
func (c *changes) all() []change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// strict reports whether an agent must not continue without the change, because it could do
// something that is forbidden.
func (c *change) strict() bool {
	return c.subtype == settingsSubtype || c.subtype == serverModeSubtype || c.subtype == rewindSubtype
}
