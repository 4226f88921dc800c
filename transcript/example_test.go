package transcript_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

func ExampleRead() {
	file, err := os.Open("testdata/hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	t, err := transcript.Read(file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.AITitle)
	for _, chunk := range t.Chunks {
		if chunk.Type == transcript.UserChunk {
			fmt.Println(">", transcript.Truncate(chunk.Text, 60))
		}
		for _, item := range chunk.Items {
			fmt.Println(item.Type, transcript.Truncate(item.Text+item.ToolSummary, 60))
			if diff, ok := item.Diff(); ok {
				fmt.Printf("  +%d -%d in %s\n", diff.Added, diff.Removed, diff.Path)
			}
		}
	}
	// Output:
	// Say hello
	// > Say hello in hello.txt
	// output I write the file.
	// tool project/hello.txt - 1 line
	//   +1 -0 in /home/dev/project/hello.txt
	// output Done: hello.txt says hello.
	// > Thanks
	// output With pleasure.
}

// A file that grows is read in pieces of any size.
func ExampleBuilder() {
	text, err := os.ReadFile("testdata/hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	b := transcript.NewBuilder(nil)
	for len(text) > 0 {
		n := min(1100, len(text))
		_, _ = b.Write(text[:n]) // it never fails
		text = text[n:]
		first, chunks := b.Changed(), b.Transcript().Chunks
		for i := first; i < len(chunks); i++ {
			fmt.Printf("%d: %s, %d items, ongoing: %t\n", i, chunks[i].Type, len(chunks[i].Items), transcript.Ongoing(chunks[:i+1]))
		}
		fmt.Println("-")
	}
	// Output:
	// 0: user, 0 items, ongoing: true
	// 1: ai, 1 items, ongoing: false
	// -
	// 1: ai, 2 items, ongoing: true
	// -
	// 1: ai, 3 items, ongoing: false
	// 2: user, 0 items, ongoing: true
	// 3: ai, 1 items, ongoing: false
	// -
	// -
}

// The messages of a running session also give chunks.
func ExampleBuilder_AddMessage() {
	b := transcript.NewBuilder(nil)
	r := wire.NewReader(strings.NewReader(`
		{"type":"user","uuid":"1","message":{"role":"user","content":"Hi"}}
		{"type":"assistant","uuid":"2","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Hello."}]}}
	`), nil)
	for msg, err := range r.Messages() {
		if err != nil {
			log.Fatal(err)
		}
		b.AddMessage(msg, time.Now())
	}
	for _, chunk := range b.Transcript().Chunks {
		fmt.Println(chunk.Type, chunk.Text)
	}
	// Output:
	// user Hi
	// ai Hello.
}

// Each line is an entry, each entry that means something to a person is a message, and messages
// make chunks.
func ExampleBuildChunks() {
	text, err := os.ReadFile("testdata/hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	var msgs []transcript.ClassifiedMsg
	for line := range bytes.Lines(text) {
		entry, err := transcript.DecodeEntry(line)
		if err != nil {
			log.Fatal(err)
		}
		msg, ok := transcript.Classify(entry)
		if !ok {
			fmt.Println(entry.Type, "means nothing to a person")
			continue
		}
		msgs = append(msgs, msg)
	}
	for _, chunk := range transcript.BuildChunks(msgs) {
		fmt.Println(chunk.Type, len(chunk.Items))
	}
	// Output:
	// ai-title means nothing to a person
	// user 0
	// ai 3
	// user 0
	// ai 1
}

func ExampleClassify() {
	entry, err := transcript.DecodeEntry([]byte(`{"type":"user","message":{"role":"user",
		"content":"<command-name>/review</command-name><command-args>main.go</command-args>"}}`))
	if err != nil {
		log.Fatal(err)
	}
	msg, ok := transcript.Classify(entry)
	if !ok {
		return // it means nothing to a person
	}
	switch m := msg.(type) {
	case *transcript.UserMsg:
		fmt.Println("the user wrote", m.Text)
	case *transcript.AIMsg:
		fmt.Println("the model answered", m.Text)
	case *transcript.SystemMsg:
		fmt.Println("a command printed", m.Output)
	}
	// Output: the user wrote /review main.go
}

// A file of any length passes in little memory.
func ExampleStream() {
	file, err := os.Open("testdata/hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	for chunk, err := range transcript.Stream(file, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(chunk.Timestamp.Format(time.TimeOnly), chunk.Type)
	}
	// Output:
	// 09:00:00 user
	// 09:00:03 ai
	// 09:00:20 user
	// 09:00:22 ai
}

func ExampleTranscript_Context() {
	file, err := os.Open("testdata/hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	t, err := transcript.Read(file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, turn := range t.Context().Turns {
		fmt.Printf("line %d: %d of %d tokens, %.2f%%\n", turn.Line, turn.Tokens, turn.Window, turn.Percent)
	}
	// Output:
	// line 5: 9350 of 1000000 tokens, 0.94%
	// line 7: 9360 of 1000000 tokens, 0.94%
}

// A subagent has a separate file. Link finds the call that started it.
func ExampleLink() {
	call := `{"type":"tool_use","id":"t1","name":"Agent","input":{"subagent_type":"Explore","description":"Find the logger"}}`
	session, err := transcript.Read(strings.NewReader(
		`{"type":"assistant","uuid":"1","parentUuid":null,"message":{"id":"m","content":[`+call+`]}}`), nil)
	if err != nil {
		log.Fatal(err)
	}
	meta, err := transcript.DecodeAgentMeta([]byte(`{"agentType":"Explore","toolUseId":"t1"}`))
	if err != nil {
		log.Fatal(err)
	}
	agents := []*transcript.Agent{{ID: "a1", Meta: meta}, {ID: "a2"}}
	session.Unlinked = transcript.Link(session, agents)
	for _, item := range session.Chunks[0].Items {
		for _, agent := range item.Agents {
			fmt.Println(item.ToolSummary, "-", agent.ID, "by", agent.LinkedBy)
		}
	}
	fmt.Println("not linked:", session.Unlinked[0].ID)
	// Output:
	// Explore - Find the logger - a1 by sidecar
	// not linked: a2
}

// The cost of each turn, with its subagents.
func ExampleTranscript_Turns() {
	file, err := os.Open("testdata/hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	t, err := transcript.Read(file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	turns, _ := t.Turns()
	for _, turn := range turns {
		costs := usage.Cost(turn.Calls, usage.DefaultPrices())
		fmt.Printf("%d. %s: %d calls, %v\n", turn.Number, turn.Chunks[0].Text, len(turn.Calls), costs.Total)
	}
	// Output:
	// 1. Say hello in hello.txt: 2 calls, $0.0495
	// 2. Thanks: 1 calls, $0.0021
}

// Every tool call, including calls in subagents and in branches that a rewind removed.
func ExampleTranscript_All() {
	file, err := os.Open("testdata/hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	t, err := transcript.Read(file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for place, item := range t.All() {
		if item.Type == transcript.ItemToolCall {
			fmt.Println(place.Depth, item.ToolName, item.ToolSummary)
		}
	}
	// Output: 0 Write project/hello.txt - 1 line
}

func ExampleTranscript_Find() {
	file, err := os.Open("testdata/hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	t, err := transcript.Read(file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for m := range t.Find(transcript.IgnoreCase("HELLO.txt")) {
		fmt.Printf("chunk %d, %s: %q\n", m.ChunkIndex, m.Field, m.Text[m.From:m.To])
	}
	// Output:
	// chunk 0, prompt: "hello.txt"
	// chunk 1, input: "hello.txt"
	// chunk 1, result: "hello.txt"
	// chunk 1, text: "hello.txt"
}
