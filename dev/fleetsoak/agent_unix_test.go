//go:build unix

package fleetsoak

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/fleettest"
)

// An entry is a line of the ledger.
type entry struct {
	fleettest.Line
	PID int `json:",omitempty"` // of the agent
	// Asked is the time at which the worker started to check whether a tool may start.
	Asked time.Time `json:",omitzero"`
	// Worker and Beat identify a renewal. Its time is from before it was sent.
	Worker string `json:",omitempty"`
	Beat   int    `json:",omitempty"`
}

// renewed is the kind of the entries in which workers report that they renewed their leases.
const renewed fleettest.Kind = "renewed"

func (s *setup) ledger() string { return filepath.Join(s.Dir, "ledger.jsonl") }

// note appends an entry to the ledger. A single write is whole, or not there.
func (s *setup) note(e *entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return appendTo(s.ledger(), string(line)+"\n")
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // the write says what counts
	_, err = f.WriteString(text)
	return err
}

// readLedger reads the entries of the ledger.
func (s *setup) readLedger() ([]entry, error) {
	text, err := os.ReadFile(s.ledger())
	if err != nil {
		return nil, err
	}
	var all []entry
	for line := range bytes.Lines(text) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d of the ledger: %w", len(all)+1, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// noteAct writes what the agent does.
func (s *setup) noteAct(k fleettest.Kind, text string, asked time.Time) error {
	line := fleettest.Line{Time: time.Now(), Kind: k, Job: s.Job, Attempt: s.Attempt, Session: s.Session, Text: text}
	return s.note(&entry{Line: line, PID: os.Getpid(), Asked: asked})
}

// pace returns how many tools the agent of a job starts, and how long it thinks before each.
func (s *setup) pace(job string) (tools int, think time.Duration) {
	return 1 + int(job[0])%4, time.Duration(20+int(job[1])%100) * time.Millisecond * time.Duration(max(1, s.Slow))
}

// act acts as an agent: it takes a prompt, starts some tools if its worker lets it, and finishes. It ends
// when its worker does not answer any more.
func (s *setup) act() error {
	worker := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if line, err := worker.ReadString('\n'); err != nil || line != "prompt\n" {
		return err // the worker has ended before
	}
	if err := s.noteAct(fleettest.Prompted, "", time.Time{}); err != nil {
		return err
	}
	if err := s.store("prompt"); err != nil {
		return err
	}
	think := time.NewTicker(s.Think)
	defer think.Stop()
	for range s.Tools {
		<-think.C
		fmt.Println("ask")
		line, err := worker.ReadString('\n')
		if err != nil {
			return nil // the worker ended
		}
		asked, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(line))
		if err != nil {
			return err
		}
		if err := s.noteAct(fleettest.Acted, "", asked); err != nil {
			return err
		}
	}
	if err := s.noteAct(fleettest.Finished, s.text(), time.Time{}); err != nil {
		return err
	}
	if err := s.store("finished"); err != nil {
		return err
	}
	fmt.Println("finished")
	return nil
}

// text is the result of an attempt.
func (s *setup) text() string { return fmt.Sprintf("The result of attempt %d.", s.Attempt) }

// store appends to the agent's stored session.
func (s *setup) store(what string) error { return appendTo(s.sessionFile(s.Session), what+"\n") }

func (s *setup) sessionFile(session string) string {
	return filepath.Join(s.Dir, "sessions", session)
}

// traces returns what is stored of an attempt.
func (s *setup) traces(session string, attempt int) (*fleet.Traces, error) {
	text, err := os.ReadFile(s.sessionFile(session))
	if os.IsNotExist(err) {
		return new(fleet.Traces), nil
	}
	if err != nil {
		return nil, err
	}
	t := &fleet.Traces{Stored: strings.HasPrefix(string(text), "prompt\n")}
	if strings.HasSuffix(string(text), "finished\n") {
		t.Finished = &fleet.Result{Text: (&setup{Attempt: attempt}).text()}
	}
	return t, nil
}
