package features_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// redDot is a picture of one pixel, in base64.
const redDot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

func TestRealImagesAndDocuments(t *testing.T) {
	t.Parallel()
	picture, err := base64.StdEncoding.DecodeString(redDot)
	if err != nil {
		t.Fatal(err)
	}
	model := clewtest.NewModel(t).Reply("Seen.")
	s := connect(t, model, nil)
	succeed(t, s.Turn(t.Context(), clew.NewUserMessage(
		&clew.TextBlock{Text: "Look"}, clew.Image("image/png", picture),
		clew.Document("application/pdf", []byte("%PDF-1.4\n")), clew.Document("text/plain", []byte("Plain words.")),
	)))
	var images, documents []string
	for _, block := range newest(model).Turn() {
		switch block := block.(type) {
		case *wire.ImageBlock:
			images = append(images, block.Source.Data)
		case *wire.DocumentBlock:
			documents = append(documents, block.Source.Data)
		}
	}
	if !slices.Equal(images, []string{redDot}) || !slices.Equal(documents, []string{"JVBERi0xLjQK", "Plain words."}) {
		t.Errorf("images %q, documents %q", images, documents)
	}
}

func TestRealSequenceOfPrompts(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Heard.")
	prompts := slices.Values([]*wire.UserMessage{
		clew.Text("First words"), clew.Text("Second words"),
	})
	result, err := clew.Run(t.Context(), prompts, over(t, model, nil))
	if err != nil || result.Result != "Heard." {
		t.Fatalf("result %v, error %v", result, err)
	}
	// The agent may answer both at once.
	body := string(newest(model).Body)
	first, second := strings.Index(body, "First words"), strings.Index(body, "Second words")
	if first < 0 || second < first {
		t.Errorf("the prompts are not in their order: %s", body)
	}
}

func TestRealSequenceOfPromptsFails(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Heard.")
	broken := errors.New("no more words")
	var prompts iter.Seq2[*wire.UserMessage, error] = func(yield func(*wire.UserMessage, error) bool) {
		if yield(clew.Text("First words"), nil) {
			yield(nil, broken)
		}
	}
	result, err := clew.Run(t.Context(), prompts, over(t, model, nil))
	if !errors.Is(err, broken) || result == nil || result.Result != "Heard." {
		t.Errorf("result %v, error %v", result, err)
	}
}

// A verbatim prompt is neither a command nor a reference to a file, whatever it looks like.
func TestRealVerbatimPrompts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prompt string
		verbatim     bool
	}{
		{"verbatim", "/compact @notes.txt", true},
		{"as usual", "Look at @notes.txt", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On(tt.prompt).Reply(clewtest.Text("Taken."))
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"notes.txt": "Words in a file.\n"})
			query(t, model, tt.prompt, &clew.Options{Dir: dir, VerbatimPrompts: tt.verbatim})
			file := strings.Contains(string(newest(model).Body), "Words in a file.")
			if got := newest(model).Prompt(); got != tt.prompt || file == tt.verbatim {
				t.Errorf("prompt %q, with the file: %v", got, file)
			}
		})
	}
}

// A recipe is the answer that the model is asked for.
type recipe struct {
	Name    string   `json:"name"`
	Minutes int      `json:"minutes" jsonschema:"how long it takes"`
	Steps   []string `json:"steps"`
}

var (
	tea      = recipe{Name: "Tea", Minutes: 4, Steps: []string{"Boil", "Wait"}}
	teaReply = clewtest.ToolUse("StructuredOutput", tea)
	badReply = clewtest.ToolUse("StructuredOutput", map[string]any{"name": "Tea", "minutes": "four", "steps": []string{}})
)

func TestRealRunAs(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Make tea").Reply(teaReply)
	got, result, err := clew.RunAs[recipe](t.Context(), "Make tea", over(t, model, nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tea, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if result.StructuredOutput == "" {
		t.Errorf("result %s", result.Raw())
	}
	wantText(t, "the request", string(newest(model).Body), "how long it takes")
}

func TestRealRunAsWithoutStruct(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Count").Reply(clewtest.ToolUse("StructuredOutput", map[string]any{"value": []int{1, 2, 3}}))
	got, _, err := clew.RunAs[[]int](t.Context(), "Count", over(t, model, nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 2, 3}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// The turns of a session, and the runs of a pool, are answered in the form of its schema.
func TestRealRunAsOnSessionAndPool(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Make tea").Reply(teaReply)
	opts := over(t, model, nil)
	var err error
	if opts.OutputSchema, err = clew.SchemaFor[recipe](); err != nil {
		t.Fatal(err)
	}
	session, err := clew.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	pool, err := clew.NewPool(t.Context(), opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, on := range []clew.Runner{session, session, pool} {
		got, _, err := clew.RunAs[recipe](t.Context(), "Make tea", on)
		if diff := cmp.Diff(tea, got); diff != "" || err != nil {
			t.Errorf("%T: error %v, answer (-want +got):\n%s", on, err, diff)
		}
	}
}

// A crate contains others.
type crate struct {
	Label  string  `json:"label"`
	Crates []crate `json:"crates"`
}

// The agent takes a schema that refers to itself.
func TestRealRunAsRecursive(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	inner := map[string]any{"label": "b", "crates": []any{}}
	model.On("Pack").Reply(clewtest.ToolUse("StructuredOutput", map[string]any{"label": "a", "crates": []any{inner}}))
	opts := over(t, model, nil)
	opts.OutputSchema = `{"type":"object","properties":{"label":{"type":"string"},
		"crates":{"type":"array","items":{"$ref":"#"}}},"required":["label","crates"]}`
	got, _, err := clew.RunAs[crate](t.Context(), "Pack", opts)
	if diff := cmp.Diff(crate{"a", []crate{{"b", []crate{}}}}, got); diff != "" || err != nil {
		t.Errorf("error %v, answer (-want +got):\n%s", err, diff)
	}
}

// The agent shows the model what is wrong with its answer.
func TestRealRunAsCorrected(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Make tea").Reply(badReply)
	model.OnToolResult("minutes").Reply(teaReply)
	got, _, err := clew.RunAs[recipe](t.Context(), "Make tea", over(t, model, nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tea, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestRealRunAsRetriesExhausted(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("").Reply(badReply)
	_, result, err := clew.RunAs[recipe](t.Context(), "Make tea", over(t, model, nil))
	var failed *clew.ResultError
	if !errors.As(err, &failed) || failed.Result != result ||
		result.Subtype != wire.ResultErrorMaxStructuredOutputRetries {
		t.Fatalf("error %v", err)
	}
	wantText(t, "the error", err.Error(), "minutes")
	if n := len(model.Requests()); n < 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestRealRunAsWithoutAnswer(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("No idea.")
	_, result, err := clew.RunAs[recipe](t.Context(), "Make tea", over(t, model, nil))
	var missing *clew.OutputError
	if !errors.As(err, &missing) || missing.Text != "No idea." || missing.Raw != "" || result == nil {
		t.Errorf("error %v, result %v", err, result)
	}
}

// A logbook keeps everything that is written to it.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logbook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// decoded returns what a text holds.
func decoded[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
