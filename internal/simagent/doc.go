// Package simagent plays a dialogue to a host in place of the agent binary.
//
// A [Scenario] is a list of steps: frames that the agent expects of its host, frames that it sends,
// and faults. It is read from a dialogue file by [ReadDialogue], or built from steps such as those
// of [Expect] and [Send]. [Play] plays a scenario over any three streams, and [Start] plays one on
// a goroutine, over pipes in memory.
//
// The package does not import testing, so the program can link it. Package clewtest is the public
// interface to it: it adds agents that are processes, and reports to a test.
package simagent
