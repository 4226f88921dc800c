// Package clikit is what the commands of the program share, whatever they are about: their streams
// and errors with exit codes and hints, kinds of flags, tables, JSON, colors, and what is drawn on a
// terminal while they work.
//
// A command is a struct of its streams and flags, a function that returns its [*cobra.Command], and a
// method that [RunE] calls. It writes to [Streams] only, and returns a [*Failure] for any error that
// has a hint or an exit code other than [ExitFailed].
package clikit
