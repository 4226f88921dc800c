package drive_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/cmd/clew/internal/drive/drivetest"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A fixture is agents in memory, and a project with a session.
type fixture struct {
	*drive.Agents
	sim     *drivetest.Agent
	dir     string
	keep    string
	project string
	n       int
}

const oldSession = "11111111-2222-4333-8444-555555555555"

func newFixture(t *testing.T, change func(*drive.Options)) *fixture {
	t.Helper()
	f := &fixture{sim: new(drivetest.Agent), dir: t.TempDir(), keep: filepath.Join(t.TempDir(), "prompts")}
	root := t.TempDir()
	writeOldSession(t, root, "-p", f.dir)
	opts := f.options(root)
	opts.Keep = f.keep
	if change != nil {
		change(&opts)
	}
	f.Agents = drive.New(opts)
	t.Cleanup(func() { f.Close() })
	projects, err := f.Projects(t.Context())
	if err != nil || len(projects) == 0 || projects[0].Dir != f.dir {
		t.Fatalf("projects: %v %v", projects, err)
	}
	f.project = projects[0].ID
	return f
}

// options returns the options for agents that find the sessions of a folder.
func (f *fixture) options(root string) drive.Options {
	return drive.Options{
		Connect: f.sim.Connect,
		Names: func(ctx context.Context, project string) ([]sessions.SessionInfo, error) {
			return sessions.Names(ctx, &sessions.ListOptions{Store: sessions.NewFolder(root), ProjectName: project})
		},
		Running: func(context.Context) ([]sessions.RunningSession, error) { return nil, nil },
	}
}

// writeOldSession writes the session oldSession of a directory to a project of a folder.
func writeOldSession(t *testing.T, root, project, dir string) {
	t.Helper()
	path := filepath.Join(root, project, oldSession+".jsonl")
	line := fmt.Sprintf(`{"type":"user","uuid":"u","cwd":%q,"sessionId":%q,"timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"Hi"}}`, dir, oldSession)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(line+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// id returns another ID for a request.
func (f *fixture) id() string {
	f.n++
	return fmt.Sprintf("request-%d", f.n)
}

// start starts an agent with a prompt, or "".
func (f *fixture) start(t *testing.T, prompt string) *drive.Agent {
	t.Helper()
	s, err := f.Start(t.Context(), drive.StartRequest{ID: f.id(), Project: f.project, Prompt: prompt})
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.Agent(s.Agent)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return g
}

// bubble runs a test in which time does not pass by itself.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func wantKind(t *testing.T, err error, kind drive.Kind, words string) {
	t.Helper()
	e, ok := errors.AsType[*drive.Error](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Reason, words) {
		t.Errorf("error %v, want kind %d with %q", err, kind, words)
	}
}

// A prompt that is sent twice counts once, also at the same time, and gets the same response.
func TestPromptTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		g := f.start(t, "")
		var both sync.WaitGroup
		var got [2]drive.Prompt
		for i := range got {
			both.Go(func() {
				p, err := g.Prompt(t.Context(), drive.PromptRequest{ID: "prompt-one", Text: "say hello"})
				if err != nil {
					t.Error(err)
				}
				got[i] = p
			})
		}
		both.Wait()
		synctest.Wait()
		if got[0].ID != "prompt-one" || got[0] != got[1] {
			t.Errorf("responses %+v", got)
		}
		if diff := cmp.Diff([]string{"say hello"}, f.sim.Prompts()); diff != "" {
			t.Errorf("prompts (-want +got):\n%s", diff)
		}
		_, err := g.Prompt(t.Context(), drive.PromptRequest{ID: "prompt-one", Text: "say something else"})
		wantKind(t, err, drive.Conflict, "used for another request")
		again, err := g.Prompt(t.Context(), drive.PromptRequest{ID: "prompt-one", Text: "say hello"})
		if err != nil || again != got[0] {
			t.Errorf("after the turn: %+v %v", again, err)
		}
		if s := g.Status(); s.State != drive.Idle || len(s.Queue) != 0 || len(s.Sent) != 1 || s.Cost == 0 {
			t.Errorf("status %+v", s)
		}
	})
}

