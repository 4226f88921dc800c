package sessions_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sessions/storetest"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// The files of the examples have the layout of the agent's own files, which functions read if they
// get no store.
func exampleStore() sessions.Store { return sessions.NewFolder("testdata/projects") }

func ExampleList() {
	ctx := context.Background()
	infos, err := sessions.List(ctx, &sessions.ListOptions{Store: exampleStore(), ProjectName: "-home-dev-project"})
	if err != nil {
		log.Fatal(err)
	}
	for _, info := range infos {
		fmt.Println(info.Created.Format("15:04:05"), info.ID[:8], info.CWD, info.Title())
	}
	// Unordered output:
	// 00:44:52 2e08b01a /home/dev/project Delegate
	// 00:45:15 9f225561 /home/dev/project First words
}

// A long list is available at once, and only the sessions on display are summarized.
func ExampleNames() {
	ctx := context.Background()
	infos, err := sessions.Names(ctx, &sessions.ListOptions{Store: exampleStore(), ProjectName: "-home-dev-project"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(infos), "sessions")
	for _, info := range sessions.Summarize(ctx, infos[:min(20, len(infos))]) {
		if info.Listed() {
			fmt.Println(info.ID[:8], info.Title())
		}
	}
	// Unordered output:
	// 2 sessions
	// 2e08b01a Delegate
	// 9f225561 First words
}

func ExampleWatch() {
	ctx := context.Background()
	opts := &sessions.WatchOptions{Store: exampleStore(), ProjectName: "-home-dev-project"}
	for infos, err := range sessions.Watch(ctx, opts) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(infos), "sessions")
		break // without this, the loop would wait until one of them has changed
	}
	// Output: 2 sessions
}

func ExampleMessages() {
	ctx := context.Background()
	opts := &sessions.Options{Store: exampleStore()}
	for msg, err := range sessions.Messages(ctx, "2e08b01a-ae65-4bd9-9fea-b7b4b75b673b", opts) {
		if err != nil {
			log.Fatal(err)
		}
		if answer, ok := msg.Message.(*wire.AssistantMessage); ok {
			for _, block := range answer.Content {
				switch b := block.(type) {
				case *wire.TextBlock:
					fmt.Println("says:", b.Text)
				case *wire.ToolUseBlock:
					fmt.Println("calls:", b.Name)
				}
			}
		}
	}
	// Output:
	// says: Delegating.
	// calls: Agent
	// says: All done.
	// says: The subagent finished.
}

