// Package clew drives Claude Code from Go. It starts the agent, sends it prompts, and returns what
// the agent says and does as typed messages.
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
// # Where to start
//
// [Query] runs one prompt and streams its messages. [Run] returns only the final result, and
// [RunAs] returns a Go value.
//
// [Connect] opens a [Session]: one agent and any number of turns. [Session.Turn] sends a prompt and
// reads the messages up to its result. Other methods control the agent at any time, even during a
// turn: [Session.Interrupt], [Session.SetModel], [Session.SetMCPServers] and others. Package
// screens asks for the contents of the agent's own screens, such as the use of the context window.
// [Session.Control] sends any other request. A [Pool] keeps started agents ready.
//
// [Options] configure how the agent is started, what it may do, and which callbacks answer its
// questions: [Options.CanUseTool] for permissions, [Options.Hooks] for events, [Options.OnQuestion]
// for questions to the user. The types of the first two are in packages permission and hook. Nil
// options are the agent's defaults.
//
// Package tools turns Go functions into tools for the agent. Package sessions lists and reads the
// sessions that are on disk. Package clewtest has a simulated agent for tests.
//
// # Messages
//
// Messages, blocks and events are types of package wire, the same for a live agent and for a
// recorded stream. The most common ones are aliased in this package. Nothing that the agent writes
// is dropped: a message of an unknown kind is an [*UnknownMessage], a line that is not JSON is a
// [*TextLine], and a frame that can't be decoded is an [*InvalidFrame]. None of them ends the
// stream.
//
// # Lifecycle
//
// Connect starts the agent binary, initializes it, and returns when it is ready. A session lives
// until [Session.Close], or until its agent exits.
//
// Query starts an agent when its loop starts, a separate one for each loop. The run ends with the
// agent: its input is closed after the prompt. If there are several, it is closed when all are
// answered, and if callbacks may still be needed, when the agent is idle. An agent that answered
// and does not exit is ended after [Limits.CloseTimeout], unless a subagent works in the
// background. Leaving the loop ends the agent.
//
// An agent always ends in the same way. A turn that is running is interrupted, the input is closed,
// and the agent exits by itself after it writes its transcript. If it does not, it gets SIGTERM
// after [Limits.CloseTimeout] and SIGKILL after the same time again. Processes that its commands
// left running end with it, unless [Options.KeepBackground] is set. When this process dies, so does
// the agent.
//
// # Concurrency
//
// All methods of a session may be called concurrently. The session reads the agent's output all the
// time, whether or not the caller takes the messages, so control requests, permission questions and
// hooks never wait for unread messages. Unread messages are kept in memory, up to 4 MiB, and then
// in an unnamed temporary file, up to [Limits.MaxBacklogBytes]. Only then does a slow reader slow
// the agent down. No message is lost.
//
// Callbacks run on separate goroutines, several at once. Their context ends when the agent
// withdraws the question or exits. A panic in a callback becomes an error answer to the agent.
//
// An idle session needs three goroutines, about 25 KB of memory and, on Linux, no thread.
//
// # Errors
//
// Before an agent is started, the error is an [*OptionsError] or a [*NotFoundError]. An agent that
// exits is an [*ExitError] with the exit code or signal and the end of its standard error;
// everything that waits for the agent gets this error at once. A control request that the agent
// refuses is a [*ControlError]. A turn that fails is a [*ResultError], after its [*ResultMessage];
// the session continues. A structured answer that does not fit its type is an [*OutputError].
//
// Error messages never contain text that looks like a secret.
//
// # Compatibility
//
// This package is tested with the version of Claude Code that docs/compatibility.md names, and supports
// versions from [MinAgentVersion] on. An older one is an [*OptionsError] unless [Options.AllowOldAgent]
// is set. A feature that a version lacks is an error that names a version that has it. A request that
// the agent does not know is a [*ControlError] whose Unsupported method returns true. Flags, control
// requests, hooks and messages that are newer than this package can be used with [Options.ExtraArgs],
// [Session.Control], [hook.RawOutput] and the raw JSON of each message.
//
// # What the agent gets
//
// The command line is short. Everything that the initialize request can carry is sent there: system
// prompts, schemas, agents and hooks. MCP servers, whose settings hold secrets, follow in a
// separate request, so that they are neither in the process list nor on disk. Without a system
// prompt in the options the agent uses its own, as with the CLI; the official SDKs send an empty
// one.
//
// A session has one stream, and one reader at a time. Turns read it one after the other, each up to
// its own result, and [Session.Messages] reads all of it. While it runs, [Session.Turn] returns an
// error at once.
package clew
