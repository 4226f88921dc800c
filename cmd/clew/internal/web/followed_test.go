package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A page learns the state of a watched session as soon as it is known, then the growth of its file
// and changes of the list.
func TestStreamOfFiles(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	defer s.end() // the streams
	id := "f2000000-0000-4000-8000-000000000001"
	w := &entryWriter{cwd: "/home/dev/stream"}
	w.prompt("Go on")
	dir := project("-home-dev-stream")
	if err := writeSession(dir, id, w.String(), testNow); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+api+"events?watch="+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "example.com"
	req.Header.Set("Authorization", "Bearer "+s.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	first := nextRows(t, lines, id, 1)
	w.answer("end_turn", text("Done."))
	if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(w.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if second := nextRows(t, lines, id, first.Total+1); second.Revision <= first.Revision {
		t.Errorf("%+v after %+v", second, first)
	}
}

// nextRows reads events until a session has at least a number of rows.
func nextRows(t *testing.T, lines *bufio.Scanner, id string, least int) (change rowsChange) {
	t.Helper()
	rows := false
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			rows = name == rowsEvent
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && rows {
			if err := json.Unmarshal([]byte(data), &change); err != nil || change.Session != id {
				t.Fatalf("%s: %v", data, err)
			}
			if change.Total >= least {
				return change
			}
		}
	}
	t.Fatalf("the stream ends: %v", lines.Err())
	return change
}

// A session that several streams watch is followed once, and for some seconds after the last
// stream.
func TestFollowedIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreamTest(t)
		s.followed.closed = true // only held sessions count
		one, two := s.followed.hold([]string{watchedID}), s.followed.hold([]string{watchedID, otherID})
		shared := s.followed.sessions[watchedID]
		if shared.streams != 2 || s.followed.rest.streams != 2 || len(s.followed.sessions) != 2 {
			t.Fatalf("%+v", s.followed.sessions)
		}
		stopped := false
		shared.stop = func() { stopped = true }
		one()
		two()
		time.Sleep(lingering - time.Second)
		again := s.followed.hold([]string{watchedID}) // the page comes back
		time.Sleep(time.Hour)
		synctest.Wait()
		if stopped || s.followed.sessions[watchedID] != shared || s.followed.sessions[otherID] != nil {
			t.Errorf("after a pause: %+v", s.followed.sessions)
		}
		again()
		time.Sleep(lingering)
		synctest.Wait()
		if !stopped || len(s.followed.sessions) != 0 || s.followed.rest != nil {
			t.Errorf("at the end: %+v", s.followed.sessions)
		}
	})
}

// A stream that starts late gets the revision of sessions that others already watch.
func TestStreamBeginsWithState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreamTest(t)
		release := s.followed.hold([]string{watchedID})
		defer release()
		s.followed.tookRows(s.followed.sessions[watchedID], rowsChange{Session: watchedID, Revision: 7, First: 3, Total: 4, Ended: "Done."})
		s.followed.tookList(listChange{2})
		r, stop := s.open(watchedID, "")
		s.expectEvents(r, "ready", rowsText(watchedID, 7, 0, 4), `list {"revision":2}`)
		stop()
		time.Sleep(2 * lingering)
	})
}

// Running agents are reported when they change.
func TestAgentStates(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newServer(t)
	if err := s.followed.followRunning(ctx); err == nil {
		t.Error("it goes on after its end")
	}
	if events, _, _ := s.feed.since(place{}); len(events) > 0 {
		t.Errorf("%d events without a change", len(events))
	}
}

// A request that comes after the server has read a new state of an agent gets that state, however new the last one is.
func TestNoOlderAgentStates(t *testing.T) { // not parallel: it sets the environment
	root := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", root)
	const id = "f2000000-0000-4000-8000-000000000002"
	w := &entryWriter{cwd: "/home/dev/shop"}
	w.prompt("Go on")
	w.answer("end_turn", text("Done."))
	if err := writeSession(filepath.Join(root, "projects", "-home-dev-shop"), id, w.String(), testNow); err != nil {
		t.Fatal(err)
	}
	d := newDataServer(t)
	write := func(status string) {
		t.Helper()
		path := filepath.Join(root, "sessions", fmt.Sprintf("%d.json", os.Getpid()))
		process := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":"/home/dev/shop","status":%q}`, os.Getpid(), id, status)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(process), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want ...string) {
		t.Helper()
		var got []string
		var answer struct {
			Agents []runningAgent `json:"agents"`
		}
		d.get("running", &answer)
		for _, a := range answer.Agents {
			got = append(got, a.State)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	expect()
	write("busy")
	expect() // the last state counts for a second, and the time stands still
	if w := d.do(http.MethodPost, "sessions/"+id+"/delete", "{}"); w.Code != http.StatusConflict {
		t.Errorf("a session in which an agent works is deleted: %d %s", w.Code, w.Body)
	}
	expect("working")
	write("waiting")
	expect("working")
	d.followed.readRunning(t.Context())
	expect("waits for you")
}
