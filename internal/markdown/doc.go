// Package markdown reads Markdown texts of agents, which are untrusted, and lays them out for a
// terminal.
//
// [Tree] and [Parse] refuse texts that would take the parser too long. Tree returns the tree of
// goldmark, from which pages are made. Parse returns a small model: blocks of spans. [Render] and
// [Stream] lay it out as lines for a terminal, at once or while the text comes in.
package markdown