// A request continues when its sender is gone, and can be repeated.
func TestSenderDies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req := drive.StartRequest{ID: "start-one", Project: f.project, Prompt: "say hello"}
		if _, err := f.Start(ctx, req); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		s, err := f.Start(t.Context(), req)
		if err != nil || len(f.List()) != 1 || s.Agent != f.List()[0].Agent {
			t.Errorf("%+v %v", s, err)
		}
		if diff := cmp.Diff([]string{"say hello"}, f.sim.Prompts()); diff != "" {
			t.Errorf("prompts (-want +got):\n%s", diff)
		}
	})
}

// Prompts wait in their order, can be taken back, and continue after an interrupt.
func TestQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		g := f.start(t, "wait")
		for _, text := range []string{"say one", "say two", "say three"} {
			if _, err := g.Prompt(t.Context(), drive.PromptRequest{ID: "prompt-" + text[4:], Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if s := g.Status(); s.State != drive.Working || len(s.Queue) != 4 || s.Queue[0].State != "sent" || s.Queue[1].State != "queued" {
			t.Errorf("status %+v", s)
		}
		p, err := g.Withdraw(t.Context(), drive.WithdrawRequest{ID: f.id(), Prompt: "prompt-two"})
		if err != nil || p.Text != "say two" {
			t.Errorf("withdrawn: %+v %v", p, err)
		}
		_, err = g.Withdraw(t.Context(), drive.WithdrawRequest{ID: f.id(), Prompt: "prompt-two"})
		wantKind(t, err, drive.NotFound, "not in the queue")
		_, err = g.Withdraw(t.Context(), drive.WithdrawRequest{ID: f.id(), Prompt: g.Status().Queue[0].ID})
		wantKind(t, err, drive.Conflict, "was sent")
		if _, err := g.Interrupt(t.Context(), drive.InterruptRequest{ID: f.id()}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"wait", "say one", "say three"}, f.sim.Prompts()); diff != "" {
			t.Errorf("prompts (-want +got):\n%s", diff)
		}
	})
}

// When the agent dies, prompts that it may have seen are lost, the rest is unsent, and both return.
func TestAgentDies(t *testing.T) {
	for _, step := range []string{"die", "die later", "wait", "ask make", "choose"} {
		t.Run(step, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, nil)
				g := f.start(t, "wait")
				for i, text := range []string{step, "say two"} {
					if _, err := g.Prompt(t.Context(), drive.PromptRequest{ID: fmt.Sprintf("prompt-%d", i), Text: text}); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := g.Interrupt(t.Context(), drive.InterruptRequest{ID: f.id()}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				f.sim.Kill()
				synctest.Wait()
				s := g.Status()
				if s.State != drive.Ended || s.Why == "" || len(s.Questions) != 0 || s.Text != "" || len(s.Queue) != 0 {
					t.Errorf("status %+v", s)
				}
				want := []drive.Prompt{{ID: "prompt-0", Text: step, State: "lost"}, {ID: "prompt-1", Text: "say two", State: "unsent"}}
				if diff := cmp.Diff(want, s.Returned, cmp.Comparer(samePrompt)); diff != "" {
					t.Errorf("returned (-want +got):\n%s", diff)
				}
				_, err := g.Prompt(t.Context(), drive.PromptRequest{ID: f.id(), Text: "say three"})
				wantKind(t, err, drive.Gone, "has ended")
				if f.Driving(s.Session) != "" {
					t.Error("it is driven")
				}
			})
		})
	}
}

func samePrompt(a, b drive.Prompt) bool {
	return a.ID == b.ID && a.Text == b.Text && a.State == b.State
}

// An agent that can't be started returns the prompt.
func TestStartFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.sim.Fails = errors.New("clew: no agent was found")
		g := f.start(t, "say hello")
		s := g.Status()
		if s.State != drive.Ended || s.Why != "no agent was found" || len(s.Returned) != 1 || s.Returned[0].State != "unsent" {
			t.Errorf("status %+v", s)
		}
	})
}

