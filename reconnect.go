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

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/internal/redact"
	"github.com/clewdev/clew/wire"
)

// ReconnectOptions say how often and how fast a session starts a new agent in place of one that has died. The zero
// value means the defaults.
//
// An agent has died if it was killed, has crashed or can't be reached any more, and also if it ended in the middle of a
// turn. One that ends in order between turns, as some prompts make it do, ends the session. So does one that was silent
// for [Options.IdleTimeout].
//
// The new agent resumes the conversation by its ID, so far as the old one has written it down. It gets what the options
// say, and then what was changed by methods of the session: model, permission mode, thinking, settings, MCP servers and
// their state, working folders, added plugins, remote control, subscribers, suggestions, browsers, and a rewind of the
// conversation without a turn behind it. Permission rules for the session alone are gone, as are background tasks,
// logins that had not ended and files that were seeded as read; limits such as [Options.MaxBudgetUSD] count anew.
//
// Control requests and prompts wait while there is no agent, as long as their contexts let them. What the dead agent
// had got and not answered is a [*LostError], and is never sent again. A [wire.SessionReconnectedMessage] is among the
// messages where the new agent's begin. When the attempts are used up, the session ends with a [*ReconnectError].
type ReconnectOptions struct {
	// MaxAttempts is how many times in a row an agent is started before the session gives up. It counts anew once a turn
	// has ended in order. 0 means 5.
	MaxAttempts int
	// MinBackoff and MaxBackoff bound the pause before an attempt: the first has none, the second the shortest, and each
	// further one twice that of the one before. 0 means 500 milliseconds and 30 seconds.
	MinBackoff time.Duration
	MaxBackoff time.Duration
}

// withDefaults returns the options with nothing left out.
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

// check returns what is wrong, or "".
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

// checkReconnect refuses what can't be taken up again.
func (o *Options) checkReconnect() error {
	if o.Reconnect == nil {
		return nil
	}
	if o.Ephemeral {
		return badOption("Reconnect", "not together with Ephemeral: there is nothing to resume")
	}
	if reason := o.Reconnect.check(); reason != "" {
		return badOption("Reconnect", "%s", reason)
	}
	return nil
}

// A reviver puts another agent in the place of one that has died. Its fields but alive belong to the goroutine that
// receives.
type reviver struct {
	session *Session
	opts    ReconnectOptions

	alive    context.Context //nolint:containedctx // it is the session's own, and ends when that is closed
	stop     context.CancelFunc
	greeting sync.WaitGroup

	attempts int // in a row, without a turn that has ended in order
	outage   outage
	gaveUp   *ReconnectError
}

// An outage is the time from the death of an agent until another one is up.
type outage struct {
	began    time.Time
	exit     *ExitError // how the agent died
	lost     []string   // the prompts that died with it
	attempts int
	last     error // why there is still no agent
}

func newReviver(s *Session) *reviver {
	r := &reviver{session: s}
	r.alive, r.stop = context.WithCancel(context.Background())
	if s.opts.Reconnect != nil {
		r.opts = s.opts.Reconnect.withDefaults()
	}
	return r
}

// wait waits until nobody greets an agent any more.
func (r *reviver) wait() {
	r.stop()
	r.greeting.Wait()
}

// replace starts another agent in place of one that has ended. It returns nil if there is to be none.
func (r *reviver) replace(l *life) *life {
	s := r.session
	if s.opts.Reconnect == nil || s.mortal.Load() || s.closed.Load() || !s.ready.Load() || r.orderly(l) {
		return nil
	}
	lost := &LostError{Exit: s.causeOfDeath(l)}
	prompts := s.lose(lost)
	switch err := r.fate(l); {
	case err == nil:
		r.outage = outage{began: time.Now(), exit: lost.Exit, lost: prompts, last: lost.Exit}
	case r.outage.exit == nil:
		return nil // it was the first agent, and never up
	case isLost(err) || errors.Is(err, errGone):
		r.outage.last = l.words(lost.Exit)
	default:
		r.outage.last = err
	}
	if s.progress.restart() {
		r.attempts = 0
	}
	s.log.Warn("the agent has died", "error", r.outage.last)
	r.drain()
	return r.next()
}

// drain has what the agent has written taken to the store before another one writes to the same files, unless that
// takes too long.
func (r *reviver) drain() {
	ctx, cancel := context.WithTimeout(r.alive, r.session.opts.storeTimeout())
	defer cancel()
	r.session.mirror.drain(ctx.Done())
}

// orderly reports whether an agent that was up has ended as it should: by itself, between turns.
func (r *reviver) orderly(l *life) bool {
	return l.up.Load() && l.death() == nil && !r.session.progress.atWork()
}

// fate waits until it is known whether an agent that is gone had come up, and returns why not.
func (r *reviver) fate(l *life) error {
	select {
	case err := <-l.greeted:
		return err
	case <-r.alive.Done():
		return ErrClosed
	}
}

