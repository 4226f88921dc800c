// Package termio is what the program needs of the terminal that it was started from, on each
// system: its own file, whether it may be read, its size as it changes, and the signals that stop
// and continue the program.
package termio
