// Package markdown reads Markdown texts of agents, which are untrusted, and lays them out for a
// terminal.
//
// [Parse] makes a small model of a text: blocks of spans. It refuses texts that would take the
// parser too long. Pages are written from that model, and [Render] and [Stream] lay it out as lines
// for a terminal, at once or while the text comes in. [Tree] returns the tree of goldmark, from which
// Markdown is written again.
//
// Code is never wrapped. While an answer streams in, its lines equal the lines of the whole text,
// however it is cut: both go through one split into blocks that can't continue. For that, link
// definitions apply to nothing in the terminal, and are shown as they are.
package markdown
