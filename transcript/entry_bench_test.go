package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/wire"
)

// sampleTranscript returns lines in the mix of a long session: answers, calls, results with source text, progress.
func sampleTranscript(turns int) []byte {
	source := strings.Repeat("\\tif err := run(ctx, \\\"name\\\"); err != nil {\\n\\t\\treturn err\\n\\t}\\n", 60)
	var b bytes.Buffer
	envelope := func(n int) string {
		return fmt.Sprintf(`"uuid":"00000000-0000-4000-8000-%012d","timestamp":"2026-11-15T00:44:%02d.913Z","userType":"external",`+
			`"entrypoint":"cli","cwd":"/home/dev/project","sessionId":"9e4e606e-791e-4e88-a860-c546c92af149","version":"2.1.325",`+
			`"gitBranch":"main"}`+"\n", n, n%60)
	}
	parent := func(n int) string {
		return fmt.Sprintf(`{"parentUuid":"00000000-0000-4000-8000-%012d","isSidechain":false,`, n-1)
	}
	usage := `"usage":{"input_tokens":12,"cache_creation_input_tokens":345,"cache_read_input_tokens":67890,"output_tokens":123,` +
		`"cache_creation":{"ephemeral_5m_input_tokens":345,"ephemeral_1h_input_tokens":0},"service_tier":"standard"}`
	for n := 1; n <= 4*turns; n += 4 {
		fmt.Fprintf(&b, `%s"message":{"model":"claude-opus-5-5","id":"msg_%d","type":"message","role":"assistant","content":[{"type":"text",`+
			`"text":"I will look at the file."}],"stop_reason":null,%s},"requestId":"req_%d","type":"assistant",%s`,
			parent(n), n, usage, n, envelope(n))
		fmt.Fprintf(&b, `%s"message":{"model":"claude-opus-5-5","id":"msg_%d","type":"message","role":"assistant","content":[{"type":"tool_use",`+
			`"id":"toolu_%d","name":"Read","input":{"file_path":"/home/dev/project/main.go"}}],"stop_reason":"tool_use",%s},"requestId":"req_%d",`+
			`"type":"assistant",%s`, parent(n+1), n, n, usage, n, envelope(n+1))
		fmt.Fprintf(&b, `%s"type":"progress","data":{"type":"hook_progress","hookEvent":"PreToolUse","command":"true"},"toolUseID":"toolu_%d",%s`,
			parent(n+2), n, envelope(n+2))
		fmt.Fprintf(&b, `%s"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s"}]},`+
			`"toolUseResult":{"type":"text","file":{"filePath":"/home/dev/project/main.go","content":"%s"}},%s`,
			parent(n+3), n, source, source, envelope(n+3))
	}
	return b.Bytes()
}

// BenchmarkDecodeEntry tells the throughput of lines to entries, beside encoding/json over the same lines.
func BenchmarkDecodeEntry(b *testing.B) {
	data := sampleTranscript(500)
	b.Run("split", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			NewLineSplitter(0).Feed(data, func([]byte, wire.Position) {}, func(InvalidLine) {})
		}
	})
	b.Run("reused", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		var d entryDecoder
		var e Entry
		var drift Drift
		for b.Loop() {
			NewLineSplitter(0).Feed(data, func(line []byte, _ wire.Position) {
				if err := d.decode(line, &e); err != nil {
					b.Fatal(err)
				}
				drift.note(&e)
			}, func(InvalidLine) {})
		}
	})
	b.Run("alone", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			for line := range bytes.Lines(data) {
				if _, err := DecodeEntry(line); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			for line := range bytes.Lines(data) {
				if !json.Valid(line) {
					b.Fatal("not JSON")
				}
			}
		}
	})
}
