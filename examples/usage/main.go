// Command usage prints the tokens and the cost of the sessions of this directory, by day and model.
// It asks a question first, so that there is a session. Without that, it costs nothing.
//
//	go run ./examples/usage "Name a bird."
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

func main() {
	ctx := context.Background()
	for _, question := range os.Args[1:] {
		if _, err := clew.Run(ctx, question, nil); err != nil {
			log.Fatal(err)
		}
	}
	if err := report(ctx); err != nil {
		log.Fatal(err)
	}
}

func report(ctx context.Context) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	titles, err := titlesOf(ctx, folder)
	if err != nil {
		return err
	}
	used, err := sessions.ScanUsage(ctx, &sessions.UsageOptions{Project: folder})
	if err != nil {
		return err
	}
	for _, err := range used.Unread {
		log.Print(err) // the rest counts nevertheless
	}
	by := []usage.Dimension{usage.ByDay, usage.BySession, usage.ByModel}
	sums := usage.NewReport(used.Tally.Calls(), &usage.ReportOptions{By: by})
	for _, row := range sums.Rows {
		fmt.Printf("%s  %-20s  %s  %q\n", row.Key.Day, row.Key.Model, costOf(row.Totals), titles[row.Key.Session])
	}
	fmt.Println("in all:", costOf(sums.Total))
	return nil
}

// titlesOf returns the titles of the sessions of a directory, by ID.
func titlesOf(ctx context.Context, folder string) (map[string]string, error) {
	infos, err := sessions.List(ctx, &sessions.ListOptions{Project: folder})
	titles := map[string]string{}
	for _, info := range infos {
		titles[info.ID] = transcript.Truncate(info.Title(), 40)
	}
	return titles, err
}

// costOf returns the tokens and the cost of answers as text, with "and more" if a price is not
// known.
func costOf(t usage.Totals) string {
	cost := fmt.Sprintf("%d tokens, %s", t.Usage.TotalTokens(), t.Cost)
	if t.UnknownCost {
		cost += " and more"
	}
	return cost
}
