package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// must fails the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTailReplaced(t *testing.T) {
	old := ask("1", "") + reply("2", "1") + ask("3", "2")
	tests := map[string]struct {
		change func(t *testing.T, file string)
		want   []string
	}{
		"cut": {
			func(t *testing.T, file string) { must(t, os.Truncate(file, int64(len(ask("1", ""))))) },
			[]string{"ask 1"},
		},
		"emptied": {func(t *testing.T, file string) { must(t, os.Truncate(file, 0)) }, nil},
		"cut and longer than before": {
			func(t *testing.T, file string) {
				put(t, file, ask("7", "")+reply("8", "7")+ask("9", "8")+ask("10", "9"))
			},
			[]string{"ask 7", "say 8", "ask 9", "ask 10"},
		},
		"of the same length": {
			func(t *testing.T, file string) { put(t, file, ask("7", "")+reply("8", "7")+ask("9", "8")) },
			[]string{"ask 7", "say 8", "ask 9"},
		},
		"another file": {
			func(t *testing.T, file string) {
				put(t, file+".new", old+ask("4", "3"))
				must(t, os.Rename(file+".new", file))
			},
			[]string{"ask 1", "say 2", "ask 3", "ask 4"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
				put(t, file, old)
				f := follow(t, file, opts)
				f.want("", "ask 1", "say 2", "ask 3")
				test.change(t, file)
				if u := f.want("", test.want...); !u.Reset || u.Gone || u.Transcript == nil {
					t.Errorf("got %+v", u)
				}
				appendTo(t, file, ask("new", ""))
				for u := f.next(); !strings.HasSuffix(strings.Join(newTexts(u), " "), "ask new"); u = f.next() {
				}
				f.settle()
			})
		})
	}
}

func TestTailGoneAndBack(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, spawn("1", "", "t1", `{}`))
		put(t, agentPath(file, "a"), agentLine("a", ""))
		put(t, sidecar(file, "a"), `{"toolUseId":"t1"}`)
		f := follow(t, file, opts)
		f.want("", "")
		agent := f.want("a", "ask a").Agent

		must(t, os.Remove(agentPath(file, "a")))
		if u := f.want("a"); !u.Gone || u.Transcript != nil || u.Agent != agent || len(f.main.Chunks[0].Items[0].Agents) > 0 {
			t.Errorf("got %+v", u)
		}
		put(t, agentPath(file, "a"), agentLine("b", ""))
		if u := f.want("a", "ask b"); u.Gone || u.Reset || u.Agent != agent {
			t.Errorf("got %+v", u)
		}
		f.settle()

		must(t, os.Remove(file))
		if u := f.want(""); !u.Gone || u.Transcript != nil {
			t.Errorf("got %+v", u)
		}
		put(t, file, ask("2", "")+spawn("1", "2", "t1", `{}`))
		if u := f.want("", "ask 2", ""); u.Gone {
			t.Errorf("got %+v", u)
		}
		f.settle()
	})
}

