// Command agents gives the agent a subagent for one kind of work, and shows which of them said
// what.
//
//	go run ./examples/agents
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
)

func main() {
	opts := &clew.Options{
		Agents: map[string]clew.AgentDefinition{"proofreader": {
			Description: "Finds spelling mistakes. Use it for every text that people will read.",
			Prompt:      "You find spelling mistakes, and nothing else. Answer with a list.",
			Tools:       []string{"Read", "Glob"},
			Model:       "haiku",
		}},
		ForwardSubagentText: true,
	}
	for msg, err := range clew.Query(context.Background(), "Have the README proofread.", opts) {
		if err != nil {
			log.Fatal(err)
		}
		m, ok := msg.(*clew.AssistantMessage)
		if !ok || m.Content.Text() == "" {
			continue
		}
		speaker := "agent"
		if m.ParentToolUseID != "" {
			speaker = m.SubagentType
		}
		fmt.Printf("%s: %s\n", speaker, m.Content.Text())
	}
}
