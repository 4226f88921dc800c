package input

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

func TestSniff(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*sniffed)
	for _, tt := range []struct {
		name, text string
		want       Format
	}{
		{"empty", "", Transcript},
		{"garbage", "no\njson\n", Transcript},
		{"transcript", `{"type":"user","parentUuid":null}` + "\n", Transcript},
		{"stream", `{"type":"system","subtype":"init","session_id":"s"}` + "\n", StreamJSON},
		{"stream without an end", `{"type":"result","session_id":"s"}`, StreamJSON},
		{"stream behind a remark", "warning\n" + `{"type":"system","session_id":"s"}` + "\n", StreamJSON},
		{"long entry", `{"sessionId":"s","text":"` + long + `"}` + "\n", Transcript},
		{"long frame", `{"session_id":"s","text":"` + long + `"}` + "\n", StreamJSON},
	} {
		r := bufio.NewReaderSize(strings.NewReader(tt.text), sniffed)
		if got := sniff(r); got != tt.want {
			t.Errorf("%s: form %d, want %d", tt.name, got, tt.want)
		}
		if rest, err := io.ReadAll(r); err != nil || string(rest) != tt.text {
			t.Errorf("%s: %d bytes are left, %v", tt.name, len(rest), err)
		}
	}
}