// An agent that changes its working directory moves the transcript to the directory of another
// project.
func TestTailMoves(t *testing.T) {
	inModes(t, func(t *testing.T, _ string, opts *sessions.TailOptions) {
		const id = "5a76896e-b26d-4278-b16c-ca14ea0507e0"
		dir := t.TempDir()
		old, moved := filepath.Join(dir, "old", id+".jsonl"), filepath.Join(dir, "new", id+".jsonl")
		put(t, old, ask("1", ""))
		put(t, filepath.Join(dir, "new", "other.jsonl"), "")
		where := sessions.TailOptions{Store: sessions.NewFolder(dir), ProjectName: "old"}
		if opts != nil {
			where.PollInterval = opts.PollInterval
		}
		ctx, cancel := context.WithTimeout(t.Context(), tailLimit)
		defer cancel()
		var got []string
		for u, err := range sessions.Tail(ctx, id, &where) {
			must(t, err)
			got = append(got, fmt.Sprint(u.Reset, chunkTexts(u.Transcript.Chunks)))
			switch len(got) {
			case 1:
				must(t, os.Rename(old, moved))
			case 2:
				appendTo(t, moved, reply("2", "1"))
			}
			if len(got) == 3 {
				break
			}
		}
		if diff := cmp.Diff([]string{"false [ask 1]", "true [ask 1]", "false [ask 1 say 2]"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func sidecar(file, id string) string {
	return strings.TrimSuffix(agentPath(file, id), ".jsonl") + ".meta.json"
}

// Neither the file nor its directories have to exist at the start.
func TestTailAppears(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		file = filepath.Join(filepath.Dir(file), "later", "still", filepath.Base(file))
		f := follow(t, file, opts)
		wait := make(chan struct{})
		go func() {
			defer close(wait)
			put(t, file, ask("1", "")+spawn("2", "1", "t1", `{}`))
		}()
		for f.next(); len(f.main.Chunks) < 2; f.next() {
		}
		<-wait
		own := strings.TrimSuffix(file, ".jsonl")
		for _, path := range []string{
			agentPath(file, "a"), filepath.Join(own, "subagents", "workflows", "run1", "agent-w1.jsonl"),
			filepath.Join(own, "subagents", "workflows", "run1", "agent-w2.jsonl"),
			filepath.Join(own, "subagents", "workflows", "run2", "agent-w3.jsonl"),
			filepath.Join(filepath.Dir(file), "agent-beside.jsonl"),
		} {
			id := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "agent-")
			put(t, path, "")
			appendTo(t, path, agentLine(id, ""))
			u := f.want(id, "ask "+id)
			if want := filepath.Base(filepath.Dir(path)); strings.HasPrefix(want, "run") && u.Agent.Workflow != want {
				t.Errorf("%s is of the workflow %q, want %q", id, u.Agent.Workflow, want)
			}
		}
		put(t, filepath.Join(own, "tool-results", "agent-x.jsonl"), agentLine("x", ""))
		put(t, filepath.Join(own, "subagents", "notes.jsonl"), agentLine("y", ""))
		put(t, filepath.Join(filepath.Dir(file), "agent-stranger.jsonl"), strings.ReplaceAll(agentLine("z", ""), idA, idB))
		appendTo(t, file, ask("3", "2"))
		f.want("", "ask 3")
		f.settle()
	})
}

// The directories may be removed and made again.
func TestTailFolderComesAgain(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		dir := filepath.Join(filepath.Dir(file), "p")
		file = filepath.Join(dir, filepath.Base(file))
		for i, remove := range []func() error{
			func() error { return os.RemoveAll(strings.TrimSuffix(file, ".jsonl")) },
			func() error { return os.RemoveAll(dir) },
			func() error { return os.Rename(dir, dir+".old") },
		} {
			put(t, file, ask("1", ""))
			put(t, agentPath(file, "a"), agentLine("a", ""))
			f := follow(t, file, opts)
			f.want("", "ask 1")
			f.want("a", "ask a")
			must(t, remove())
			for u := f.next(); !u.Gone; u = f.next() {
			}
			put(t, file, ask("2", "")+ask("3", "2"))
			put(t, agentPath(file, "a"), agentLine("b", "")+agentLine("c", "b"))
			f.settle()
			appendTo(t, agentPath(file, "a"), agentLine("d", "c"))
			appendTo(t, file, ask("4", "3"))
			f.settle()
			must(t, os.RemoveAll(dir))
			if t.Failed() {
				t.Fatalf("after removal %d", i)
			}
		}
	})
}

// skill is a tool call that may start a subagent.
func skill(uuid, parent, call string) string {
	return said("assistant", uuid, parent, `[{"type":"tool_use","id":"`+call+`","name":"Skill","input":{}}]`, "")
}

// A teammate has a separate session, which may appear before or after the call.
func TestTailMates(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		mate := func(id, name string) string {
			path := filepath.Join(filepath.Dir(file), id+".jsonl")
			own := `"teamName":"red","agentName":"` + name + `","sessionId":"` + id + `"`
			put(t, path, strings.ReplaceAll(ask("m", ""), `"sessionId":"`+idA+`"`, own))
			return path
		}
		put(t, file, ask("1", ""))
		mate(idB, "early")
		f := follow(t, file, opts)
		f.want("", "ask 1")
		appendTo(t, file, spawn("2", "1", "t1", `{"name":"early","team_name":"red"}`)+
			spawn("3", "2", "t2", `{"name":"late","team_name":"red"}`))
		f.want("", "")
		if u := f.want("early@red", "ask m"); u.Agent.CallID != "t1" {
			t.Errorf("got %+v", u.Agent)
		}
		path := mate(id(1), "late")
		if u := f.want("late@red", "ask m"); u.Agent.CallID != "t2" {
			t.Errorf("got %+v", u.Agent)
		}
		appendTo(t, path, ask("n", "m"))
		f.want("late@red", "ask n")
		mate(id(2), "stranger")
		f.settle()
	})
}