// Only known directories, sessions and modes are used.
func TestStartRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var running []sessions.RunningSession
		f := newFixture(t, func(o *drive.Options) {
			o.Running = func(context.Context) ([]sessions.RunningSession, error) { return running, nil }
		})
		start := func(req drive.StartRequest) error {
			req.ID = f.id()
			_, err := f.Start(t.Context(), req)
			synctest.Wait()
			return err
		}
		wantKind(t, start(drive.StartRequest{}), drive.Invalid, "a project or a session")
		wantKind(t, start(drive.StartRequest{Project: f.dir}), drive.NotFound, "no such project")
		wantKind(t, start(drive.StartRequest{Session: f.project}), drive.NotFound, "no such session")
		wantKind(t, start(drive.StartRequest{Project: f.project, Mode: "bypassPermissions"}), drive.Forbidden, "bypassPermissions")
		wantKind(t, start(drive.StartRequest{Project: f.project, Mode: "dontAsk"}), drive.Forbidden, "dontAsk")
		wantKind(t, start(drive.StartRequest{Project: f.project, Model: "--flag"}), drive.Invalid, "model")
		wantKind(t, start(drive.StartRequest{Project: f.project, Images: [][]byte{[]byte("<svg/>")}}), drive.Invalid, "image 1")
		running = []sessions.RunningSession{{ID: oldSession, PID: 7, Entrypoint: "cli"}}
		wantKind(t, start(drive.StartRequest{Session: oldSession}), drive.Conflict, "open in another process (process 7, in a terminal)")
		if n := len(f.sim.Starts()); n != 0 {
			t.Fatalf("%d agents were started", n)
		}
		if err := start(drive.StartRequest{Session: oldSession, Fork: true}); err != nil {
			t.Error(err)
		}
		running = nil
		if err := start(drive.StartRequest{Session: oldSession}); err != nil {
			t.Error(err)
		}
		wantKind(t, start(drive.StartRequest{Session: oldSession}), drive.Conflict, "driven here already")
		forked, continued := f.sim.Starts()[0], f.sim.Starts()[1]
		if !forked.Session.Fork || forked.Session.Resume != oldSession || forked.Session.ID == "" || forked.Dir != f.dir ||
			continued.Session.Fork || continued.Session.ID != "" || continued.PermissionMode != clew.PermissionModeDefault {
			t.Errorf("options %+v and %+v", forked, continued)
		}
		for err := error(nil); err == nil; {
			if err = start(drive.StartRequest{Project: f.project}); err != nil {
				wantKind(t, err, drive.TooMany, "8 agents")
			}
		}
	})
}

// A session whose ID several projects have is continued where it was written, and a session that
// the agent would not find there is refused.
func TestSameIDInProjects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		root, dir := t.TempDir(), t.TempDir()
		own, err := sessions.ProjectName(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, project := range []string{own, "-copied"} {
			writeOldSession(t, root, project, dir)
		}
		f := newFixture(t, nil)
		f.Agents = drive.New(f.options(root))
		t.Cleanup(func() { f.Close() })
		start := func(project string) (drive.Status, error) {
			return f.Start(t.Context(), drive.StartRequest{ID: f.id(), Session: oldSession + "@" + project})
		}
		_, err = start("-copied")
		wantKind(t, err, drive.Conflict, "would continue another one")
		_, err = start("-other")
		wantKind(t, err, drive.NotFound, "no such session")
		s, err := start(own)
		if err != nil || s.Session != oldSession+"@"+own || s.Dir != dir {
			t.Fatalf("%+v, %v", s, err)
		}
		synctest.Wait()
		if opts := f.sim.Starts()[0]; opts.Session.Resume != oldSession || opts.Dir != dir {
			t.Errorf("the agent was started with %+v", opts)
		}
		if f.Driving(oldSession) != s.Agent || f.Driving(oldSession+"@-copied") != s.Agent {
			t.Error("the session is not driven")
		}
		_, err = start(own)
		wantKind(t, err, drive.Conflict, "driven here already")
	})
}

