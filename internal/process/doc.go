// Package process finds, starts, feeds, drains and stops the agent binary and its children.
//
// [Find] says where the agent binary is, and [Start] runs it. A [Process] is read and written like a pipe, until
// [Process.Close] ends it and says how it ended.
//
// # Ends
//
// What the agent wrote before it died is read first, and its end is seen after that. The agent leads a process group (a
// job on Windows); when it has exited, for whatever reason, the rest of the group is killed. A process that left the
// group may still hold the agent's output open: once the agent is gone, a read that finds nothing for a second is at
// the end.
//
// An agent does not outlive this process. On Linux it gets SIGTERM when this process dies, on Windows its job ends, and
// everywhere its input does.
//
// # Cost
//
// A process that has nothing to say costs two goroutines, one of which holds a thread, and three pipes.
package process
