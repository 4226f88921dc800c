// Package clikit has the building blocks that all commands share. These are streams, errors with
// exit codes and hints, kinds of flags, tables, JSON, colors, the program's own files, and lines that
// are drawn on a terminal while a command works.
//
// A command is a struct of its streams and flags, a function that returns its [*cobra.Command], and a
// method that [RunE] calls. It writes to [Streams] only, and returns a [*Failure] for any error that
// has a hint or an exit code other than [ExitFailed].
//
// Color is decided in one place, by the first of these that is set: --color, the setting color
// (CLEW_COLOR), NO_COLOR, CLICOLOR_FORCE or FORCE_COLOR, CLICOLOR=0, and the terminal, where
// one with TERM=dumb, or without TERM except on Windows, has none.
//
// A command with --watch draws over its last output, row by row ([tty.Panel]). It counts the rows
// at the present width, since a terminal that becomes narrower breaks its lines.
package clikit
