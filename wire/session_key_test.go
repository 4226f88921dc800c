package wire_test

import (
	"testing"

	"github.com/clewdev/clew/wire"
)

func TestSessionKeyCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		key  wire.SessionKey
		good bool
	}{
		"a session":             {wire.SessionKey{Project: "-home-me", SessionID: "1"}, true},
		"a subagent":            {wire.SessionKey{Project: "-home-me", SessionID: "1", Subpath: "subagents/agent-1"}, true},
		"no project":            {wire.SessionKey{SessionID: "1"}, false},
		"no session":            {wire.SessionKey{Project: "p"}, false},
		"the folder above":      {wire.SessionKey{Project: "..", SessionID: "1"}, false},
		"a path":                {wire.SessionKey{Project: "p", SessionID: "a/b"}, false},
		"a path of Windows":     {wire.SessionKey{Project: "p", SessionID: `a\b`}, false},
		"a drive":               {wire.SessionKey{Project: "C:", SessionID: "1"}, false},
		"a NUL":                 {wire.SessionKey{Project: "p", SessionID: "1\x00"}, false},
		"not UTF-8":             {wire.SessionKey{Project: "p\xff", SessionID: "1"}, false},
		"a subpath up":          {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "subagents/../../x"}, false},
		"an absolute subpath":   {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "/etc/passwd"}, false},
		"an empty element":      {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "a//b"}, false},
		"a subpath that stays":  {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "./a"}, false},
		"a subpath of a drive":  {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "D:/a"}, false},
		"a subpath with an end": {wire.SessionKey{Project: "p", SessionID: "1", Subpath: "a/"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tt.key.Check(); (err == nil) != tt.good {
				t.Errorf("%q: %v", tt.key, err)
			}
		})
	}
}
