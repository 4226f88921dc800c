package clew_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"unicode"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// Print the newest session of this machine, with what it cost.
func Example_readBack() {
	ctx := context.Background()
	list, err := sessions.List(ctx, &sessions.ListOptions{Limit: 1})
	if err != nil || len(list) == 0 {
		log.Fatal("no session: ", err)
	}
	t, err := sessions.Read(ctx, list[0].ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, chunk := range t.Chunks {
		fmt.Println(chunk.Type, transcript.Truncate(chunk.Text, 80))
	}
	costs := transcript.Cost(t.Calls(), transcript.DefaultPrices())
	fmt.Println(transcript.Truncate(list[0].Title(), 80), costs.Total)
}

// Show a text of several lines without what a terminal would obey.
func Example_escape() {
	chunk := transcript.Chunk{Text: "One\x1b[2J\n\tTwo"}
	shown := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return '\uFFFD'
	}, chunk.Text)
	fmt.Println(shown)
	// Output:
	// One�[2J
	// 	Two
}
