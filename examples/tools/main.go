// Command tools gives the agent two Go functions as tools, one that returns a value and one that
// reports progress and can be stopped.
//
//	go run ./examples/tools
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/tools"
)

// A Place is the input of both tools. The agent learns from its fields what to say.
type Place struct {
	City string `json:"city" jsonschema:"the name of the city"`
}

// Weather is the result of the first tool.
type Weather struct {
	Sky     string  `json:"sky"`
	Celsius float64 `json:"celsius"`
}

func weather(_ context.Context, in Place) (Weather, error) {
	if in.City == "Atlantis" {
		return Weather{}, fmt.Errorf("%s is under water", in.City) // the agent reads it, and goes on
	}
	return Weather{Sky: "clear", Celsius: 21.5}, nil
}

func travel(ctx context.Context, in Place) (string, error) {
	const stops = 3
	for stop := range stops {
		tools.Progress(ctx, float64(stop), stops, "on the way to "+in.City)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return "", ctx.Err() // the agent was interrupted
		}
	}
	return "Arrived in " + in.City, nil
}

func main() {
	result, err := clew.Run(context.Background(), "Go where the weather is good.", &clew.Options{
		MCPServers: map[string]clew.MCPServer{"trip": tools.Server(
			tools.New("weather", "Tells the weather in a city", weather).ReadOnly(),
			tools.New("travel", "Travels to a city", travel).Title("Travel").Destructive(false),
		)},
		AllowedTools: []string{"mcp__trip"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}
