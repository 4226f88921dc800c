// Package turns has the tests of turns and sessions against the real agent, over a scripted model: interrupts, queues,
// resumption, subagents, failures, and how it all ends.
package turns
