// Command transport runs the agent in a container, by starting docker in its place. The image needs
// Claude Code, under the name claude.
//
//	go run ./examples/transport IMAGE
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/clewdev/clew"
)

// inContainer returns a function that makes docker run the agent.
func inContainer(image string) func(*clew.Launch) error {
	return func(launch *clew.Launch) error {
		args := []string{"run", "--rm", "--interactive"}
		for _, variable := range launch.Env {
			name, _, _ := strings.Cut(variable, "=")
			if strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_") {
				args = append(args, "--env", name) // docker passes its own value on
			}
		}
		args = append(args, image, "claude")
		launch.Path, launch.Args = "docker", append(args, launch.Args...)
		return nil
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: transport IMAGE")
	}
	result, err := clew.Run(context.Background(), "Which system is this?", &clew.Options{
		Transport: &clew.ProcessTransport{Wrap: inContainer(os.Args[1])},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}
