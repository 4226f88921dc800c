// Command images asks about a picture.
//
//	go run ./examples/images picture.png
package main

import (
	"context"
	"fmt"
	"log"
	"mime"
	"os"
	"path/filepath"

	"github.com/clewdev/clew"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: images FILE")
	}
	path := os.Args[1]
	data, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	picture := clew.Image(mime.TypeByExtension(filepath.Ext(path)), data)
	prompt := clew.NewUserMessage(picture, &clew.TextBlock{Text: "What do you see?"})
	result, err := clew.Run(context.Background(), prompt, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}
