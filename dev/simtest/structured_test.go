package simtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A type that has no schema is refused before anything starts.
func TestRunAsWithoutSchema(t *testing.T) {
	t.Parallel()
	_, result, err := clew.RunAs[chan int](t.Context(), "Hi", neverStarted(t))
	if result != nil || err == nil || !strings.HasPrefix(err.Error(), "clew: chan int has no JSON schema: ") {
		t.Errorf("result %v, error %v", result, err)
	}
}

// An answer that is missing or does not fit its type is an error beside the result.
func TestRunAsWithoutFit(t *testing.T) {
	t.Parallel()
	for output, reason := range map[string]string{
		``:                               "the result has no structured output",
		`{"name":"Tea"}`:                 "required",
		`{"name":"Tea","minutes":"ten"}`: "minutes",
		`["Tea"]`:                        "type",
	} {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				frame := `{"type":"result","subtype":"success","result":"Tea, then."}`
				if output != "" {
					frame = strings.Replace(frame, "}", `,"structured_output":`+output+"}", 1)
				}
				type drink struct {
					Name    string `json:"name"`
					Minutes int    `json:"minutes"`
				}
				opts := overMemory(clewtest.NewAgent(t, asked().Send(frame)))
				got, result, err := clew.RunAs[drink](t.Context(), "Hi", opts)
				misfit, ok := errors.AsType[*clew.OutputError](err)
				if !ok || result == nil || got != (drink{}) {
					t.Fatalf("answer %+v, result %v, error %v", got, result, err)
				}
				if string(misfit.Raw) != output || misfit.Text != "Tea, then." || !strings.Contains(misfit.Error(), reason) {
					t.Errorf("raw %q, text %q, error %q", misfit.Raw, misfit.Text, misfit)
				}
			})
		})
	}
}

// neverStarted returns options for an agent that must not be started.
func neverStarted(t *testing.T) *clew.Options {
	return &clew.Options{Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
		t.Error("an agent was started")
		return nil, errors.ErrUnsupported
	})}
}

// structured returns a result with a structured answer.
func structured(answer string) string {
	return `{"type":"result","subtype":"success","result":"","structured_output":` + answer + "}"
}

// A dish has fields whose JSON their Go kind does not determine.
type dish struct {
	Name   string          `json:"name"`
	Serves int             `json:"serves"`
	Photo  []byte          `json:"photo"`
	Notes  json.RawMessage `json:"notes"`
	At     time.Time       `json:"at"`
}

// An answer in the form of the schema decodes, whatever decoding its fields have.
func TestRunAsOfTypesWithTheirOwnJSON(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, asked().Send(structured(
			`{"name":"Soup","serves":4.0,"photo":"aGk=","notes":{"hot":[1.0]},"at":"2026-11-16T12:00:00Z"}`)))
		got, _, err := clew.RunAs[*dish](t.Context(), "Hi", overMemory(agent))
		if err != nil {
			t.Fatal(err)
		}
		want := &dish{"Soup", 4, []byte("hi"), json.RawMessage(`{"hot":[1]}`), time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		schema, _ := firstFrame(t, agent, "jsonSchema").(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		photo, _ := properties["photo"].(map[string]any)
		if photo["contentEncoding"] != "base64" {
			t.Errorf("the schema of a photo is %v", photo)
		}
	})
}

// A schema that the caller refined is sent, and answers are checked against it.
func TestRunAsWithRefinedSchema(t *testing.T) {
	t.Parallel()
	schema, err := clew.SchemaFor[struct {
		Size string `json:"size"`
	}](func(s *jsonschema.Schema) { s.Properties["size"].Enum = []any{"small", "large"} })
	if err != nil {
		t.Fatal(err)
	}
	type order struct {
		Size string `json:"size"`
	}
	for answer, fits := range map[string]bool{`{"size":"large"}`: true, `{"size":"huge"}`: false} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			agent := clewtest.NewAgent(t, asked().Send(structured(answer)))
			opts := overMemory(agent)
			opts.OutputSchema = schema
			got, _, err := clew.RunAs[order](t.Context(), "Hi", opts)
			if _, misfit := errors.AsType[*clew.OutputError](err); misfit == fits || fits && got.Size != "large" || !fits && got.Size != "" {
				t.Errorf("%s: %+v, error %v", answer, got, err)
			}
			sent, err := json.Marshal(firstFrame(t, agent, "jsonSchema"))
			if err != nil || !strings.Contains(string(sent), `"enum":["small","large"]`) {
				t.Errorf("the schema was %s, %v", sent, err)
			}
		})
	}
}

// A branch contains itself.
type branch struct {
	Name     string   `json:"name"`
	Branches []branch `json:"branches"`
}