// next makes attempts until an agent has been started. It returns nil if there are none left, or the session is closed.
func (r *reviver) next() *life {
	for r.alive.Err() == nil {
		if r.attempts == r.opts.MaxAttempts {
			r.gaveUp = &ReconnectError{Attempts: r.attempts, Exit: r.outage.exit, Last: r.outage.last}
			return nil
		}
		r.attempts++
		r.outage.attempts++
		if !sleep(r.alive, r.opts.pause(r.attempts)) {
			return nil
		}
		l, err := r.start()
		if err == nil {
			return l
		}
		r.session.log.Warn("the agent can't be started", "attempt", r.attempts, "error", err)
		r.outage.last = err
	}
	return nil
}

// sleep waits for a while. It reports whether ctx has not ended meanwhile.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// start starts an agent, and has it greeted while it is listened to.
func (r *reviver) start() (l *life, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("clew: panic while the agent was started: %s", redact.Mask(fmt.Sprint(p)))
		}
	}()
	s := r.session
	plan, err := r.options().plan()
	if err != nil {
		return nil, err
	}
	conn, err := start(r.alive, plan)
	if err != nil {
		return nil, err
	}
	s.record.started(plan)
	l = newLife(conn, s.record)
	l.open = s.control.Attach(l.input)
	s.life.Store(l)
	if s.closed.Load() { // Close may have seen the one before
		conn.Close() //nolint:errcheck // receive, which ends with it, keeps the error
	}
	down := r.outage
	r.greeting.Go(func() { l.greeted <- s.welcome(l, plan, &down) })
	return l, nil
}

// options returns how the next agent is started: it resumes the conversation, if there was one. The first turn may not
// have been written down when the agent died, and then every other attempt begins anew under the same id. The agent
// refuses that if there is something to resume.
func (r *reviver) options() *Options {
	o := *r.session.opts
	talk := r.session.progress.conversation()
	switch anew := talk.answers <= 1 && r.outage.attempts%2 == 0; {
	case talk.id == "":
		return &o
	case anew && !talk.reset:
		if o.ForkSession || o.Resume == "" && !o.Continue {
			o.SessionID = talk.id
		}
		return &o
	case anew:
		o.Resume, o.SessionID = "", talk.id
	default:
		o.Resume, o.SessionID = talk.id, ""
	}
	o.Continue, o.ForkSession, o.ResumeAt, o.ResumeDropsTurn = false, false, "", nil
	o.Title = "" // the session has it, or a newer one
	return &o
}

// errGone says that an agent has died before it was up.
var errGone = errors.New("clew: the agent is gone")

// welcome makes an agent ready that was just started, and the session go on with it. If it can't, it ends the agent.
func (s *Session) welcome(l *life, plan *launchPlan, down *outage) error {
	ctx, cancel := s.withInitializeTimeout(s.reviver.alive)
	defer cancel()
	err := s.prepare(ctx, plan)
	if err != nil {
		if errors.Is(context.Cause(ctx), errInitializeTimeout) {
			err = s.notReady()
		}
		l.interrupt()
		l.conn.Close() //nolint:errcheck // receive, which ends with it, keeps the error
		return err
	}
	s.stir()
	if !l.open() {
		return errGone
	}
	l.rise(func(early []wire.Message) {
		for _, msg := range early {
			s.note(msg)
		}
		told := down.message(s.ID())
		told.Resumed = plan.options.Resume != "" || plan.options.Continue
		s.push(append([]wire.Message{told}, early...))
	})
	s.log.Info("the session goes on with another agent", "attempts", down.attempts)
	return nil
}

// prepare gives a new agent what the options say, and what was changed since.
func (s *Session) prepare(ctx context.Context, plan *launchPlan) error {
	if err := s.greet(ctx, plan); err != nil {
		return err
	}
	changed := s.changes.all()
	if err := s.setServers(ctx, serversOf(plan, changed)); err != nil {
		return err
	}
	if mode := s.progress.permissionMode(); mode != "" && mode != s.info.Load().CurrentPermissionMode {
		if _, err := s.ask(ctx, s.control.Greet, modeSubtype, setPermissionModeRequest{mode}); err != nil {
			return err
		}
	}
	for i := range changed {
		if err := s.redo(ctx, &changed[i]); err != nil {
			return err
		}
	}
	return nil
}

// serversOf returns the MCP servers that a new agent gets right after its greeting: those that were set last.
func serversOf(plan *launchPlan, changed []change) any {
	for _, c := range changed {
		if c.subtype == serversSubtype {
			return c.fields
		}
	}
	return plan.servers
}