// The metadata file of a subagent may come late, half written, or again.
func TestTailSidecar(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, ask("1", "")+skill("2", "1", "t1"))
		put(t, sidecar(file, "early"), `{"toolUseId":"t2"}`)
		f := follow(t, file, opts)
		f.want("", "ask 1", "")
		put(t, agentPath(file, "a"), agentLine("a", ""))
		if u := f.want("a", "ask a"); u.Agent.LinkedBy != "" || len(f.main.Unlinked) != 1 {
			t.Errorf("linked by %q", u.Agent.LinkedBy)
		}
		put(t, sidecar(file, "a"), `{"toolUse`)
		put(t, sidecar(file, "a"), `{"toolUseId":"t1"}`)
		u := f.want("a")
		if u.Agent.CallID != "t1" || len(f.main.Chunks[1].Items[0].Agents) != 1 || len(f.main.Unlinked) > 0 {
			t.Errorf("got %+v", u.Agent)
		}
		put(t, sidecar(file, "a"), `{"toolUseId":"t1","finished":true}`)
		if u := f.want("a"); !u.Agent.Meta.Finished {
			t.Errorf("got %+v", u.Agent.Meta)
		}
		// A call that only the metadata identifies comes after it.
		put(t, agentPath(file, "early"), agentLine("e", ""))
		f.want("early", "ask e")
		appendTo(t, file, skill("3", "2", "t2"))
		f.want("", "")
		if u := f.want("early"); u.Agent.CallID != "t2" {
			t.Errorf("got %+v", u.Agent)
		}
		f.settle()
	})
}

// A late notice names the call that started a subagent.
func TestTailNotice(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, skill("1", "", "t1")+ask("2", "1"))
		put(t, agentPath(file, "a"), agentLine("a", ""))
		f := follow(t, file, opts)
		f.want("", "", "ask 2")
		f.want("a", "ask a")
		notice := `"<task-notification>\n<task-id>a</task-id>\n<tool-use-id>t1</tool-use-id>\n</task-notification>"`
		appendTo(t, file, said("user", "3", "2", notice, `,"origin":{"kind":"task-notification"}`))
		for u := f.next(); u.Agent == nil; u = f.next() {
		}
		if agents := f.main.Chunks[0].Items[0].Agents; len(agents) != 1 || agents[0].LinkedBy != transcript.LinkedByNotice {
			t.Errorf("got %+v", agents)
		}
		f.settle()
	})
}

// Subagents of a branch stay under their items when the branch is built again.
func TestTailBranch(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, ask("1", "")+spawn("2", "1", "t1", `{}`)+ask("3", "1"))
		put(t, agentPath(file, "a"), agentLine("a", ""))
		put(t, sidecar(file, "a"), `{"toolUseId":"t1"}`)
		f := follow(t, file, opts)
		f.want("", "ask 1", "ask 3")
		f.want("a", "ask a")
		appendTo(t, file, string(entry("attachment", "4", "2", `,"attachment":{"type":"environment"}`))+"\n")
		f.want("")
		if agents := f.main.Branches[0].Chunks[0].Items[0].Agents; len(agents) != 1 {
			t.Errorf("%d subagents in the branch", len(agents))
		}
		f.settle()
	})
}

// Symbolic links to transcripts of subagents, and to their directories, are not followed. The
// session itself may be a link.
func TestTailLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need rights there")
	}
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		elsewhere := t.TempDir()
		real := filepath.Join(elsewhere, idB+".jsonl")
		put(t, filepath.Join(elsewhere, "agent-x.jsonl"), agentLine("x", ""))
		put(t, filepath.Join(elsewhere, "runs", "agent-y.jsonl"), agentLine("y", ""))
		put(t, real, ask("1", ""))
		put(t, agentPath(real, "a"), agentLine("a", ""))
		must(t, os.Symlink(real, file))
		must(t, os.Symlink(filepath.Join(elsewhere, "agent-x.jsonl"), agentPath(real, "x")))
		must(t, os.Symlink(filepath.Join(elsewhere, "runs"), filepath.Join(filepath.Dir(agentPath(real, "x")), "workflows")))
		f := follow(t, file, opts)
		f.want("", "ask 1")
		f.want("a", "ask a")
		appendTo(t, file, ask("2", "1"))
		f.want("", "ask 2")
		appendTo(t, filepath.Join(elsewhere, "agent-x.jsonl"), agentLine("z", "x"))
		must(t, os.Remove(agentPath(real, "a")))
		must(t, os.Symlink(filepath.Join(elsewhere, "agent-x.jsonl"), agentPath(real, "a")))
		if u := f.next(); agentID(u) != "a" || !u.Gone && u.Err == nil {
			t.Errorf("got %+v", u)
		}
	})
}

