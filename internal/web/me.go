package web

import (
	"net/http"

	"github.com/clewdev/clew/internal/tui"
)

// A keyBinding is a key as the pages get it.
type keyBinding struct {
	Scope  string   `json:"scope"`
	Action string   `json:"action"`
	Keys   []string `json:"keys"`
	Text   string   `json:"text"`
}

// me says what the server is and allows.
func (s *Server) me(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, struct {
		Version string       `json:"version"`
		Drive   bool         `json:"drive"`
		Keys    []keyBinding `json:"keys"`
	}{s.opts.Version, s.opts.Drive != nil, keyBindings()})
}

func keyBindings() []keyBinding {
	var list []keyBinding
	for _, section := range tui.KeySections() {
		for _, b := range section.Bindings {
			list = append(list, keyBinding{Scope: section.Name, Action: string(b.Action), Keys: b.Keys, Text: b.Text})
		}
	}
	return list
}
