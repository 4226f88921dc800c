package transcript

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/jsonlex"
)

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
