// Package turns tests turns and sessions with the real agent over a scripted model: interrupts,
// queues, resumption, subagents, failures, and endings.
package turns
