package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// largeSessions is the number of sessions that a server has open at once.
const largeSessions = 5

// measureWeb measures the web viewer, as a page would use it.
func measureWeb(ctx context.Context, o options) ([]*feeling, error) {
	return measureVisit(ctx, o, "serving", func(v *visit) []visitPart {
		return []visitPart{
			{"a list", v.webList}, {"a long session", v.webSession}, {"a growing session", v.webGrowing},
			{"several sessions", v.webMemory}, {"a search", v.webSearch}, {"nothing to do", v.webIdle},
		}
	})
}

// A site is a running server with a logged-in user.
type site struct {
	cmd     *exec.Cmd
	address string // ends in a slash
	token   string
}

// serve starts a server, notes how long that took, and logs in.
func (v *visit) serve(ctx context.Context, config string) (*site, error) {
	s, took, err := v.start(ctx, config)
	if err == nil {
		v.add("clew serve, listening", "ms", 30, milliseconds(took))
	}
	return s, err
}

// start starts a server, and logs in. It returns how long it took until the server listened.
func (v *visit) start(ctx context.Context, config string) (*site, time.Duration, error) {
	cmd := exec.CommandContext(ctx, v.path, "serve", "--port", "0", "--json")
	cmd.Env = append(v.environment(config), "XDG_STATE_HOME="+v.dir, "XDG_RUNTIME_DIR="+v.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	s := &site{cmd: cmd}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	took := time.Since(began)
	if err != nil {
		return nil, 0, errors.Join(err, s.stop())
	}
	if err := s.login(ctx, line); err != nil {
		return nil, 0, errors.Join(err, s.stop())
	}
	return s, took, nil
}

// login exchanges the code that the server has printed for a token.
func (s *site) login(ctx context.Context, printed []byte) error {
	var at struct{ URL, Code string }
	if err := json.Unmarshal(printed, &at); err != nil {
		return err
	}
	s.address, _, _ = strings.Cut(at.URL, "#")
	body, err := json.Marshal(map[string]string{"code": at.Code})
	if err != nil {
		return err
	}
	var got struct{ Token string }
	_, err = s.call(ctx, "POST", "login", body, &got)
	s.token = got.Token
	return err
}

// stop ends the server.
func (s *site) stop() error {
	_ = s.cmd.Process.Signal(os.Interrupt) // it may have ended
	done := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer done.Stop()
	return s.cmd.Wait()
}

// request asks the server for something.
func (s *site) request(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.address+"api/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000)) // for the error
		return nil, errors.Join(fmt.Errorf("%s %s: %s %s", method, path, response.Status, text), response.Body.Close())
	}
	return response, nil
}

// call asks for an answer in JSON, and returns how long it took, in milliseconds.
func (s *site) call(ctx context.Context, method, path string, body []byte, into any) (float64, error) {
	began := time.Now()
	response, err := s.request(ctx, method, path, body)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(response.Body)
	took := time.Since(began)
	if err = errors.Join(err, response.Body.Close()); err == nil {
		err = json.Unmarshal(text, into)
	}
	return milliseconds(took), err
}

// A listing is a part of a list that the server has sent.
type listing struct {
	Total int
	Rows  []struct{ ID string }
}

// rows asks for rows, and checks that there are some.
func (s *site) rows(ctx context.Context, path string) (*listing, float64, error) {
	var got listing
	took, err := s.call(ctx, "GET", path, nil, &got)
	if err == nil && len(got.Rows) == 0 {
		err = fmt.Errorf("%s: no rows", path)
	}
	return &got, took, err
}

// sessionPath is the path of something of a session, which the name of its file says.
func sessionPath(file, what string) string {
	return "sessions/" + strings.TrimSuffix(filepath.Base(file), ".jsonl") + "/" + what
}

// webList asks for the first of very many sessions.
func (v *visit) webList(ctx context.Context) error {
	for range v.rounds {
		s, err := v.serve(ctx, v.crowd())
		if err != nil {
			return err
		}
		_, took, err := s.rows(ctx, "sessions?tab=recent&n=100")
		v.add(fmt.Sprintf("%d sessions, the first rows", v.crowded), "ms", 150, took)
		if err == nil {
			_, took, err = s.rows(ctx, "sessions?tab=recent&n=100&filter=crow")
			v.add(fmt.Sprintf("%d sessions, filtered", v.crowded), "ms", 150, took)
		}
		if err := errors.Join(err, s.stop()); err != nil {
			return err
		}
	}
	return nil
}

// webSession opens the largest session twice, and finds a word in it.
func (v *visit) webSession(ctx context.Context) error {
	for range v.rounds {
		s, err := v.serve(ctx, v.agent())
		if err != nil {
			return err
		}
		path := sessionPath(v.truth.Largest, "rows?n=100")
		_, took, err := s.rows(ctx, path)
		v.add("57 MB session, first rows", "ms", 400, took)
		if err == nil {
			_, took, err = s.rows(ctx, path)
			v.add("57 MB session, first rows, again", "ms", 50, took)
		}
		if err == nil {
			var found struct{ Count int }
			took, err = s.call(ctx, "GET", sessionPath(v.truth.Largest, "find?q="+searched), nil, &found)
			v.add("57 MB session, find", "ms", 200, took)
			if err == nil && found.Count == 0 {
				err = errors.New("nothing was found")
			}
		}
		if err := errors.Join(err, s.stop()); err != nil {
			return err
		}
	}
	return nil
}

