// Command transcript prints a recorded session for a person, with its subagents and their cost.
// Without an ID it runs a new session first.
//
//	go run ./examples/transcript [session]
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

func main() {
	ctx := context.Background()
	id := strings.Join(os.Args[1:], "")
	if id == "" {
		opts := &clew.Options{AllowedTools: []string{"Agent", "Glob"}}
		result, err := clew.Run(ctx, "Let a subagent count the files here.", opts)
		if err != nil {
			log.Fatal(err)
		}
		id = result.SessionID
	}
	session, err := sessions.Read(ctx, id, nil)
	if err != nil {
		log.Fatal(err)
	}
	show(session, "")
	for i := range session.Branches {
		fmt.Printf("(%d chunks were left behind.)\n", len(session.Branches[i].Chunks))
	}
}

// show prints what was said, and below each call the subagents that it has started.
func show(t *transcript.Transcript, indent string) {
	for _, chunk := range t.Chunks {
		if len(chunk.Items) == 0 {
			say(indent, chunk.Type.String(), chunk.Text)
		}
		for _, item := range chunk.Items {
			showItem(&item, indent)
		}
	}
	cost := usage.NewReport(t.Calls(), nil).Total
	fmt.Printf("%s[%d answers, %s]\n", indent, cost.Calls, cost.Cost)
}

func showItem(item *transcript.DisplayItem, indent string) {
	switch item.Type {
	case transcript.ItemToolCall, transcript.ItemSubagent:
		say(indent, item.ToolName, item.ToolSummary)
	default:
		say(indent, item.Type.String(), item.Text)
	}
	for _, agent := range item.Agents {
		if agent.Transcript != nil { // it has written something
			show(agent.Transcript, indent+"    ")
		}
	}
}

// say prints one line. Whatever a tool has read may be in it: Truncate leaves no control
// characters.
func say(indent, who, text string) {
	fmt.Println(indent + transcript.Truncate(who+": "+text, 80))
}
