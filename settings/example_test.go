package settings_test

import (
	"fmt"
	"log"

	"github.com/clewdev/clew/settings"
)

// Which model would an agent use here, and which source sets it?
func ExampleResolve() {
	resolved, err := settings.Resolve(&settings.Options{
		Sources:    []settings.Source{},    // no files, so that the example is the same everywhere
		ManagedDir: "testdata/no-such-dir", // not even those of an administrator
		Flag:       `{"model":"opus"}`,
	})
	if err != nil {
		log.Fatal(err)
	}
	model := resolved.Settings["model"]
	fmt.Println(model.Value, model.From)
	// Output: "opus" [flag]
}