// webGrowing appends to the largest session, and requests the rows that an event announces.
func (v *visit) webGrowing(ctx context.Context) error {
	s, err := v.serve(ctx, v.agent())
	if err != nil {
		return err
	}
	first, _, err := s.rows(ctx, sessionPath(v.truth.Largest, "rows?n=1"))
	if err != nil {
		return errors.Join(err, s.stop())
	}
	events, err := s.watch(ctx, v.truth.Largest)
	if err != nil {
		return errors.Join(err, s.stop())
	}
	total := first.Total
	for i := range 3 * v.rounds {
		if err = appendPrompt(v.largest(), fmt.Sprintf("appended%d", i)); err != nil {
			break
		}
		began := time.Now()
		if total, err = s.grown(ctx, events, v.truth.Largest, total); err != nil {
			break
		}
		v.add("10 KB appended to 57 MB, with a page", "ms", 200, milliseconds(time.Since(began)))
	}
	_ = events.Close() // it is not read any more
	return errors.Join(err, s.stop())
}

// An eventStream is the stream of events that a page gets.
type eventStream struct {
	io.Closer
	lines *bufio.Scanner
}

// watch opens the stream of events, and waits until it is there.
func (s *site) watch(ctx context.Context, file string) (*eventStream, error) {
	id, _, _ := strings.Cut(strings.TrimPrefix(sessionPath(file, ""), "sessions/"), "/")
	response, err := s.request(ctx, "GET", "events?watch="+url.QueryEscape(id), nil)
	if err != nil {
		return nil, err
	}
	return &eventStream{Closer: response.Body, lines: bufio.NewScanner(response.Body)}, nil
}

// grown waits for events until a session has more rows, and asks for the last one.
func (s *site) grown(ctx context.Context, events *eventStream, file string, total int) (int, error) {
	for events.lines.Scan() {
		data, ok := strings.CutPrefix(events.lines.Text(), "data:")
		var said struct{ Total int }
		if !ok || json.Unmarshal([]byte(data), &said) != nil || said.Total == 0 || said.Total == total {
			continue
		}
		_, _, err := s.rows(ctx, sessionPath(file, fmt.Sprintf("rows?from=%d&n=100", said.Total-1)))
		return said.Total, err
	}
	return total, errors.Join(errors.New("the stream has ended"), events.lines.Err())
}

// webMemory opens the largest sessions.
func (v *visit) webMemory(ctx context.Context) error {
	files, err := largestFiles(filepath.Join(v.agent(), "projects"), largeSessions)
	if err != nil {
		return err
	}
	s, err := v.serve(ctx, v.agent())
	if err != nil {
		return err
	}
	for _, file := range files {
		if _, _, err := s.rows(ctx, sessionPath(file, "rows?n=100")); err != nil {
			return errors.Join(err, s.stop())
		}
	}
	v.add(fmt.Sprintf("%d large sessions, memory", largeSessions), "MB", 350, peakMemory(s.cmd.Process.Pid))
	return s.stop()
}

// largestFiles returns the paths of the largest transcripts.
func largestFiles(projects string, n int) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(projects, "*", "*.jsonl"))
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, path := range found {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		sizes[path] = info.Size()
	}
	slices.SortFunc(found, func(a, b string) int { return int(sizes[b] - sizes[a]) })
	return found[:min(n, len(found))], nil
}

// webSearch searches all sessions. Until the index is there, results are incomplete, and are not measured.
func (v *visit) webSearch(ctx context.Context) error {
	s, err := v.serve(ctx, v.agent())
	if err != nil {
		return err
	}
	type answer struct {
		Total    int
		Indexing *int64
	}
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		var got answer
		_, err := s.call(ctx, "GET", "search?q="+searched, nil, &got)
		if err == nil && got.Indexing == nil {
			break
		}
		if err == nil && time.Now().After(end) {
			err = fmt.Errorf("no index after %v", patience)
		}
		if err != nil {
			return errors.Join(err, s.stop())
		}
	}
	for range 3 * v.rounds {
		var got answer
		took, err := s.call(ctx, "GET", "search?q="+searched, nil, &got)
		if err != nil || got.Total == 0 {
			return errors.Join(err, fmt.Errorf("%d results", got.Total), s.stop())
		}
		v.add("search", "ms", 60, took)
	}
	return s.stop()
}

// webIdle leaves a server alone that has very many sessions and a page.
func (v *visit) webIdle(ctx context.Context) error {
	s, err := v.serve(ctx, v.crowd())
	if err != nil {
		return err
	}
	got, _, err := s.rows(ctx, "sessions?tab=recent&n=100")
	if err == nil {
		last := ""
		for _, row := range got.Rows {
			if !strings.HasPrefix(row.ID, "day:") { // the heading of a day
				last = row.ID
			}
		}
		var events *eventStream
		if events, err = s.watch(ctx, last); err == nil {
			v.add(fmt.Sprintf("%d sessions and a page, CPU in ten minutes in which nothing happens", v.crowded), "s", 0.5, s.idle())
			_ = events.Close() // it is not read any more
		}
	}
	return errors.Join(err, s.stop())
}

// idle returns the processor time that the server would use in ten minutes, in seconds. It first waits for
// what the server does in the background, such as reading the sessions of the list.
func (s *site) idle() float64 {
	pid := s.cmd.Process.Pid
	for end := time.Now().Add(patience); time.Now().Before(end); {
		before := processorTime(pid)
		time.Sleep(5 * time.Second)
		if processorTime(pid)-before < 10*time.Millisecond {
			break
		}
	}
	before := processorTime(pid)
	time.Sleep(idleTime)
	return (processorTime(pid) - before).Seconds() * 600 / idleTime.Seconds()
}

func (r *report) writeWeb(b *strings.Builder) { writeFeelings(b, "clew serve", r.Web) }
