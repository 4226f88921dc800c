package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// toolRounds returns n rounds of a prompt and an answer with ten calls and their results, and how
// many bytes of text there are in them.
func toolRounds(n int) (msgs []ClassifiedMsg, size int64) {
	input := `{"command":"go test ./...","description":"Run the tests"}`
	printed := strings.Repeat("ok  \tgithub.com/clewdev/clew/wire\t0.5s\n", 50)
	for i := range n {
		msgs = append(msgs, user(int64(i), "Run the tests"))
		for j := range 10 {
			message, id := fmt.Sprintf("m%d.%d", i, j), fmt.Sprintf("t%d.%d", i, j)
			msgs = append(msgs,
				ai(int64(i), message, thinking("")),
				ai(int64(i), message, text("Let me run the tests again, with more patience.")),
				ai(int64(i), message, toolUse(id, "Bash", input)),
				meta(int64(i), result(id, printed)))
			size += int64(len(input) + len(printed) + 50)
		}
	}
	return msgs, size
}

func BenchmarkBuildChunks(b *testing.B) {
	msgs, size := toolRounds(100)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if got := len(BuildChunks(msgs)); got != 200 {
			b.Fatalf("%d chunks, want 200", got)
		}
	}
}

// BenchmarkChunker takes the messages of one long turn as they come. The cost of a message must not
// grow with the turn.
func BenchmarkChunker(b *testing.B) {
	for _, rounds := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("messages=%d", rounds*40), func(b *testing.B) {
			var digests []*digest
			msgs, _ := toolRounds(rounds)
			for _, msg := range msgs {
				if _, ok := msg.(*AIMsg); ok {
					digests = append(digests, newDigest(msg, wire.Position{Line: 1}))
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				var c chunker
				for _, d := range digests {
					c.add(d)
					c.changed()
				}
				c.chunks()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(digests)), "ns/message")
		})
	}
}

// BenchmarkClassify compares classifying with passing over the same bytes once.
func BenchmarkClassify(b *testing.B) {
	text := strings.Repeat(`func main() {\n\tfmt.Println(\"hello\")\n}\n`, 500)
	for name, line := range map[string]string{
		"result": userLine(`[{"tool_use_id":"toolu_1","type":"tool_result","content":"`+text+`"}]`,
			`"toolUseResult":{"stdout":"`+text+`","stderr":""}`),
		"prompt":   userLine(`"`+text+`"`, ""),
		"reminder": userLine(`"<system-reminder>x</system-reminder>`+text+`"`, ""),
		"answer":   aiLine(`[{"type":"text","text":"`+text+`"}]`, "m"),
		"picture":  userLine(`[{"type":"image","source":{"type":"base64","data":"`+strings.Repeat("aGVsbG8", 3000)+`"}}]`, ""),
	} {
		e, err := DecodeEntry([]byte(line))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/classify", func(b *testing.B) {
			c := classifier{maxResult: 8 << 10}
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				c.classify(&e)
			}
		})
		b.Run(name+"/decode", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, err := DecodeEntry(e.Raw); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/skip", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if jsonlex.Valid(e.Raw) != nil {
					b.Fatal("invalid")
				}
			}
		})
	}
}

// sampleTranscript returns lines in the mix of a long session: answers, calls, results with source
// text, progress.
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

// BenchmarkDecodeEntry measures how fast lines become entries, compared with encoding/json over the
// same lines.
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