// A directory of subagents that is a link is ignored.
func TestTailLinkedFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need rights there")
	}
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		elsewhere := filepath.Join(t.TempDir(), idB+".jsonl")
		put(t, agentPath(elsewhere, "x"), agentLine("x", ""))
		must(t, os.Symlink(strings.TrimSuffix(elsewhere, ".jsonl"), strings.TrimSuffix(file, ".jsonl")))
		put(t, file, ask("1", ""))
		f := follow(t, file, opts)
		f.want("", "ask 1")
		appendTo(t, file, ask("2", "1"))
		f.want("", "ask 2")
	})
}

// A transcript that can't be read affects only that subagent, and is reported once.
func TestTailUnreadableAgent(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, ask("1", ""))
		put(t, agentPath(file, "a"), agentLine("a", ""))
		put(t, agentPath(file, "b"), agentLine("b", ""))
		f := follow(t, file, opts)
		f.want("", "ask 1")
		f.want("a", "ask a")
		f.want("b", "ask b")
		// Nobody can read a directory as a file, not even root.
		must(t, os.Rename(agentPath(file, "a"), filepath.Join(filepath.Dir(file), "kept")))
		must(t, os.Mkdir(agentPath(file, "a"), 0o700))
		u := f.next()
		for u.Gone {
			u = f.next()
		}
		if agentID(u) != "a" || u.Err == nil || !strings.Contains(u.Err.Error(), "not a regular file") {
			t.Fatalf("got %+v", u)
		}
		appendTo(t, file, ask("2", "1"))
		f.want("", "ask 2")
		appendTo(t, agentPath(file, "b"), agentLine("c", "b"))
		f.want("b", "ask c")
		must(t, os.Remove(agentPath(file, "a")))
		must(t, os.Rename(filepath.Join(filepath.Dir(file), "kept"), agentPath(file, "a")))
		appendTo(t, agentPath(file, "a"), agentLine("d", "a"))
		for u = f.next(); agentID(u) != "a" || u.Transcript == nil || len(u.Transcript.Chunks) < 2; u = f.next() {
		}
		f.settle()
		must(t, os.Remove(agentPath(file, "a")))
		must(t, os.Mkdir(agentPath(file, "a"), 0o700))
		for u = f.next(); u.Err == nil; u = f.next() {
		}
	})
}

// forbid removes all permissions of a path until the test ends. It skips the test if that has no
// effect.
func forbid(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("everything can be read here")
	}
	must(t, os.Chmod(path, 0))
	t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
}

func TestTailForbidden(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, ask("1", ""))
		put(t, agentPath(file, "a"), agentLine("a", ""))
		put(t, agentPath(file, "b"), agentLine("b", ""))
		runs := filepath.Join(filepath.Dir(agentPath(file, "b")), "workflows")
		put(t, filepath.Join(runs, "agent-w.jsonl"), agentLine("w", ""))
		forbid(t, agentPath(file, "a"))
		forbid(t, runs)
		f := follow(t, file, opts)
		f.want("", "ask 1")
		if u := f.next(); agentID(u) != "a" || u.Err == nil || u.Transcript != nil {
			t.Errorf("got %+v", u)
		}
		f.want("b", "ask b")
		if u := f.next(); u.Agent != nil || u.Err == nil || u.Transcript != f.main || u.First != 1 {
			t.Errorf("got %+v", u)
		}
		appendTo(t, file, ask("2", "1"))
		f.want("", "ask 2")
		must(t, os.Chmod(agentPath(file, "a"), 0o600))
		f.want("a", "ask a")
		must(t, os.Chmod(runs, 0o700))
		f.want("w", "ask w")
		f.settle()
		appendTo(t, file, ask("3", "2"))
		must(t, os.Chmod(file, 0))
		if _, err, _ := f.pull(); err == nil {
			t.Error("a session that can't be read goes on")
		}
	})
}

