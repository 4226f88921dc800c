// Package tui is the terminal interface of the program: the viewer of sessions, and the chat.
//
// There is one tea.Model, the model, which has a stack of screens. A screen is passive: it keeps what
// it shows, handles keys and messages, and draws itself as lines of a given width. Neither handling
// nor drawing does any I/O. That is done by commands, which run beside, through the interface [Source];
// what they return is a message to the screen that has asked.
//
// Bubble Tea brings the keys and the loop of messages. Frames are drawn by package paint: the renderer
// of Bubble Tea wakes up sixty times a second, also if nothing changes.
package tui
