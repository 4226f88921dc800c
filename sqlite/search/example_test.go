package search_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
)

// exampleFiles returns the transcripts to search. Without a store, they belong to the agent on this
// machine.
func exampleFiles(ctx context.Context) []sessions.File {
	var files []sessions.File
	where := &sessions.Options{Store: sessions.NewFolder("../../sessions/testdata/projects")}
	for file, err := range sessions.Files(ctx, where) {
		if err != nil {
			log.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// Search reads all transcripts.
func ExampleScan() {
	ctx := context.Background()
	q, err := search.Words("counting")
	if err != nil {
		log.Fatal(err)
	}
	q.Role, q.Limit = search.Answer, 1
	result, err := search.Scan(ctx, exampleFiles(ctx), q, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range result.Hits {
		fmt.Println(hit.Role, hit.Excerpt(80).Text)
	}
	fmt.Println(result.More, "more")
	// Output:
	// answer Counting.
	// 0 more
}

// A search with an index reads only what is new since the last one.
func ExampleIndex() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "index")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	index := &search.Index{Path: filepath.Join(dir, "sessions.db")}
	for _, words := range []string{"deleg*", "nothing like it"} {
		q, err := search.Words(words)
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := index.Search(ctx, exampleFiles(ctx), q)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %d hits\n", words, len(result.Hits))
	}
	// Output:
	// deleg*: 2 hits
	// nothing like it: 0 hits
}
