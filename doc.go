// Package clew drives Claude Code from Go: it starts the agent, gives it prompts, and yields what it says and does as
// typed messages.
//
//	for msg, err := range clew.Query(ctx, "Explain this repository", nil) {
//		if err != nil {
//			return err
//		}
//		if m, ok := msg.(*clew.AssistantMessage); ok {
//			fmt.Println(m.Content.Text())
//		}
//	}
//
// [Query] streams one run, [Run] returns only its result, [RunAs] returns a Go value. [Connect] opens a [Session]: one
// agent, any number of turns, and its control requests as methods, from [Session.Interrupt] to [Session.ContextUsage];
// those without a method go through [Session.Control]. [Options] says how the agent is started and what the caller
// wants to be asked: permissions, hooks, questions.
//
// Messages, blocks and events are those of package wire, the same for a live agent and for a recorded stream; those of
// every day have a second name here. What the agent says that this package does not know is never dropped: it comes as
// an [*UnknownMessage], a line that is not JSON as a [*TextLine], and a broken frame as an [*InvalidFrame]. None of them
// ends the stream.
//
// # Lifecycle
//
// Connect starts the agent binary, greets it, and returns once it has answered. Query starts nothing before its loop
// does, and each loop starts an agent of its own. Such a run ends with the agent: its input is closed behind the last
// prompt, or, if callbacks may still be needed, when the agent is idle. Leaving the loop ends the agent. A session
// lives until [Session.Close], or until its agent dies.
//
// Ending an agent is always the same: a turn that runs is interrupted, the input is closed, and the agent ends by
// itself, with its transcript written. One that does not gets SIGTERM after [Options.CloseTimeout] and SIGKILL after as
// long again, and with it whatever it has started. When this process dies, the agent does, too.
//
// # Concurrency
//
// All methods of a session may be called at the same time. The agent's output is read all the time, whether or not
// somebody takes the messages: control requests, permission questions and hooks never wait behind unread messages.
// Unread messages are kept in memory, up to 4 MiB, and beyond that in a temporary file without a name, up to
// [Options.MaxBacklogBytes]. Only then does a slow reader slow the agent; none is lost.
//
// Callbacks run on goroutines of their own, several at once. Their context ends when the agent withdraws the question,
// or is gone. A panic in one is an error answer to the agent.
//
// An idle session has three goroutines and about 25 KB of memory, and no thread of its own on Linux.
//
// # Errors
//
// Errors have types: [*OptionsError] and [*NotFoundError] before anything was started, [*ExitError] for an agent that
// died, with its exit code or signal and the end of its standard error, [*ControlError] for a control request that the
// agent refused, [*ResultError] for a turn that failed, [*OutputError] for a structured answer that does not fit. A
// failed turn is a [*ResultMessage] first and an error second, and a session lives on after it. When the agent dies,
// everybody who waits for it gets the same error at once. Secrets are masked in the texts of errors, as far as their shape
// shows that they are secrets.
//
// # Compatibility
//
// The package is tested against the version of Claude Code that the README names, and made for versions from
// [MinAgentVersion] on. An older one is used with a warning to [Options.Logger]; a request that an agent does not know
// is a [*ControlError] whose Unsupported method says so. Flags, control requests, hooks and messages that are newer than
// this package can be used all the same, with [Options.ExtraArgs], [Session.Control] and the raw JSON of each message.
package clew
