package web

import (
	"net/http"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
)

// A keyBinding is a key as the pages get it.
type keyBinding struct {
	Scope  string   `json:"scope"`
	Action string   `json:"action"`
	Keys   []string `json:"keys"` // as in keymap.Bindings
	Text   string   `json:"text"`
}

// scopes maps the pages' names for the terminal's screens to keymap scopes.
var scopes = []struct {
	name  string
	scope keymap.Scope
}{
	{"sessions", keymap.InSessions}, {"session", keymap.InSession}, {"row", keymap.InRow}, {"panel", keymap.InPanel}, {"search", keymap.InSearch},
	{"help", keymap.InHelp}, {"chat", keymap.InChat}, {"question", keymap.InQuestion},
}

// keyBindings returns the keys for all screens.
func (s *Server) keyBindings() []keyBinding {
	var list []keyBinding
	for _, in := range scopes {
		for _, b := range s.opts.Keys.In(in.scope) {
			if b.Action == keymap.Close { // a page can't quit
				b.Action, b.Text = keymap.Back, "go back"
			}
			list = append(list, keyBinding{Scope: in.name, Action: string(b.Action), Keys: b.Keys, Text: b.Text})
		}
	}
	return list
}

// me answers with a description of the server and its permissions.
func (s *Server) me(w http.ResponseWriter, r *http.Request) error {
	board, _ := s.findBoard() // this page does not wait for the search
	return reply(w, struct {
		Version string       `json:"version"`
		Start   string       `json:"start"` // another one means that the server was started again
		Drive   bool         `json:"drive"`
		Fleet   bool         `json:"fleet"` // there are jobs
		Keys    []keyBinding `json:"keys"`
		driveData
	}{s.opts.Version, s.feed.start, s.opts.Drive != nil, board != nil, s.keyBindings(), s.drivable(r.Context())})
}