func ExampleImport() {
	ctx := context.Background()
	store := sessions.NewMemory()
	err := sessions.Import(ctx, store, "2e08b01a-ae65-4bd9-9fea-b7b4b75b673b", &sessions.ImportOptions{
		Store: exampleStore(),
		Progress: func(p sessions.ImportProgress) {
			fmt.Printf("%d entries, the last of %q\n", p.Entries, p.Key.Subpath)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 39 entries, the last of ""
	// 62 entries, the last of "subagents/agent-ab45c76475627f755"
}

func ExampleFork() {
	ctx := context.Background()
	store := sessions.NewMemory()
	key := wire.SessionKey{Project: "-home-me", SessionID: "6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11"}
	err := store.Append(ctx, key, []wire.JSON{
		`{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"Paint it red"}}`,
		`{"type":"user","uuid":"2","parentUuid":"1","message":{"role":"user","content":"No, blue"}}`,
	})
	if err != nil {
		log.Fatal(err)
	}
	fork, err := sessions.Fork(ctx, key.SessionID, &sessions.ForkOptions{Store: store, UpTo: "1"})
	if err != nil {
		log.Fatal(err)
	}
	info, err := sessions.Get(ctx, fork, &sessions.Options{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Title())
	// Output:
	// Paint it red (fork)
}

func ExampleTag() {
	ctx := context.Background()
	store := sessions.NewMemory()
	key := wire.SessionKey{Project: "-home-me", SessionID: "6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11"}
	if err := store.Append(ctx, key, []wire.JSON{`{"type":"user","message":{"content":"Paint it red"}}`}); err != nil {
		log.Fatal(err)
	}
	opts := &sessions.Options{Store: store}
	if err := sessions.Rename(ctx, key.SessionID, "The shed", opts); err != nil {
		log.Fatal(err)
	}
	if err := sessions.Tag(ctx, key.SessionID, "garden", opts); err != nil {
		log.Fatal(err)
	}
	info, err := sessions.Get(ctx, key.SessionID, opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s [%s], first asked: %s\n", info.Title(), info.Tag, info.FirstPrompt)
	// Output:
	// The shed [garden], first asked: Paint it red
}

// One call tests a store.
func ExampleStore() {
	_ = func(t *testing.T) {
		storetest.Run(t, func(*testing.T) sessions.Store { return sessions.NewMemory() })
	}
}

func ExampleTail() {
	ctx := context.Background()
	opts := &sessions.TailOptions{Store: exampleStore()}
	for update, err := range sessions.Tail(ctx, "2e08b01a-ae65-4bd9-9fea-b7b4b75b673b", opts) {
		if err != nil {
			log.Fatal(err)
		}
		if update.Transcript == nil {
			continue // it can't be read, or is gone
		}
		who := "session"
		if update.Agent != nil {
			who = update.Agent.Description()
		}
		chunks := update.Transcript.Chunks
		for _, chunk := range chunks[update.First:] {
			fmt.Printf("%s: %s, %d items\n", who, chunk.Type, len(chunk.Items))
		}
		if update.Agent != nil && !transcript.Ongoing(chunks) {
			break // the subagent is done; without this, the loop would wait for more
		}
	}
	// Output:
	// session: user, 0 items
	// session: ai, 3 items
	// session: ai, 1 items
	// Count files: user, 0 items
	// Count files: ai, 3 items
}

func ExampleRead() {
	ctx := context.Background()
	opts := &sessions.ReadOptions{Store: exampleStore()}
	t, err := sessions.Read(ctx, "2e08b01a-ae65-4bd9-9fea-b7b4b75b673b", opts)
	if err != nil {
		log.Fatal(err)
	}
	for _, chunk := range t.Chunks {
		for _, item := range chunk.Items {
			for _, agent := range item.Agents {
				fmt.Printf("%s started a subagent: %s, %d chunks\n",
					item.ToolName, agent.Meta.Description, len(agent.Transcript.Chunks))
			}
		}
	}
	// Output:
	// Agent started a subagent: Count files, 2 chunks
}

func ExampleScanUsage() {
	ctx := context.Background()
	scan, err := sessions.ScanUsage(ctx, &sessions.UsageOptions{Store: exampleStore()})
	if err != nil {
		log.Fatal(err)
	}
	tokens := 0
	for _, call := range scan.Tally.Calls() {
		tokens += call.Usage.OutputTokens
	}
	fmt.Printf("%d transcripts, %d answers, %d output tokens\n", scan.Files, len(scan.Tally.Calls()), tokens)
	// Output:
	// 3 transcripts, 6 answers, 252 output tokens
}

// A session that is done is left out of a list.
func ExampleMarkDone() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "projects")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(dir, os.DirFS("testdata/projects")); err != nil {
		fmt.Println(err)
		return
	}
	store := sessions.NewFolder(dir) // without a store, the sessions are those of the agent on this machine
	infos, err := sessions.List(ctx, &sessions.ListOptions{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := sessions.MarkDone(ctx, infos[0].ID, &sessions.Options{Store: store}); err != nil {
		fmt.Println(err)
		return
	}
	done := false
	rest, err := sessions.List(ctx, &sessions.ListOptions{Store: store, Done: &done})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(infos), "sessions,", len(rest), "not done")
	// Output: 2 sessions, 1 not done
}
