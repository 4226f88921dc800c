// Package demo is what "clew demo" shows: a small project with a bug, a model that is scripted to mend it, and
// recordings of Claude Code at that, over this model.
//
// [Script] is the model's part. It serves whoever has the agent binary; [Play] plays a recording for those who have not.
// The recordings are made from the same script, by "make record", and a test with the agent binary compares them with
// what it does today.
package demo
