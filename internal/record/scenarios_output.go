package record

import (
	"encoding/base64"
	"strings"

	"github.com/clewdev/clew/clewtest"
)

// filler is a line of an output that is too big for the conversation.
const filler = "a line of output that is of no use to anybody\n"

// pngDot is a picture of one red pixel.
const pngDot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

// outputScenarios are about results of tools that are not just a line of text.
var outputScenarios = []*Scenario{
	{
		Name:    "big_output_spills",
		About:   "A command writes more than fits into the conversation: the agent keeps it in a file and shows its beginning.",
		Args:    allowAll,
		Prompts: []string{"Print a lot"},
		Files:   map[string]string{"big.txt": strings.Repeat(filler, 2000)},
		Own:     []string{filler},
		Model: func(s *Stage) {
			s.Model.On("Print a lot").Reply(bash("cat big.txt", "Print a big file")).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:    "image_result",
		About:   "The agent reads a picture.",
		Args:    allowAll,
		Prompts: []string{"Look at it"},
		Files:   map[string]string{"dot.png": mustDecode(pngDot)},
		Model: func(s *Stage) {
			s.Model.On("Look at it").Reply(clewtest.ToolUse("Read", map[string]string{"file_path": s.Path("dot.png")})).Usage(100, 42, 300, 20)
			s.Model.When(func(r *clewtest.Request) bool { return len(r.ToolResults()) > 0 }).
				Reply(clewtest.Text("A red dot.")).Usage(100, 42, 300, 20)
		},
	},
}

// mustDecode returns what the base64 text stands for.
func mustDecode(text string) string {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}
