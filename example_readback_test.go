package clew_test

import (
	"context"
	"fmt"
	"log"

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
		fmt.Println(chunk.Type, chunk.Text)
	}
	costs := transcript.Cost(t.Calls(), transcript.DefaultPrices())
	fmt.Println(list[0].Title(), costs.Total)
}
