// Package markdown reads Markdown texts of agents, which are untrusted, and lays them out for a
// terminal.
//
// [Parse] makes a small model of a text: blocks of spans. It refuses texts that would take the
// parser too long. Pages are written from that model, and [Render] and [Stream] lay it out as lines
// for a terminal, at once or while the text comes in. [Tree] returns the tree of goldmark, from which
// Markdown is written again.
package markdown
