// Package turns tests turns and sessions with the real agent over a scripted model. The tests are
// about interrupts, queues, resumption, subagents, failures, and endings.
package turns
