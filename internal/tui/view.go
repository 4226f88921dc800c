package tui

import (
	"context"

	"github.com/clewdev/clew/sessions"
)

// ShowSessions shows the list of sessions until the user leaves it. all says whether it begins with those of
// all projects; otherwise it begins with those of this project, if there are any.
func ShowSessions(ctx context.Context, t Terminal, src Source, opts Options, all bool) error {
	return run(ctx, t, &app{opts: opts, src: src}, func(a *app) screen { return newSessions(a, all) })
}

// ShowSession shows a session until the user leaves it.
func ShowSession(ctx context.Context, t Terminal, src Source, opts Options, info sessions.SessionInfo) error {
	return run(ctx, t, &app{opts: opts, src: src}, func(a *app) screen { return newSession(a, info, Place{}) })
}
