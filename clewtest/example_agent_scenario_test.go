package clewtest_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
)

func ExampleScenario() {
	s := new(clewtest.Scenario).
		Expect(`{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}`).
		Send(`{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{}}}`).
		Expect(`{"type":"user","message":{"content":"<any>"}}`).
		Stderr("a warning\n").
		Do(clewtest.HalfFrame(`{"type":"result"}`)).
		Do(clewtest.Hang())
	fmt.Print(s)
	// Output:
	// > {"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}
	// < {"type":"control_response","response":{"subtype":"success","request_id":"1","response":{}}}
	// > {"type":"user","message":{"content":"<any>"}}
	// # stderr "a warning\n"
	// # fault half-frame "{\"type\":\"result\"}"
	// # fault hang
}

// Half a frame and then silence, written as a dialogue.
func ExampleReadDialogue() {
	s, err := clewtest.ReadDialogue(strings.NewReader(`
# The model answers, and then the machine goes to sleep.
> {"type":"user","message":{"content":"<any>"}}
< {"type":"system","subtype":"init","session_id":"1"}
# fault half-frame "{\"type\":\"result\"}"
# fault hang
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(s)
	// Output:
	// > {"type":"user","message":{"content":"<any>"}}
	// < {"type":"system","subtype":"init","session_id":"1"}
	// # fault half-frame "{\"type\":\"result\"}"
	// # fault hang
}

// An agent in memory needs no process, and works within testing/synctest.
func ExampleAgent_Conn() {
	drive := func(io.WriteCloser, io.Reader) {} // the program under test

	test := func(t *testing.T) {
		conn := clewtest.NewAgent(t, clewtest.LoadDialogue(t, "testdata/hello.txt")).Conn()
		drive(conn.Stdin, conn.Stdout)
		if err := conn.Wait(); err != nil {
			t.Error(err)
		}
	}
	_ = test // is func TestDrive(t *testing.T)
}
