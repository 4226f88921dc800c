package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/compose"
)

// editKeys are the keys that edit a text.
var editKeys = map[string]compose.Code{
	"enter": compose.Enter, "tab": compose.Tab,
	"backspace": compose.Backspace, "ctrl+h": compose.Backspace, "shift+backspace": compose.Backspace,
	"delete": compose.Delete, "ctrl+d": compose.Delete,
	"left": compose.Left, "ctrl+b": compose.Left, "right": compose.Right, "ctrl+f": compose.Right,
	"alt+left": compose.WordLeft, "ctrl+left": compose.WordLeft, "alt+b": compose.WordLeft,
	"alt+right": compose.WordRight, "ctrl+right": compose.WordRight, "alt+f": compose.WordRight,
	"up": compose.Up, "ctrl+p": compose.Up, "down": compose.Down, "ctrl+n": compose.Down,
	"home": compose.Home, "ctrl+a": compose.Home, "end": compose.End, "ctrl+e": compose.End,
	"ctrl+home": compose.Start, "alt+<": compose.Start, "ctrl+end": compose.Finish, "alt+>": compose.Finish,
	"ctrl+k": compose.KillEnd, "ctrl+u": compose.KillStart, "ctrl+w": compose.KillWord,
	"alt+backspace": compose.KillWordLeft, "ctrl+backspace": compose.KillWordLeft,
	"alt+d": compose.KillWordRight, "ctrl+delete": compose.KillWordRight, "alt+delete": compose.KillWordRight,
	"ctrl+y": compose.Yank, "ctrl+t": compose.Transpose,
	"ctrl+_": compose.Undo, "ctrl+/": compose.Undo, "ctrl+-": compose.Undo, "ctrl+shift+-": compose.Undo, "ctrl+x ctrl+u": compose.Undo,
	"alt+_": compose.Redo, "alt+/": compose.Redo, "ctrl+shift+z": compose.Redo,
	"esc": compose.Escape,
}

// composeKey returns the effect of a key on a text. It is not ok for a key that does nothing.
func composeKey(name string, key tea.KeyPressMsg) (k compose.Key, ok bool) {
	if code, ok := editKeys[name]; ok {
		return compose.Key{Code: code}, true
	}
	if key.Text != "" {
		return compose.Key{Code: compose.Insert, Text: key.Text}, true
	}
	return compose.Key{}, false
}
