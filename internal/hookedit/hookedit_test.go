package hookedit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/hookedit"
)

var hook = hookedit.Hook{Event: "PermissionRequest", Command: "clew hook permission", Timeout: 110}

const others = `{
  "model": "opus",
  "big": 12345678901234567890,
  "hooks": {
    "PermissionRequest": [
      {
        "matcher": "Bash",
        "extra": 1.50,
        "hooks": [
          {
            "type": "command",
            "command": "other"
          }
        ]
      }
    ],
    "Stop": []
  },
  "env": {
    "A": "<b>"
  }
}
`

// Adding and removing leaves the settings as they were, whatever else they have.
func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{"": "{}\n", "{}\n": "{}\n", others: others, `{"hooks":{}}`: "{}\n"} {
		added, err := hookedit.Add(before, hook)
		if err != nil || added == before {
			t.Fatalf("%q: %v", before, err)
		}
		if again, err := hookedit.Add(added, hook); again != added || err != nil {
			t.Errorf("added twice: %v\n%s", err, again)
		}
		removed, err := hookedit.Remove(added, hook)
		if diff := cmp.Diff(after, removed); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got)\n%s", before, err, diff)
		}
		if again, err := hookedit.Remove(removed, hook); again != removed || err != nil {
			t.Errorf("removed twice: %v\n%s", err, again)
		}
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	got, err := hookedit.Add("", hook)
	const want = `{
  "hooks": {
    "PermissionRequest": [
      {
        "matcher": "*",
        "hooks": [
          {
            "type": "command",
            "command": "clew hook permission",
            "timeout": 110
          }
        ]
      }
    ]
  }
}
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// A hook that shares its matcher with another one is removed alone.
func TestRemoveOne(t *testing.T) {
	t.Parallel()
	const both = `{"hooks":{"PermissionRequest":[{"matcher":"*","hooks":[{"type":"command","command":"clew hook permission"},{"type":"command","command":"other"}]}]}}`
	got, err := hookedit.Remove(both, hook)
	want := `{
  "hooks": {
    "PermissionRequest": [
      {
        "matcher": "*",
        "hooks": [
          {
            "type": "command",
            "command": "other"
          }
        ]
      }
    ]
  }
}
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// Settings that can't be understood are not changed.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for _, settings := range []string{
		"[]", "{", "// comment\n{}", `{"hooks":[]}`, `{"hooks":{"PermissionRequest":{}}}`, `{"a":1,"a":2}`,
		`{"hooks":{"PermissionRequest":[1]}}`, `{"hooks":{"PermissionRequest":[{"hooks":1}]}}`,
	} {
		if got, err := hookedit.Add(settings, hook); err == nil {
			t.Errorf("%s became %s", settings, got)
		}
	}
}
