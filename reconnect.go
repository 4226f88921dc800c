package clew

import (
	"cmp"
	"time"
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
