// Package termio controls the terminal that the program was started from, on each system. It has
// the terminal's own file, whether it may be read, its size as it changes, and the signals that
// stop and continue the program.
package termio