// A session of the second of two agent directories is continued there.
func TestSecondDirectory(t *testing.T) {
	config, dir := t.TempDir(), t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir()+","+config)
	root := filepath.Join(config, "projects")
	project, err := sessions.ProjectName(dir)
	if err != nil {
		t.Fatal(err)
	}
	writeOldSession(t, root, project, dir)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.Agents = drive.New(f.options(root))
		t.Cleanup(func() { f.Close() })
		if s, err := f.Start(t.Context(), drive.StartRequest{ID: f.id(), Session: oldSession}); err != nil {
			t.Fatalf("%+v, %v", s, err)
		}
		synctest.Wait()
		if opts := f.sim.Starts()[0]; opts.Session.Resume != oldSession || !slices.Contains(opts.Env, "CLAUDE_CONFIG_DIR="+config) {
			t.Errorf("the agent was started with %+v", opts)
		}
	})
}

// A page changes the mode and the model within what the server was started with.
func TestModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[clew.PermissionMode][]clew.PermissionMode{
		"":            {"default", "plan", "acceptEdits"},
		"plan":        {"plan"},
		"default":     {"default", "plan"},
		"acceptEdits": {"acceptEdits", "plan", "default"},
		"dontAsk":     {"dontAsk", "plan", "default", "acceptEdits"},
	} {
		agents := drive.New(drive.Options{Mode: mode})
		if diff := cmp.Diff(want, agents.Modes()); diff != "" {
			t.Errorf("%q: %s", mode, diff)
		}
		agents.Close()
	}
}

// A page can't loosen what the server was started with.
func TestModeIsNotLoosened(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, func(o *drive.Options) { o.Mode = "plan" })
		_, err := f.Start(t.Context(), drive.StartRequest{ID: f.id(), Project: f.project, Mode: "default"})
		wantKind(t, err, drive.Forbidden, "default")
	})
}

func TestModeAndModel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, func(o *drive.Options) { o.Mode = "dontAsk" })
		g := f.start(t, "")
		for mode, ok := range map[clew.PermissionMode]bool{"plan": true, "dontAsk": true, "bypassPermissions": false, "auto": false, "": false} {
			s, err := g.SetMode(t.Context(), drive.ModeRequest{ID: f.id(), Mode: mode})
			if (err == nil) != ok || ok && s.Mode != mode {
				t.Errorf("%q: %v %v", mode, s.Mode, err)
			}
		}
		if s, err := g.SetModel(t.Context(), drive.ModelRequest{ID: f.id(), Model: "opus"}); err != nil || s.Model != "opus" {
			t.Errorf("%v %v", s.Model, err)
		}
		if diff := cmp.Diff([]string{"default", "opus"}, f.Models()); diff != "" {
			t.Errorf("models (-want +got):\n%s", diff)
		}
	})
}

// The mode and the model are shown as the agent has them, although it answers the first change after the second one.
func TestSettingsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		g := f.start(t, "")
		var made []string // as the agent made them
		held := make(chan struct{})
		f.sim.Hold = func(m *wire.ControlRequestMessage) <-chan struct{} {
			made = append(made, m.Request.Raw())
			if len(made)%2 == 1 {
				return held
			}
			return nil
		}
		both := func(set func(value string) error, values ...string) {
			made, held = nil, make(chan struct{})
			var all sync.WaitGroup
			for _, value := range values {
				all.Go(func() {
					if err := set(value); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			close(held)
			all.Wait()
		}
		both(func(mode string) error {
			_, err := g.SetMode(t.Context(), drive.ModeRequest{ID: f.id(), Mode: clew.PermissionMode(mode)})
			return err
		}, "plan", "acceptEdits")
		if mode := g.Status().Mode; len(made) != 2 || !strings.Contains(made[1], `"`+string(mode)+`"`) {
			t.Errorf("the mode is shown as %s after %s", mode, made)
		}
		both(func(model string) error {
			_, err := g.SetModel(t.Context(), drive.ModelRequest{ID: f.id(), Model: model})
			return err
		}, "opus", "haiku")
		if model := g.Status().Model; len(made) != 2 || !strings.Contains(made[1], `"`+model+`"`) {
			t.Errorf("the model is shown as %s after %s", model, made)
		}
	})
}

