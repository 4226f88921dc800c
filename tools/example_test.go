package tools_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/tools"
)

func Example() {
	type Zone struct {
		Name string `json:"name" jsonschema:"the name of a time zone, such as Europe/Rome"`
	}
	now := tools.New("now", "Tells the time", func(_ context.Context, in Zone) (string, error) {
		zone, err := time.LoadLocation(in.Name)
		if err != nil {
			return "", err // the model reads it
		}
		return time.Now().In(zone).Format(time.Kitchen), nil
	}).ReadOnly()

	result, err := clew.Run(context.Background(), "What time is it in Rome?", &clew.Options{
		MCPServers:   map[string]clew.MCPServer{"clock": tools.Server(now)},
		AllowedTools: []string{now.Name("clock")}, // mcp__clock__now
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}

// A tool can return more than text.
func ExampleResult() {
	chart := tools.New("chart", "Draws the sales", func(_ context.Context, _ struct{}) (*tools.Result, error) {
		return tools.NewResult(tools.Text("Sales of this year"), tools.Image("image/png", []byte("..."))), nil
	})
	_ = tools.Server(chart)
}

// A field that may have some values only.
func ExampleTool_Refine() {
	type Degrees struct {
		Unit  string  `json:"unit"`
		Value float64 `json:"value"`
	}
	thermostat := tools.New("heat", "Sets the temperature", func(_ context.Context, in Degrees) (string, error) {
		return fmt.Sprintf("It will be %g °%s soon", in.Value, in.Unit), nil
	}).Refine(func(schema *jsonschema.Schema) {
		schema.Properties["unit"].Enum = []any{"C", "F"}
	})
	_ = tools.Server(thermostat)
}

// Tools of this package can be added to a server of the SDK, even while sessions use it.
func ExampleAdd() {
	server := mcp.NewServer(&mcp.Implementation{Name: "calc", Version: "1.0.0"}, nil)
	double := tools.New("double", "Doubles a number", func(_ context.Context, in struct{ N int }) (int, error) {
		return 2 * in.N, nil
	})
	if err := tools.Add(server, double); err != nil {
		log.Fatal(err)
	}
	_ = tools.Mount(server) // for Options.MCPServers

	// The server also works without an agent.
	ctx := context.Background()
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, here, nil); err != nil {
		log.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, there, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	result, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "double", Arguments: map[string]int{"N": 21}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output: 42
}