// A type that contains itself needs a schema by hand.
func TestRunAsRecursive(t *testing.T) {
	if _, _, err := clew.RunAs[branch](t.Context(), "Hi", neverStarted(t)); err == nil ||
		!strings.Contains(err.Error(), "set Options.OutputSchema") {
		t.Errorf("error %v", err)
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, asked().Send(structured(`{"name":"oak","branches":[{"name":"twig","branches":[]}]}`)))
		opts := overMemory(agent)
		opts.OutputSchema = `{"$ref":"#/$defs/branch","$defs":{"branch":{"type":"object","properties":{"name":{"type":"string"},
			"branches":{"type":"array","items":{"$ref":"#/$defs/branch"}}},"required":["name","branches"]}}}`
		got, _, err := clew.RunAs[branch](t.Context(), "Hi", opts)
		want := branch{"oak", []branch{{"twig", []branch{}}}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
	})
}

// A schema that the type can't hold is refused before anything starts.
func TestRunAsWithWrongSchema(t *testing.T) {
	t.Parallel()
	run := map[string]func(opts *clew.Options) error{
		"no JSON schema": func(opts *clew.Options) error {
			opts.OutputSchema = `{"type":7}`
			return third(clew.RunAs[dish](t.Context(), "Hi", opts))
		},
		"unresolved": func(opts *clew.Options) error {
			opts.OutputSchema = `{"type":"object","properties":{"a":{"$ref":"#/$defs/missing"}}}`
			return third(clew.RunAs[any](t.Context(), "Hi", opts))
		},
		"of another type": func(opts *clew.Options) error {
			opts.OutputSchema, _ = clew.SchemaFor[branchless]()
			return third(clew.RunAs[dish](t.Context(), "Hi", opts))
		},
		"without a required field": func(opts *clew.Options) error {
			opts.OutputSchema = `{"type":"object","properties":{"name":{"type":"string"}}}`
			return third(clew.RunAs[dish](t.Context(), "Hi", opts))
		},
		"not wrapped": func(opts *clew.Options) error {
			opts.OutputSchema, _ = clew.SchemaFor[branchless]()
			return third(clew.RunAs[[]int](t.Context(), "Hi", opts))
		},
	}
	for name, run := range run {
		err := run(neverStarted(t))
		if bad, ok := errors.AsType[*clew.OptionsError](err); !ok || bad.Option != "OutputSchema" {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

type branchless struct {
	Leaves int `json:"leaves"`
}

func third[A, B any](_ A, _ B, err error) error { return err }

// Turns of one session are answered in the form of its schema, one after the other.
func TestRunAsOnSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		schema, err := clew.SchemaFor[[]int]()
		if err != nil {
			t.Fatal(err)
		}
		opts := overMemory(clewtest.NewAgent(t, asked().Send(structured(`{"value":[1,2]}`)).
			Expect(aPrompt).Send(structured(`{"value":[3.0]}`)).Expect(aPrompt).Send(aFailure)))
		opts.OutputSchema = schema
		s := connectTo(t, opts)
		for _, want := range [][]int{{1, 2}, {3}} {
			got, _, err := clew.RunAs[[]int](t.Context(), "Hi", s)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		}
		_, result, err := clew.RunAs[[]int](t.Context(), clew.Text("Hi"), s)
		if failed, ok := errors.AsType[*clew.ResultError](err); !ok || failed.Result != result {
			t.Errorf("result %v, error %v", result, err)
		}
		many := slices.Values([]*wire.UserMessage{clew.Text("a"), clew.Text("b")})
		if _, _, err := clew.RunAs[[]int](t.Context(), many, s); err == nil || !strings.Contains(err.Error(), "not a sequence") {
			t.Errorf("a sequence: error %v", err)
		}
	})
}

// A session without a schema fails with an error that asks for one.
func TestRunAsOnSessionWithoutSchema(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := connectTo(t, overMemory(clewtest.NewAgent(t, greeted())))
		_, _, err := clew.RunAs[dish](t.Context(), "Hi", s)
		if bad, ok := errors.AsType[*clew.OptionsError](err); !ok || !strings.Contains(bad.Error(), "SchemaFor[simtest_test.dish]") {
			t.Errorf("error %v", err)
		}
	})
}

// The schema of a type that is not an object is an object with one field.
func TestSchemaFor(t *testing.T) {
	t.Parallel()
	schema, err := clew.SchemaFor[[]shape](func(s *jsonschema.Schema) { s.MinItems = jsonschema.Ptr(1) })
	var got map[string]any
	if err != nil || schema.Decode(&got) != nil {
		t.Fatalf("%s, %v", schema, err)
	}
	properties, _ := got["properties"].(map[string]any)
	value, _ := properties["value"].(map[string]any)
	if got["type"] != "object" || value["minItems"] != 1.0 || !slices.Equal(slices.Collect(maps.Keys(properties)), []string{"value"}) {
		t.Errorf("schema %s", schema)
	}
	if _, err := clew.SchemaFor[shape](func(s *jsonschema.Schema) { s.Ref = "#/$defs/missing" }); err == nil {
		t.Error("a schema with a missing definition is no error")
	}
	if _, err := clew.SchemaFor[branch](); err == nil {
		t.Error("a type that contains itself is no error")
	}
}

type shape struct {
	Corners int `json:"corners"`
}