// An agent that does not answer a change is not waited for longer by the next ones.
func TestSettingsTimeOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		g := f.start(t, "")
		f.sim.Hold = func(*wire.ControlRequestMessage) <-chan struct{} { return make(chan struct{}) }
		began := time.Now()
		var all sync.WaitGroup
		for range 5 {
			id := f.id()
			all.Go(func() {
				_, err := g.SetMode(t.Context(), drive.ModeRequest{ID: id, Mode: "plan"})
				wantKind(t, err, drive.Failed, "does not answer")
			})
		}
		all.Wait()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// A rewind has a preview, and is refused while the agent works.
func TestRewind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		g := f.start(t, "say hello")
		to := g.Status().Sent[0].ID
		preview, err := g.Rewind(t.Context(), drive.RewindRequest{ID: f.id(), To: to, Preview: true})
		want := drive.Rewound{Files: []string{"a.go"}, Insertions: 1, Deletions: 2, Prompt: "say hello", Digest: preview.Digest}
		if diff := cmp.Diff(want, preview); diff != "" || err != nil {
			t.Errorf("preview: %v (-want +got)\n%s", err, diff)
		}
		if _, err := g.Prompt(t.Context(), drive.PromptRequest{ID: f.id(), Text: "wait"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, err = g.Rewind(t.Context(), drive.RewindRequest{ID: f.id(), To: to})
		wantKind(t, err, drive.Conflict, "not idle")
		if _, err := g.Interrupt(t.Context(), drive.InterruptRequest{ID: f.id()}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, err = g.Rewind(t.Context(), drive.RewindRequest{ID: f.id(), To: to, Digest: preview.Digest}) // there was a turn since
		wantKind(t, err, drive.Conflict, "has changed")
		stale, ok := errors.AsType[*drive.Error](err)
		if !ok || stale.Preview == nil || len(g.Status().Sent) != 2 {
			t.Fatalf("a stale rewind: %+v, sent %+v", stale, g.Status().Sent)
		}
		done, err := g.Rewind(t.Context(), drive.RewindRequest{ID: f.id(), To: to, Digest: stale.Preview.Digest})
		if err != nil || done.Prompt != "say again" || len(g.Status().Sent) != 0 {
			t.Errorf("rewound: %+v %v, sent %+v", done, err, g.Status().Sent)
		}
		_, err = g.Rewind(t.Context(), drive.RewindRequest{ID: f.id(), To: to})
		wantKind(t, err, drive.NotFound, "not sent")
	})
}

// The end of the server ends the agents, whatever they do, and returns the open sessions.
func TestServerEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		var open []string
		for _, prompt := range []string{"", "wait", "ask make", "choose"} {
			open = append(open, f.start(t, prompt).Status().Session)
		}
		ended := f.start(t, "die")
		var got []string
		for _, s := range f.Close() {
			got = append(got, s.Session)
		}
		if diff := cmp.Diff(open, got); diff != "" || ended.Status().State != drive.Ended {
			t.Errorf("open sessions (-want +got):\n%s", diff)
		}
		if n := f.sim.Alive(); n != 0 {
			t.Errorf("%d agents are left", n)
		}
		_, err := f.Start(t.Context(), drive.StartRequest{ID: f.id(), Project: f.project})
		wantKind(t, err, drive.Gone, "ending")
	})
}

// A reader that is slow gets the newest state of each agent, and text is merged.
func TestWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		slow := f.Watch()
		defer slow.Close()
		g := f.start(t, "say "+strings.Repeat("word ", 1000))
		states := 0
		quick := f.Watch()
		defer quick.Close()
		for {
			list, err := quick.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			states++
			if len(list) == 1 && list[0].State == drive.Idle {
				break
			}
		}
		if states > 100 {
			t.Errorf("%d states for an answer of 1000 words", states)
		}
		list, err := slow.Next(t.Context())
		if err != nil || len(list) != 1 || list[0].Agent != g.Status().Agent || list[0].State != drive.Idle {
			t.Errorf("the slow reader got %+v %v", list, err)
		}
	})
}

