package export_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/transcript"
)

// hello returns a transcript. sessions.Read returns one with its subagents.
func hello() *transcript.Transcript {
	text, err := os.ReadFile("../transcript/testdata/hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	t, err := transcript.Read(bytes.NewReader(text), nil)
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// A session as Markdown, without secrets and personal data. HTML and JSON are written in the same
// way.
func ExampleWrite() {
	doc := export.New(hello(), nil)
	export.Redact(doc, new(redact.Redactor))
	var page strings.Builder
	if err := export.Write(context.Background(), &page, doc, export.Markdown, nil); err != nil {
		log.Fatal(err)
	}
	title, _, _ := strings.Cut(page.String(), "\n")
	fmt.Println(title)
	// Output:
	// # Say hello
}

// A document in JSON can be read back, and written in another format.
func ExampleRead() {
	var text bytes.Buffer
	if err := export.Write(context.Background(), &text, export.New(hello(), nil), export.JSON, nil); err != nil {
		log.Fatal(err)
	}
	doc, err := export.Read(&text)
	if err != nil {
		log.Fatal(err)
	}
	for _, chunk := range doc.Chunks {
		fmt.Println(chunk.Turn, chunk.Type, chunk.Text)
	}
	// Output:
	// 1 user Say hello in hello.txt
	// 1 ai I write the file.
	// Done: hello.txt says hello.
	// 2 user Thanks
	// 2 ai With pleasure.
}

// A custom page that shows only the tool calls.
func ExampleWriteItem() {
	var page strings.Builder
	page.WriteString("<style>" + export.Style() + "</style>")
	for _, item := range hello().All() {
		if item.ToolName == "" {
			continue
		}
		if err := export.WriteItem(&page, item, export.Body, nil); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(strings.Contains(page.String(), `<tr class="add">`))
	// Output:
	// true
}
