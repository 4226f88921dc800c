package clew

import (
	"cmp"
	"time"
)

// PoolOptions say how many agents a [Pool] keeps, and for how long. The zero value means the defaults.
type PoolOptions struct {
	// Warm is how many agents are kept ready for the callers to come. An agent takes about 250 MB of memory. 0 means 1.
	Warm int
	// MaxAgents is how many agents there are at most, those that start, wait, work or end all counted. Callers beyond that
	// wait in line. It can't be less than Warm. 0 means four times Warm.
	MaxAgents int
	// MaxUses is how many conversations an agent serves, one after the other. 0 means 1, so that nothing at all can pass
	// from one to the next. With more, an agent whose [Pool.Query] or [Pool.Run] has ended in order is told to forget it,
	// by the command /clear, and is kept if all went well: see [Pool]. It can't be more than 1 together with
	// [Options.DisableSlashCommands], [Options.VerbatimPrompts] or [Options.PromptSuggestions].
	MaxUses int
	// IdleTimeout is how long an agent waits for a caller before it is ended. The next caller has others started. 0 means
	// 15 minutes.
	IdleTimeout time.Duration
	// HealthInterval is how often an agent that waits for a caller is asked whether it still answers. One that does not
	// within 10 seconds is ended and replaced. 0 means a minute.
	HealthInterval time.Duration
}

// filled returns a copy with the defaults in place of zeros; nil is the zero value.
func (o *PoolOptions) filled() PoolOptions {
	var c PoolOptions
	if o != nil {
		c = *o
	}
	c.Warm = cmp.Or(c.Warm, 1)
	c.MaxAgents = cmp.Or(c.MaxAgents, 4*c.Warm)
	c.MaxUses = cmp.Or(c.MaxUses, 1)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 15*time.Minute)
	c.HealthInterval = cmp.Or(c.HealthInterval, time.Minute)
	return c
}

// check returns what is wrong with options whose defaults are filled in.
func (o *PoolOptions) check() error {
	switch {
	case o.Warm < 0:
		return badOption("PoolOptions.Warm", "is negative")
	case o.MaxAgents < o.Warm:
		return badOption("PoolOptions.MaxAgents", "%d is less than the %d that are kept ready", o.MaxAgents, o.Warm)
	case o.MaxUses < 0:
		return badOption("PoolOptions.MaxUses", "is negative")
	case o.IdleTimeout < 0:
		return badOption("PoolOptions.IdleTimeout", "is negative")
	case o.HealthInterval < 0:
		return badOption("PoolOptions.HealthInterval", "is negative")
	}
	return nil
}

// checkPooled returns what can't be an option of many sessions, or of agents that serve so many of them each.
func (o *Options) checkPooled(uses int) error {
	const single, reused = "is for one session, and a pool has many", "not together with PoolOptions.MaxUses"
	for _, c := range []struct {
		set            bool
		option, reason string
	}{
		{o.Continue, "Continue", single},
		{o.Resume != "", "Resume", single},
		{o.SessionID != "", "SessionID", single},
		{o.Title != "", "Title", single},
		{o.Record != nil, "Record", single},
		{uses > 1 && o.DisableSlashCommands, "DisableSlashCommands", reused},
		{uses > 1 && o.VerbatimPrompts, "VerbatimPrompts", reused},
		{uses > 1 && o.PromptSuggestions, "PromptSuggestions", reused},
	} {
		if c.set {
			return badOption(c.option, "%s", c.reason)
		}
	}
	return nil
}
