package hookedit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/hookedit"
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
	for before, after := range map[string]string{"": "{}\n", "{}\n": "{}\n", others: others, `{"hooks":{}}`: `{"hooks":{}}`} {
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
	const want = `{"hooks":{"PermissionRequest":[{"matcher":"*","hooks":[{"type":"command","command":"other"}]}]}}`
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

// A hook that was added and is removed again leaves the settings as they were, byte for byte.
func TestNoTrace(t *testing.T) {
	t.Parallel()
	hook := hookedit.Hook{Event: "PermissionRequest", Command: "clew hook permission", Timeout: 60}
	for _, settings := range []string{
		"{}", `{}` + "\n", "{ }", "{\n}\n", `{"model":"opus"}`, `{ "model" : "opus" , "a":[1,2] }`,
		"{\n    \"model\": \"opus\",\n    \"a\": [1,\n2]\n}", "{\r\n\t\"model\": \"opus\"\r\n}\r\n", "\n{\"a\":1\n,\"b\":2\n}",
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`,
		`{"hooks":{}}`, `{"hooks": {}}`, `{ "hooks" : { } }`, "{\n  \"hooks\": {\n  }\n}\n", `{"hooks":{"PermissionRequest":[]}}`,
		"{\n  \"hooks\": {\n    \"PermissionRequest\": [],\n    \"Stop\": []\n  }\n}\n",
		"{\n  \"hooks\": {\n    \"PermissionRequest\": [\n      {\"matcher\":\"Bash\",  \"hooks\":[]}\n    ]\n  },\n  \"z\": 1e3\n}\n",
	} {
		added, err := hookedit.Add(settings, hook)
		if err != nil || added == settings {
			t.Fatalf("%q: %q, %v", settings, added, err)
		}
		if removed, err := hookedit.Remove(added, hook); removed != settings || err != nil {
			t.Errorf("hook: %q became %q, and then %q, %v", settings, added, removed, err)
		}
		set, err := hookedit.SetMember(settings, "statusLine", `{"type":"command","command":"clew"}`)
		if value, _ := hookedit.Member(set, "statusLine"); err != nil || value == "" {
			t.Fatalf("%q: %q, %v", settings, set, err)
		}
		if removed, err := hookedit.SetMember(set, "statusLine", ""); removed != settings || err != nil {
			t.Errorf("member: %q became %q, and then %q, %v", settings, set, removed, err)
		}
	}
	const before = "{\"a\":1,\n \"statusLine\" : {\"x\":  1},\"b\":2}"
	set, err := hookedit.SetMember(before, "statusLine", `{"y":2}`)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := hookedit.SetMember(set, "statusLine", `{"x":  1}`); back != before || err != nil {
		t.Errorf("replaced: %q, %v", back, err)
	}
}