// Whatever happens in whatever order, each prompt that was accepted is sent once or not at all, and
// is not forgotten: it was answered, was taken back, or came back.
func TestRandomInterleavings(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) { playRandomly(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func playRandomly(t *testing.T, r *rand.Rand) {
	f := newFixture(t, nil)
	g := f.start(t, "")
	accepted, withdrawn := map[string]string{}, map[string]bool{}
	var returned []drive.Prompt
	texts := []string{"say yes", "ask make", "choose", "wait", "edit nothing"}
	for i := range 40 {
		switch r.IntN(8) {
		case 0, 1, 2:
			req := drive.PromptRequest{ID: fmt.Sprintf("prompt-%d", i), Text: fmt.Sprintf("%s %d", texts[r.IntN(len(texts))], i)}
			for range 1 + r.IntN(3) {
				if p, err := g.Prompt(t.Context(), req); err == nil {
					accepted[p.ID] = req.Text
				}
			}
		case 3:
			if s := g.Status(); len(s.Queue) > 0 {
				id := s.Queue[r.IntN(len(s.Queue))].ID
				p, err := g.Withdraw(t.Context(), drive.WithdrawRequest{ID: f.id(), Prompt: id})
				switch {
				case err == nil && p.State == "withdrawn":
					withdrawn[id] = true
				case err == nil: // it had come back meanwhile
					returned = append(returned, p)
				}
			}
		case 4:
			_, _ = g.Interrupt(t.Context(), drive.InterruptRequest{ID: f.id()}) // it may have ended
		case 5, 6:
			for _, q := range g.Status().Questions {
				kind := []string{ask.AllowOnce, ask.Denied}[r.IntN(2)]
				req := drive.AnswerRequest{ID: f.id(), Question: q.ID, Digest: q.Digest, Answer: ask.Answer{Kind: kind}}
				_, _ = g.Answer(t.Context(), req) // a choice needs another answer
			}
		case 7:
			if r.IntN(10) == 0 {
				f.sim.Kill()
			}
		}
		if r.IntN(2) == 0 {
			synctest.Wait()
		}
	}
	if _, err := g.End(t.Context(), drive.EndRequest{ID: f.id()}); err != nil {
		t.Fatal(err)
	}
	s := g.Status()
	s.Returned = append(s.Returned, returned...)
	checkPrompts(t, f.sim.Prompts(), s, accepted, withdrawn)
}

func checkPrompts(t *testing.T, read []string, s drive.Status, accepted map[string]string, withdrawn map[string]bool) {
	t.Helper()
	for id, text := range accepted {
		has := func(list []drive.Prompt, state string) bool {
			return slices.ContainsFunc(list, func(p drive.Prompt) bool { return p.ID == id && p.State == state })
		}
		n := 0
		for _, other := range read {
			if other == text {
				n++
			}
		}
		answered, lost, unsent := has(s.Sent, "sent"), has(s.Returned, "lost"), has(s.Returned, "unsent")
		ends := 0
		for _, end := range []bool{answered, lost, unsent, withdrawn[id]} {
			if end {
				ends++
			}
		}
		if n > 1 || ends != 1 || (unsent || withdrawn[id]) && n != 0 || answered && n != 1 {
			t.Errorf("%s was read %d times: answered %v, lost %v, unsent %v, withdrawn %v", text, n, answered, lost, unsent, withdrawn[id])
		}
	}
}

// A session that was opened in a terminal since gets no prompt: the user has it back, and the reason.
func TestOpenedSince(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var opened atomic.Bool
		session := ""
		f := newFixture(t, func(o *drive.Options) {
			o.Running = func(context.Context) ([]sessions.RunningSession, error) {
				if !opened.Load() {
					return nil, nil
				}
				return []sessions.RunningSession{{ID: session, PID: 4711, Entrypoint: "cli"}}, nil
			}
		})
		g := f.start(t, "say hello")
		session = g.Status().Session
		opened.Store(true)
		for _, text := range []string{"say two", "say three"} {
			if _, err := g.Prompt(t.Context(), drive.PromptRequest{ID: f.id(), Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		s := g.Status()
		if len(s.Returned) != 2 || s.Returned[0].State != "unsent" || !strings.Contains(s.Failure, "process 4711, in a terminal") || s.State != drive.Idle {
			t.Errorf("%+v", s)
		}
		if diff := cmp.Diff([]string{"say hello"}, f.sim.Prompts()); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})
}
