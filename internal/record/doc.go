// Package record plays scenarios against the real Claude Code, over a scripted model, and keeps what both sides said as
// dialogue files, free of traces of the machine.
//
// A [Scenario] is a model, a host and the arguments of the agent. [Run] plays it and returns a [Recording]; a [Redactor]
// takes the machine out of it; a [Shape] is what two recordings of one scenario have in common.
//
// The tests of this package run every scenario and compare its shape with the dialogue that is kept for the version of
// the agent. "make record" writes the dialogues anew.
package record
