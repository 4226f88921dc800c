// Package features tests every option, callback and control request with the real agent, over a
// scripted model.
package features
