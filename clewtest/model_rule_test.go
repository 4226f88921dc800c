package clewtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestModelRuleOrder(t *testing.T) {
	t.Parallel()
	m := NewModel(t).Reply("default")
	m.On("count").Reply(Text("one")).Once()
	m.On("count").Reply(Text("two")).Times(2)
	m.On("never") // has no answer, and so matches nothing
	m.When(func(r *Request) bool { return r.MaxTokens == 9 && strings.HasPrefix(r.Prompt(), "When") }).Reply(Text("when"))
	var got []string
	for _, prompt := range []string{"count", "count it", "recount", "count", "never", "When?"} {
		got = append(got, said(t, ask(t, m, prompt, false)))
	}
	want := []string{"one", "two", "two", "default", "default", "when"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestModelRuleTimesAtOnce(t *testing.T) {
	t.Parallel()
	m := NewModel(t).Reply("default")
	m.On("").Reply(Text("rare")).Times(3)
	var group sync.WaitGroup
	answers := make(chan string, 20)
	for range cap(answers) {
		group.Go(func() { answers <- said(t, ask(t, m, "x", false)) })
	}
	group.Wait()
	close(answers)
	rare := 0
	for a := range answers {
		if a == "rare" {
			rare++
		}
	}
	if rare != 3 {
		t.Errorf("a rule for 3 requests answered %d of them", rare)
	}
}

func TestModelToolResult(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.On("list").Reply(Text("wrong: the words are in an old turn and in a result"))
	m.OnToolResult("absent").Reply(Text("wrong result"))
	m.OnToolResult("b.txt").Reply(Text("two files"))
	got := said(t, post(t, m, `{"model":"m","messages":[
		{"role":"user","content":"list"},
		{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"list: a.txt b.txt"}]},
			{"type":"text","text":"<system-reminder>list</system-reminder>"}]},
		{"role":"system","content":"list"}]}`))
	if got != "two files" {
		t.Errorf("answer %q", got)
	}
}

func TestModelFail(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status     int
		kind       string
		retryAfter string
	}{
		{400, "invalid_request_error", ""},
		{401, "authentication_error", ""},
		{429, "rate_limit_error", "1"},
		{500, "api_error", ""},
		{529, "overloaded_error", ""},
		{418, "invalid_request_error", ""},
		{503, "api_error", ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			t.Parallel()
			m := NewModel(t)
			m.On("").Fail(tt.status)
			resp := ask(t, m, "x", true)
			var body struct {
				Type      string
				Error     struct{ Type, Message string }
				RequestID string `json:"request_id"`
			}
			if err := json.Unmarshal([]byte(readAll(t, resp)), &body); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status || body.Type != "error" || body.Error.Type != tt.kind || body.Error.Message == "" {
				t.Errorf("status %d, body %+v", resp.StatusCode, body)
			}
			if got := resp.Header.Get("retry-after"); got != tt.retryAfter {
				t.Errorf("retry-after %q, want %q", got, tt.retryAfter)
			}
			if body.RequestID == "" || body.RequestID != resp.Header.Get("request-id") {
				t.Errorf("request id %q", body.RequestID)
			}
		})
	}
}

func TestModelFailMessage(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.On("").Fail(529).Message("too busy").RetryAfter(1500 * time.Millisecond)
	resp := ask(t, m, "x", true)
	if body := readAll(t, resp); !strings.Contains(body, `"message":"too busy"`) || resp.Header.Get("retry-after") != "2" {
		t.Errorf("retry-after %q, body %s", resp.Header.Get("retry-after"), body)
	}
}

func TestModelCut(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.On("none").Reply(Text("Hello")).Cut(0)
	m.On("some").Reply(Text("Hello")).Cut(4)
	m.On("all").Reply(Text("Hello")).Cut(1000)
	for prompt, want := range map[string]int{"none": 0, "some": 4, "all": 7} {
		events, err := eventLines(ask(t, m, prompt, true).Body)
		if len(events) != want || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %d events and %v, want %d and an unexpected end", prompt, len(events), err, want)
		}
	}
	if data, err := io.ReadAll(ask(t, m, "some", false).Body); len(data) == 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("plain: %d bytes and %v, want some and an unexpected end", len(data), err)
	}
}

// A stream waits for Before, and so does the cut. Its context ends when the client leaves.
func TestModelBefore(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	asked, more, ended := make(chan int), make(chan bool), make(chan bool)
	before := func(ctx context.Context, sent int) {
		asked <- sent
		select {
		case <-more:
		case <-ctx.Done():
			close(ended)
		}
	}
	m.On("whole").Reply(Text("Hello")).Before(before)
	m.On("some").Reply(Text("Hello")).Cut(2).Before(before)
	m.On("all").Reply(Text("Hello")).Cut(1000).Before(before)
	for _, test := range []struct {
		prompt        string
		calls, events int
	}{{"whole", 7, 7}, {"some", 3, 2}, {"all", 8, 7}} {
		resp := ask(t, m, test.prompt, true)
		for i := range test.calls {
			if got := <-asked; got != i {
				t.Errorf("%s: Before was called for %d, want %d", test.prompt, got, i)
			}
			more <- true
		}
		if events, _ := eventLines(resp.Body); len(events) != test.events {
			t.Errorf("%s: %d events, want %d", test.prompt, len(events), test.events)
		}
	}
	resp := ask(t, m, "some", true)
	<-asked
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	ended = make(chan bool)
	resp = ask(t, m, "some", true) // which waits when the test ends, and with it the model
	<-asked
	t.Cleanup(func() { _ = resp.Body.Close() })
}

func TestModelDelayAndPace(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.On("").Reply(Text("ab")).ChunkSize(1).Delay(30 * time.Millisecond).Pace(10 * time.Millisecond)
	start := time.Now()
	events, err := eventLines(ask(t, m, "x", true).Body)
	if err != nil || len(events) != 8 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if took := time.Since(start); took < 100*time.Millisecond {
		t.Errorf("a delay of 30 ms and 7 of 10 ms took %v", took)
	}
}

func TestModelNoRule(t *testing.T) {
	t.Parallel()
	m, tb := recordedModel(t)
	defer tb.end()
	m.On("something else").Reply(Text("hi"))
	resp := ask(t, m, "what now?", true)
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(readAll(t, resp), "no rule") {
		t.Errorf("status %d", resp.StatusCode)
	}
	if resp := post(t, m, `{"messages":`); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("cut JSON: status %d", resp.StatusCode)
	}
	want := []string{
		"clewtest: the scripted model has no rule for this request:\n  model m, 1 messages, 0 tools\n  newest prompt: \"what now?\"",
		"clewtest: the model got a request that it cannot read: unexpected end of JSON input\n{\"messages\":",
	}
	if diff := cmp.Diff(want, tb.errors); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

func TestModelRulePanics(t *testing.T) {
	t.Parallel()
	m, tb := recordedModel(t)
	defer tb.end()
	m.Reply("default")
	m.When(func(r *Request) bool { return len(r.Tools[0].Name) > 0 }).Reply(Text("hi"))
	resp := ask(t, m, "what now?", true)
	if body := readAll(t, resp); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "a rule panicked") {
		t.Errorf("status %d, %s", resp.StatusCode, body)
	}
	if len(tb.errors) != 1 {
		t.Fatalf("reports %q", tb.errors)
	}
	for _, words := range []string{"a rule panicked: runtime error: index out of range", "model_rule_test.go", `"what now?"`} {
		if !strings.Contains(tb.errors[0], words) {
			t.Errorf("the report lacks %q:\n%s", words, tb.errors[0])
		}
	}
}