// Files are polled if the system does not report changes, or stops reporting them.
func TestTailFallsBack(t *testing.T) {
	t.Parallel()
	errLimit := errors.New("no more of them")
	for name, set := range map[string]func(*sessions.TailOptions){
		"no watcher": func(o *sessions.TailOptions) {
			o.SetNotifier(func() (*fsnotify.Watcher, error) { return nil, errLimit }, nil)
		},
		"no folder": func(o *sessions.TailOptions) {
			o.SetNotifier(fsnotify.NewWatcher, func(*fsnotify.Watcher, string) error { return errLimit })
		},
		"not that of subagents": func(o *sessions.TailOptions) {
			o.SetNotifier(fsnotify.NewWatcher, func(w *fsnotify.Watcher, folder string) error {
				if filepath.Base(folder) == "subagents" {
					return errLimit
				}
				return w.Add(folder)
			})
		},
		"it ends": func(o *sessions.TailOptions) {
			o.SetNotifier(fsnotify.NewWatcher, func(w *fsnotify.Watcher, folder string) error {
				return errors.Join(w.Add(folder), w.Close())
			})
		},
		"it misses all": func(o *sessions.TailOptions) {
			o.SetNotifier(func() (*fsnotify.Watcher, error) {
				w, err := fsnotify.NewWatcher()
				w.Errors = make(chan error, 100)
				for range cap(w.Errors) {
					w.Errors <- fsnotify.ErrEventOverflow
				}
				return w, err
			}, func(*fsnotify.Watcher, string) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := new(sessions.TailOptions)
			set(opts)
			file := filepath.Join(t.TempDir(), idA+".jsonl")
			put(t, file, ask("1", ""))
			f := follow(t, file, opts)
			f.want("", "ask 1")
			put(t, agentPath(file, "a"), agentLine("a", ""))
			f.want("a", "ask a")
			appendTo(t, agentPath(file, "a"), agentLine("b", "a"))
			f.want("a", "ask b")
			f.settle()
		})
	}
}

// A directory that could not be watched at first is watched as soon as that is possible.
func TestTailWatchesLater(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	opts := new(sessions.TailOptions)
	opts.SetNotifier(fsnotify.NewWatcher, func(w *fsnotify.Watcher, folder string) error {
		if tries.Add(1) < 3 {
			return errors.New("not yet")
		}
		return w.Add(folder)
	})
	file := filepath.Join(t.TempDir(), idA+".jsonl")
	put(t, file, ask("0", ""))
	f := follow(t, file, opts)
	f.want("", "ask 0")
	for i := 0; tries.Load() < 3; i++ {
		appendTo(t, file, ask(fmt.Sprint(i+1), fmt.Sprint(i)))
		f.next()
	}
	f.settle()
}

// A loop leaves no files and goroutines, however it ends.
func TestTailLeavesNothing(t *testing.T) { // not parallel: it counts open files
	file := filepath.Join(t.TempDir(), idA+".jsonl")
	put(t, file, ask("1", ""))
	put(t, agentPath(file, "a"), agentLine("a", ""))
	before := openFiles(t)
	for range 20 {
		for u, err := range sessions.TailFile(t.Context(), file, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if u.Agent != nil {
				break
			}
		}
		func() {
			defer func() { _ = recover() }()
			for range sessions.TailFile(t.Context(), file, nil) {
				panic("in the loop")
			}
		}()
	}
	if !polltest.Eventually(func() bool { return openFiles(t) <= before && watchers() == 0 }) {
		t.Errorf("%d files before, %d after, %d watchers", before, openFiles(t), watchers())
	}
}

// openFiles counts the open files of this process, on systems that list them.
func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(files)
}

// watchers counts the goroutines of watchers.
func watchers() int {
	buf := make([]byte, 4<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "fsnotify.newBackend")
}

// The check above is worth something only if it finds watchers.
func TestTailWatcherIsSeen(t *testing.T) {
	file := filepath.Join(t.TempDir(), idA+".jsonl")
	put(t, file, ask("1", ""))
	before := openFiles(t)
	for range sessions.TailFile(t.Context(), file, nil) {
		seen := func() bool { return openFiles(t) > before && watchers() == 1 }
		if runtime.GOOS == "linux" && !polltest.Eventually(seen) {
			t.Errorf("%d files before, %d now, %d watchers", before, openFiles(t), watchers())
		}
		break
	}
}