// redo repeats a request for a new agent. One that is refused now costs the change, or the agent if that must not go on
// without it.
func (s *Session) redo(ctx context.Context, c *change) error {
	if c.subtype == serversSubtype {
		return nil // it has them already
	}
	_, err := s.ask(ctx, s.control.Greet, c.subtype, c.fields)
	if refusal, ok := errors.AsType[*ControlError](err); ok && !c.strict() {
		s.log.Warn("the new agent refuses what the old one was told", "error", refusal)
		return nil
	}
	return err
}

// message returns what the caller is told when the outage is over.
func (o *outage) message(sessionID string) *wire.SessionReconnectedMessage {
	m := &wire.SessionReconnectedMessage{
		Error: o.exit.Error(), ExitCode: o.exit.Code, Attempts: o.attempts, LostPrompts: o.lost,
		Downtime: wire.Millis(float64(time.Since(o.began)) / float64(time.Millisecond)),
		UUID:     newUUID(), SessionID: sessionID,
	}
	if o.exit.Signal != nil {
		m.Signal = o.exit.Signal.String()
	}
	return m
}

// lose takes leave of an agent that has died: calls fail, callbacks end, and the prompts that it had got are lost. It
// returns their ids. Prompts that it had not got wait for the next agent.
func (s *Session) lose(err *LostError) (prompts []string) {
	s.sending.Lock()
	defer s.sending.Unlock()
	kept := s.control.Break(err)
	prompts = s.progress.lose(kept)
	s.readers.lose(prompts, err)
	return prompts
}

// causeOfDeath returns how an agent has died, also if its exit code does not show it.
func (s *Session) causeOfDeath(l *life) *ExitError {
	exit := cmp.Or(l.death(), &ExitError{Reason: "ended without a result"})
	l.addStderr(exit)
	return exit
}

// words returns why an agent has died that never was up, in its own words if it has said some.
func (l *life) words(exit *ExitError) error {
	if result := l.lastResult(); result != nil {
		return &ResultError{Result: result, Exit: exit}
	}
	return exit
}

// orVerdict returns how the session has ended in place of an error about an agent that was lost while it came up.
func (s *Session) orVerdict(err error) error {
	if !isLost(err) {
		return err
	}
	<-s.ended
	return s.cause
}

// Subtypes of requests that are treated in a way of their own.
const (
	rewindSubtype     = "rewind_conversation"
	serversSubtype    = "mcp_set_servers"
	settingsSubtype   = "apply_flag_settings"
	modeSubtype       = "set_permission_mode"
	serverModeSubtype = "set_mcp_permission_mode_override"
	thinkingSubtype   = "set_max_thinking_tokens"
	cwdSubtype        = "set_cwd"
)

// remembered are the requests that change how an agent works for as long as it lives, by their subtype, each with the
// field that tells what it changes, if it can change several things. Of those that change the same, the last counts.
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

// changes are the requests that have changed how the agent works, for one that takes its place.
type changes struct {
	mu   sync.Mutex
	list []change // the newest last
}

// A change is a request that has changed something, which its key names.
type change struct {
	key, subtype string
	fields       map[string]wire.JSON
}

// remember notes a request that was granted, if it has changed something for as long as the agent lives.
func (s *Session) remember(subtype string, in any) {
	what, ok := remembered[subtype]
	if !ok || s.opts.Reconnect == nil {
		return
	}
	fields := fieldsOf(in)
	switch subtype {
	case modeSubtype:
		var mode wire.PermissionMode
		if fields["mode"].Decode(&mode) == nil {
			s.progress.setPermissionMode(mode)
		}
	case settingsSubtype:
		s.changes.merge(fields)
	case thinkingSubtype:
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			s.changes.add(change{subtype + name, subtype, map[string]wire.JSON{name: fields[name]}})
		}
	default:
		if what == "" || !rawjson.Absent(fields[what]) {
			s.changes.add(change{subtype + string(fields[what]), subtype, fields})
		}
	}
}

// rememberThat notes a request whose answer says that it has changed something.
func (s *Session) rememberThat(subtype string, in any) {
	if s.opts.Reconnect != nil {
		s.changes.add(change{subtype, subtype, fieldsOf(in)})
	}
}

// fieldsOf returns the fields of a request that was sent, and so has a JSON form.
func fieldsOf(in any) map[string]wire.JSON {
	var fields map[string]wire.JSON
	if data, err := rawjson.Encode(in); err == nil {
		_ = data.Decode(&fields) // it is an object, or null
	}
	return fields
}

// add puts a change behind all others, in place of an earlier one of the same.
func (c *changes) add(newest change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(newest.key)
	c.list = append(c.list, newest)
}

// merge adds settings to those of earlier requests. As with the agent, each takes the place of one of the same name.
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

// forget removes a change that is of no interest any more.
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

// strict reports whether an agent must not go on without the change: it could do what it may not.
func (c *change) strict() bool {
	return c.subtype == settingsSubtype || c.subtype == serverModeSubtype || c.subtype == rewindSubtype
}
