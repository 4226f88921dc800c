// Package diskspace returns how much space a disk has.
package diskspace
