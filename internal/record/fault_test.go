package record

import (
	"strings"
	"testing"
)

func TestFaults(t *testing.T) {
	for frame, want := range map[string]string{
		`{"type":"keep_alive"}`:                                              "",
		`{"type":"keep_alive","new":1}`:                                      `unknown fields ["new"]`,
		`{"type":"brand_new"}`:                                               "unknown kind brand_new",
		`{"type":"system","subtype":"x",` + ids + `}`:                        "unknown kind system/x",
		`{"type":"stream_event","event":{"type":"x"},` + ids + `}`:           "unknown event x",
		`{"type":"user","message":{"role":"user","content":[{"type":"x"}]}}`: "unknown block x",
		`{"type":"assistant"}`:                                               "invalid: ",
		`no frame`:                                                           "invalid: ",
	} {
		got := strings.Join(Faults(Parse("< "+frame+"\n")), "\n")
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", frame, got, want)
		}
	}
}
