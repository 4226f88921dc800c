package features_test

import (
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/wire"
)

// The helpers that all tests with the real agent share.
var (
	over   = scene.Options
	newest = scene.Newest
	bash   = scene.Bash
)

// connect opens a session over a model that ends with the test.
func connect(t *testing.T, model *clewtest.Model, opts *clew.Options) *clew.Session {
	t.Helper()
	return scene.Connect(t, over(t, model, opts))
}

// A talk holds the agent's messages in a run or in a turn, and its last result.
type talk struct {
	messages []wire.Message
	result   *wire.ResultMessage
}

// hear reads messages to their end, and returns the error there.
func hear(messages iter.Seq2[wire.Message, error]) (*talk, error) {
	k := new(talk)
	for msg, err := range messages {
		if err != nil {
			return k, err
		}
		k.messages = append(k.messages, msg)
		if result, ok := msg.(*wire.ResultMessage); ok {
			k.result = result
		}
	}
	return k, nil
}

// succeed hears messages that must end with a result and without an error.
func succeed(t *testing.T, messages iter.Seq2[wire.Message, error]) *talk {
	t.Helper()
	k, err := hear(messages)
	if err != nil || k.result == nil {
		t.Fatalf("error %v after %d messages", err, len(k.messages))
	}
	return k
}

// ask runs a turn that has to succeed.
func ask(t *testing.T, s *clew.Session, prompt string) *talk {
	t.Helper()
	return succeed(t, s.Turn(t.Context(), clew.Text(prompt)))
}

// query makes a run, over a model, that has to succeed.
func query(t *testing.T, model *clewtest.Model, prompt string, opts *clew.Options) *talk {
	t.Helper()
	return succeed(t, clew.Query(t.Context(), prompt, over(t, model, opts)))
}

// of returns the messages of one type.
func of[M wire.Message](k *talk) []M {
	var list []M
	for _, msg := range k.messages {
		if msg, ok := msg.(M); ok {
			list = append(list, msg)
		}
	}
	return list
}

// answer returns the blocks of the model's answers.
func (k *talk) answer() wire.Content {
	var blocks wire.Content
	for _, msg := range of[*wire.AssistantMessage](k) {
		blocks = append(blocks, msg.Content...)
	}
	return blocks
}

// toolResults returns what the tools have returned.
func (k *talk) toolResults() []*wire.ToolResultBlock {
	var list []*wire.ToolResultBlock
	for _, msg := range of[*wire.UserMessage](k) {
		list = append(list, msg.Content.ToolResults()...)
	}
	return list
}

// only returns the element of a list that must have one.
func only[T any](t *testing.T, list []T) T {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("%d elements in %+v, want one", len(list), list)
	}
	return list[0]
}

// touches makes the model answer prompts that name a file by making it.
func touches(model *clewtest.Model, name string) {
	model.On(name).Reply(bash("touch " + name))
	model.OnToolResult("").Reply(clewtest.Text("Done."))
}

// writeFiles makes files below a directory, by their paths.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// exists reports whether a directory has a file of that name.
func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// wantMade checks what became of a command that was to make the file name: made is the one there
// should be instead, or empty for none.
func wantMade(t *testing.T, dir, name, made string) {
	t.Helper()
	if ran := exists(dir, name); ran != (name == made) {
		t.Errorf("the command ran as it was: %v", ran)
	}
	if made != "" && !exists(dir, made) {
		t.Errorf("there is no file %s", made)
	}
}

// wantText checks that a text contains words.
func wantText(t *testing.T, what, text, words string) {
	t.Helper()
	if !strings.Contains(text, words) {
		t.Errorf("%s has no %q: %s", what, words, text)
	}
}
