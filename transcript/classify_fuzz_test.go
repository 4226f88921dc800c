package transcript

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// classifySeeds returns the lines of the recorded transcripts that are short.
func classifySeeds(tb testing.TB) []string {
	tb.Helper()
	var lines []string
	for _, path := range recordedTranscripts(tb) {
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if len(line) < 2000 {
				lines = append(lines, string(line))
			}
		}
	}
	return lines
}

// recordedTranscripts returns the paths of the recorded transcripts, those of subagents too.
func recordedTranscripts(tb testing.TB) []string {
	tb.Helper()
	var paths []string
	for _, pattern := range []string{"*/*.jsonl", "*/*/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join("testdata", "recorded", pattern))
		if err != nil {
			tb.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		tb.Fatal("no recorded transcripts")
	}
	return paths
}

// FuzzClassify checks that every line means something or is noise, the same each time.
func FuzzClassify(f *testing.F) {
	for _, line := range classifySeeds(f) {
		f.Add([]byte(line))
	}
	f.Add([]byte(saidLine(`<teammate-message teammate_id="ada" color="blue">x</teammate-message>`)))
	f.Add([]byte(saidLine("<task-notification><status>killed</status><summary>x</summary></task-notification>")))
	f.Add([]byte(saidLine("<command-name>/x</command-name><command-args>y</command-args>")))
	f.Add([]byte(saidLine("<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>")))
	f.Add([]byte(attachmentLine(`{"type":"queued_command","prompt":["a",{"type":"image"}]}`)))
	f.Add([]byte(systemLine(`"subtype":"api_error","error":{"status":529},"retryAttempt":1`)))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := DecodeEntry(line)
		if err != nil {
			return
		}
		limited := &classifier{maxResult: 100, sidechain: true}
		msg, noise := limited.classify(&e)
		if (msg == nil) == (noise == "") {
			t.Fatalf("message %v and noise %q", msg, noise)
		}
		if again, word := limited.classify(&e); messageText(again) != messageText(msg) || word != noise {
			t.Fatalf("%s %s, then %s %s", messageText(msg), noise, messageText(again), word)
		}
		if all, ok := Classify(e); ok != (msg != nil && !e.IsSidechain) || ok && !all.Time().Equal(msg.Time()) {
			t.Fatalf("Classify is %v of %v", ok, msg)
		}
	})
}

func FuzzSanitize(f *testing.F) {
	f.Add("a <system-reminder>x</system-reminder> b")
	f.Add("<command-name>/x</command-name><command-args>y</command-args>")
	f.Add("<local-command-stdout>x<bash-input>y</bash-input>")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Sanitize(text); len(got) > len(text)+1 {
			t.Errorf("%q became %q", text, got)
		}
		withoutTags(text)
		cutAttributes(text)
	})
}
