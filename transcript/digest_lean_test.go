package transcript

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"github.com/clewdev/clew/wire"
	"github.com/google/go-cmp/cmp"
)

// checkLean fails unless the short way to a digest gives the same as the one over blocks.
func checkLean(t *testing.T, line []byte) {
	t.Helper()
	e, err := DecodeEntry(line)
	if err != nil {
		return
	}
	at := wire.Position{Line: 1}
	got, gotNoise := (&classifier{maxResult: -1, sidechain: true}).digest(&e, at)
	c := classifier{maxResult: -1, sidechain: true}
	msg, wantNoise := c.classify(&e)
	var want *digest
	switch {
	case msg != nil:
		want = newDigest(msg, at)
	case wantNoise == noiseInterruption:
		want, wantNoise = newInterruption(at, e.Timestamp), ""
	}
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(want, got, all); diff != "" || gotNoise != wantNoise {
		t.Fatalf("%s: noise %q, want %q (-blocks +lean):\n%s", line, gotNoise, wantNoise, diff)
	}
}

func FuzzLeanEqualsBlocks(f *testing.F) {
	for _, content := range []string{
		`[{"type":"tool_result","tool_use_id":"a","content":"x\\n\u00e4"}]`,
		`[{"tool_use_id":"a","type":"tool_result","content":[{"type":"text","text":"x"},{"type":"image"}],"is_error":true}]`,
		`[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b","content":7,"is_error":null}]`,
		`[{"type":"tool_result","tool_use_id":"a","cache_control":3},{"type":"text","text":"beside"}]`,
		`[{"type":"tool_result","content":"no call"}]`, `[]`, `"text"`, `[{"type":"tool_result","tool_use_id":7}]`,
	} {
		f.Add([]byte(`{"type":"user","uuid":"u","message":{"role":"user","content":` + content + `},"toolUseResult":{"agentId":"z"}}`))
	}
	for _, path := range recordedTranscripts(f) {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, []byte("tool_result")) {
				f.Add(line)
			}
		}
	}
	f.Fuzz(checkLean)
}
