// Package program has the tests of the program clew with the real agent, over a scripted model.
package program
