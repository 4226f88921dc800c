package compose

import "slices"

// A changeKind groups changes that are undone together: changes of the same kind, if nothing comes
// between them.
type changeKind int

const (
	replacing changeKind = iota // each by itself
	typing
	erasing
)

// Limits of the undo log.
const (
	maxUndo      = 1000
	maxUndoRunes = 1 << 22
)

// A draft is a text with its cursor. Its runes are never changed.
type draft struct {
	text []rune
	at   int
}

// An undoLog has the texts before and after the current one.
type undoLog struct {
	past, future []draft
	runes        int // of the past
	last         changeKind
}

// stop makes the next change a separate one.
func (u *undoLog) stop() { u.last = replacing }

// change keeps the text before it is changed.
func (e *Editor) change(kind changeKind) {
	u := &e.undo
	u.future = nil
	if kind != replacing && kind == u.last {
		return
	}
	u.last = kind
	u.past = append(u.past, draft{e.text, e.at})
	u.runes += len(e.text)
	for len(u.past) > 1 && (len(u.past) > maxUndo || u.runes > maxUndoRunes) {
		u.runes -= len(u.past[0].text)
		u.past = slices.Delete(u.past, 0, 1)
	}
}

// restore undoes a change, or does it again.
func (e *Editor) restore(undo bool) Event {
	u := &e.undo
	u.stop()
	e.menu.close()
	from, to := &u.past, &u.future
	if !undo {
		from, to = to, from
	}
	if len(*from) == 0 {
		return Edited
	}
	now := draft{e.text, e.at}
	before := (*from)[len(*from)-1]
	*from = (*from)[:len(*from)-1]
	*to = append(*to, now)
	e.text, e.at = before.text, before.at
	u.runes = 0
	for _, d := range u.past {
		u.runes += len(d.text)
	}
	return Edited
}
