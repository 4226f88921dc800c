package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func stream(t *testing.T, seed uint64, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Stream(&b, seed, size); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestStreamDependsOnSeedOnly(t *testing.T) {
	t.Parallel()
	const want = "4f762e129d22966b1eac491257822d4a34f1e5c2cd9fb46aa7df07db243695c0"
	got := fmt.Sprintf("%x", sha256.Sum256(stream(t, 1, 1<<20)))
	if got != want {
		t.Errorf("sha256 of seed 1, 1 MiB:\n got %s\nwant %s\n(figures published for the old bytes do not compare with new ones)", got, want)
	}
	if bytes.Equal(stream(t, 1, 1<<16), stream(t, 2, 1<<16)) {
		t.Error("seeds 1 and 2 give the same stream")
	}
}

func TestStreamLinesAreCompactJSON(t *testing.T) {
	t.Parallel()
	for line := range bytes.Lines(stream(t, 3, 2<<20)) {
		if !json.Valid(line) || !utf8.Valid(line) {
			t.Fatalf("not valid JSON: %.200s", line)
		}
		var b bytes.Buffer
		if err := json.Compact(&b, line); err != nil || b.Len() != len(line)-1 {
			t.Fatalf("not compact (%v): %.200s", err, line)
		}
	}
}

// A tally counts the lines of one kind.
type tally struct{ lines, bytes, largest int }

func (c tally) mean() int { return c.bytes / max(c.lines, 1) }

// kinds tallies a stream by type, or by type and subtype for system frames.
func kinds(t *testing.T, data []byte) (map[string]tally, int) {
	t.Helper()
	byKind, lines := map[string]tally{}, 0
	for line := range bytes.Lines(data) {
		var head struct{ Type, Subtype string }
		if err := json.Unmarshal(line, &head); err != nil {
			t.Fatal(err)
		}
		kind := head.Type
		if kind == "system" {
			kind += "/" + head.Subtype
		}
		c := byKind[kind]
		byKind[kind] = tally{c.lines + 1, c.bytes + len(line), max(c.largest, len(line))}
		lines++
	}
	return byKind, lines
}

func TestStreamMix(t *testing.T) {
	t.Parallel()
	byKind, lines := kinds(t, stream(t, 1, 8<<20))
	tests := []struct {
		kind               string
		minShare, maxShare float64 // percent of the lines
		minMean, maxMean   int     // bytes
	}{
		{"stream_event", 90, 94, 315, 355},
		{"assistant", 3.5, 5, 2200, 2800},
		{"user", 1.9, 2.9, 10500, 14000},
		{"result", 0.05, 0.2, 3500, 7000},
		{"system/init", 0.05, 0.2, 4000, 6500},
	}
	for _, tt := range tests {
		c := byKind[tt.kind]
		if share := 100 * float64(c.lines) / float64(lines); share < tt.minShare || share > tt.maxShare {
			t.Errorf("%s: %.2f %% of the lines, want %v to %v", tt.kind, share, tt.minShare, tt.maxShare)
		}
		if mean := c.mean(); mean < tt.minMean || mean > tt.maxMean {
			t.Errorf("%s: %d bytes on average, want %d to %d", tt.kind, mean, tt.minMean, tt.maxMean)
		}
	}
	if n := byKind["user"].largest; n < 50_000 || n > 72_000 {
		t.Errorf("largest user frame has %d bytes, want about 66,000", n)
	}
}

func TestStreamHasEveryKind(t *testing.T) {
	t.Parallel()
	byKind, _ := kinds(t, stream(t, 1, 8<<20))
	want := strings.Fields(`assistant user result stream_event rate_limit_event tool_progress keep_alive
		command_lifecycle control_request control_response system/init system/status system/compact_boundary
		system/thinking_tokens system/task_started system/task_progress system/task_updated
		system/task_notification system/background_tasks_changed`)
	for _, kind := range want {
		if byKind[kind].lines == 0 {
			t.Errorf("no %s frame", kind)
		}
		delete(byKind, kind)
	}
	for kind := range byKind {
		t.Errorf("unexpected kind %s", kind)
	}
}

func TestStreamText(t *testing.T) {
	t.Parallel()
	data := stream(t, 1, 4<<20)
	perEscape := float64(len(data)) / float64(bytes.Count(data, []byte(`\`)))
	if perEscape < 15 || perEscape > 25 {
		t.Errorf("one escape in %.1f bytes, want about 20", perEscape)
	}
	for _, want := range []string{`\n`, `\t`, `\"`, `\\`, `\u001b`, "→", "日本語", "🚀"} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("no %s in the stream", want)
		}
	}
}

func TestResultBeginsLikeTheCLI(t *testing.T) {
	t.Parallel()
	for line := range bytes.Lines(stream(t, 1, 1<<20)) {
		at := bytes.Index(line, []byte(`"type":"result"`))
		if at < 0 {
			continue
		}
		if !bytes.HasPrefix(line, []byte(`{"duration_api_ms":`)) || at < len(line)/3 {
			t.Fatalf("type at byte %d of %d in %.100s", at, len(line), line)
		}
		return
	}
	t.Fatal("no result")
}

func TestHuge(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	tests := []struct {
		name     string
		write    func(*bytes.Buffer) error
		indented int // lines once indented, at least
	}{
		{"one text", func(b *bytes.Buffer) error { return Huge(b, 1, size) }, 10},
		{"listing", func(b *bytes.Buffer) error { return HugeListing(b, 1, size) }, size / 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b, indented bytes.Buffer
			if err := tt.write(&b); err != nil {
				t.Fatal(err)
			}
			if n := b.Len(); n < size*95/100 || n > size*105/100 {
				t.Errorf("%d bytes, want about %d", n, size)
			}
			if n := bytes.Count(b.Bytes(), []byte("\n")); n != 1 {
				t.Errorf("%d newlines, want 1", n)
			}
			if err := json.Indent(&indented, b.Bytes(), "", ""); err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(indented.Bytes(), []byte("\n")); n < tt.indented {
				t.Errorf("%d lines when indented, want at least %d", n, tt.indented)
			}
		})
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	const text = "a\"b\\c\n\t\r\x1b<&> é 日 🚀 \u2028"
	want := `"a\"b\\c\n\t\r\u001b<&> é 日 🚀 ` + "\u2028" + `"`
	got := appendString(nil, text)
	if string(got) != want {
		t.Errorf("appendString:\n got %s\nwant %s", got, want)
	}
	var back string
	if err := json.Unmarshal(got, &back); err != nil || back != text {
		t.Errorf("read back %q, %v", back, err)
	}
}

// A brokenWriter fails once it has taken its number of writes.
type brokenWriter int

var errBroken = errors.New("broken")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if *w--; *w < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestStreamReportsWriteError(t *testing.T) {
	t.Parallel()
	for _, writes := range []brokenWriter{0, 1, 100} {
		if err := Stream(&writes, 1, 1<<20); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	}
}
