package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

type weather struct {
	City string `json:"city"`
}

func decodeWeather(raw json.RawMessage) (any, error) {
	w := new(weather)
	return w, json.Unmarshal(raw, w)
}

// register returns options with a decoder for a kind.
func register(t testing.TB, kind wire.Kind, decode func(json.RawMessage) (any, error)) *wire.ReaderOptions {
	t.Helper()
	registry := new(wire.Registry)
	if err := registry.Add(kind, decode); err != nil {
		t.Fatal(err)
	}
	return &wire.ReaderOptions{Registry: registry}
}

func TestRegistryDecodes(t *testing.T) {
	for kind, frame := range map[wire.Kind]string{
		{Type: "weather"}:                    `{"city":"Graz","type":"weather","new":1}`,
		{Type: "system", Subtype: "weather"}: `{"type":"system","city":"Graz","subtype":"weather"}`,
	} {
		for _, discard := range []bool{false, true} {
			opts := register(t, kind, decodeWeather)
			opts.DiscardRaw = discard
			msg, ok := wire.NewDecoder(opts).Decode([]byte(frame)).(*wire.CustomMessage)
			if !ok || msg.Kind() != kind || msg.Raw() != frame {
				t.Fatalf("message %+v", msg)
			}
			if diff := cmp.Diff(&weather{"Graz"}, msg.Value); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := encoded(t, msg); string(got) != frame {
				t.Errorf("encoded %s", got)
			}
			if text, err := json.Marshal(msg); err != nil || string(text) != frame {
				t.Errorf("marshalled %s, %v", text, err)
			}
		}
	}
}

func TestRegistryLeavesOthersAlone(t *testing.T) {
	d := wire.NewDecoder(register(t, wire.Kind{Type: "weather"}, decodeWeather))
	for frame, want := range map[string]string{
		`{"type":"climate"}`:                    "*wire.UnknownMessage",
		`{"type":"system","subtype":"weather"}`: "*wire.SystemMessage",
		`{"type":"keep_alive"}`:                 "*wire.KeepAliveMessage",
		`{"type":"weather"`:                     "*wire.InvalidFrame",
		`{"type":"weather"} x`:                  "*wire.InvalidFrame",
	} {
		if got := fmt.Sprintf("%T", d.Decode([]byte(frame))); got != want {
			t.Errorf("%s: %s, want %s", frame, got, want)
		}
	}
}

func TestRegistryRefuses(t *testing.T) {
	registry := new(wire.Registry)
	if err := registry.Add(wire.Kind{Type: "weather"}, decodeWeather); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []wire.Kind{
		{}, {Subtype: "x"}, {Type: "system"}, {Type: "weather", Subtype: "rain"},
		{Type: "user"}, {Type: "stream_event"}, {Type: "content_block_delta"}, {Type: "system", Subtype: "init"},
		{Type: "weather"},
	} {
		if err := registry.Add(kind, decodeWeather); err == nil || !strings.HasPrefix(err.Error(), "wire: ") {
			t.Errorf("kind %q: %v", kind, err)
		}
	}
	if err := registry.Add(wire.Kind{Type: "climate"}, nil); err == nil {
		t.Error("no decoder at all was accepted")
	}
}

func TestRegistryDecoderFails(t *testing.T) {
	for name, decode := range map[string]func(json.RawMessage) (any, error){
		"error": func(json.RawMessage) (any, error) { return 1, errors.New("no rain") },
		"panic": func(json.RawMessage) (any, error) { panic("no rain") },
	} {
		t.Run(name, func(t *testing.T) {
			d := wire.NewDecoder(register(t, wire.Kind{Type: "weather"}, decode))
			const frame = `{"type":"weather"}`
			msg, ok := d.Decode([]byte(frame)).(*wire.InvalidFrame)
			if !ok || !strings.Contains(msg.Error(), "no rain") || msg.Raw() != frame || msg.Kind().Type != "weather" {
				t.Errorf("message %+v", msg)
			}
			if _, ok := d.Decode([]byte(`{"type":"keep_alive"}`)).(*wire.KeepAliveMessage); !ok {
				t.Error("the next frame is not decoded")
			}
		})
	}
}

func TestRegistryNil(t *testing.T) {
	d := wire.NewDecoder(&wire.ReaderOptions{Registry: nil})
	if _, ok := d.Decode([]byte(`{"type":"weather"}`)).(*wire.UnknownMessage); !ok {
		t.Error("not unknown")
	}
}

func TestRegistryFromSeveralGoroutines(t *testing.T) {
	registry := new(wire.Registry)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			kind := wire.Kind{Type: fmt.Sprintf("weather%d", i)}
			if err := registry.Add(kind, decodeWeather); err != nil {
				t.Error(err)
			}
			d := wire.NewDecoder(&wire.ReaderOptions{Registry: registry})
			for range 100 {
				if _, ok := d.Decode([]byte(`{"type":"` + kind.Type + `"}`)).(*wire.CustomMessage); !ok {
					t.Errorf("%s is not decoded", kind)
				}
			}
		})
	}
	group.Wait()
}
