// Command pool asks several questions at once, of agents that were started before.
//
//	go run ./examples/pool
package main

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/clewdev/clew"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	pool, err := clew.NewPool(ctx, nil, &clew.PoolOptions{Warm: 2, MaxAgents: 2})
	if err != nil {
		return err
	}
	defer pool.Close()
	questions := []string{"Name a bird.", "Name a tree.", "Name a river."}
	answers := make([]string, len(questions))
	var all sync.WaitGroup
	for i, question := range questions {
		all.Go(func() {
			result, err := clew.Run(ctx, question, pool)
			if err != nil {
				answers[i] = err.Error()
				return
			}
			answers[i] = result.Result
		})
	}
	all.Wait()
	for i, question := range questions {
		fmt.Println(question, answers[i])
	}
	fmt.Println(pool.Stats().Served, "served")
	return pool.Drain(ctx)
}
