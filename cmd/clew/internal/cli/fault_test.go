//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/shelltest"
	"github.com/clewdev/clew/internal/soak"
)

// A faultUse is a use of the program that goes through every fault below. A new verb, and each of
// its formats, needs a line in faultUses.
type faultUse struct {
	line  string // ID stands for a session, and FILE for its transcript
	stdin bool   // it reads the transcript from stdin
	input string // it reads this from stdin
	agent bool   // it drives an agent
	// endless means that it runs until somebody ends it.
	endless bool
	// prose means that it is for people: its lines fit the screen.
	prose bool
	// closing means that it ends with a word on stderr.
	closing bool
	// painted means that it has colors without a terminal: the agent shows them.
	painted bool
	// homeless is the exit code without a home directory.
	homeless int
}

var faultUses = []faultUse{
	{line: "ls --all", prose: true, homeless: clikit.ExitInput},
	{line: "ls --all --json", homeless: clikit.ExitInput},
	{line: "show ID", prose: true, homeless: clikit.ExitInput},
	{line: "show ID --expand --thinking --branches", prose: true, homeless: clikit.ExitInput},
	{line: "show ID --diff", homeless: clikit.ExitInput}, // broken lines are not a diff
	{line: "show ID --format json", homeless: clikit.ExitInput},
	{line: "show ID --format ndjson", homeless: clikit.ExitInput},
	{line: "show ID --format messages", homeless: clikit.ExitInput},
	{line: "show last", prose: true, homeless: clikit.ExitInput},
	{line: "show FILE", prose: true},
	{line: "show FILE --format json"},
	{line: "show -", prose: true, stdin: true},
	{line: "show - --format json", stdin: true},
	{line: "view ID", prose: true, homeless: clikit.ExitInput},
	{line: "view FILE", prose: true},
	{line: "view -", prose: true, stdin: true},
	{line: "tail ID -n 99", prose: true, endless: true, homeless: clikit.ExitInput},
	{line: "tail FILE -n 99", prose: true, endless: true},
	{line: "stats", prose: true, homeless: clikit.ExitInput},
	{line: "stats --by project,session,model,agent", prose: true, homeless: clikit.ExitInput},
	{line: "stats --by session --plot", prose: true, homeless: clikit.ExitInput},
	{line: "stats blocks", prose: true, homeless: clikit.ExitInput},
	{line: "stats blocks --plot", prose: true, homeless: clikit.ExitInput},
	{line: "stats tools", prose: true, homeless: clikit.ExitInput},
	{line: "stats tools --json", homeless: clikit.ExitInput},
	{line: "stats mcp", prose: true, homeless: clikit.ExitInput},
	{line: "stats mcp --csv", homeless: clikit.ExitInput},
	{line: "stats projects --alias *project*=你好你好你好 --project 你好你好你好", prose: true, homeless: clikit.ExitInput},
	{line: "stats --reconcile", prose: true, homeless: clikit.ExitInput},
	{line: "stats --json", homeless: clikit.ExitInput},
	{line: "stats --csv", homeless: clikit.ExitInput},
	{line: "stats --price-table", prose: true},
	{line: "inspect FILE", prose: true},
	{line: "inspect -", prose: true, stdin: true},
	{line: "inspect --json FILE"},
	{line: "run Hi", agent: true},
	{line: "run --output-format json Hi", agent: true},
	{line: "run --output-format stream-json Hi", agent: true},
	{line: "chat", agent: true, input: "Hi\n", closing: true},
	{line: "search Fix", prose: true, homeless: clikit.ExitInput},
	{line: "search --no-index Fix", prose: true, homeless: clikit.ExitInput},
	{line: "search --regex Fi.", prose: true, homeless: clikit.ExitInput},
	{line: "search --json Fix", homeless: clikit.ExitInput},
	{line: "export ID -o -", homeless: clikit.ExitInput},
	{line: "export ID -o - --format markdown", homeless: clikit.ExitInput},
	{line: "export ID -o - --format json --redact", homeless: clikit.ExitInput},
	{line: "export FILE --force --json"},
	{line: "export --list-rules", prose: true},
	{line: "hook permission --remove --yes", homeless: clikit.ExitInput},
	{line: "mcp", input: mcpInput("search", `{"query":"Fix"}`), homeless: clikit.ExitInput},
	{line: "statusline", stdin: true, painted: true},
	{line: "statusline --json", stdin: true},
	{line: "statusline --remove --yes", homeless: clikit.ExitInput},
	{line: "archive", homeless: clikit.ExitInput},
	{line: "archive --json", homeless: clikit.ExitInput},
	{line: "archive --status --json", homeless: clikit.ExitInput},
	{line: "restore ID", homeless: clikit.ExitInput},
	{line: "restore ID --json", homeless: clikit.ExitInput},
	{line: "serve --port 0", endless: true, homeless: clikit.ExitInput},
	{line: "serve --port 0 --json", endless: true, homeless: clikit.ExitInput},
	{line: "submit --fleet FLEET Hi"},
	{line: "submit --fleet FLEET Hi --json"},
	{line: "jobs --fleet FLEET", prose: true},
	{line: "jobs --fleet FLEET --json"},
	{line: "jobs show JOB --fleet FLEET", prose: true},
	{line: "jobs show JOB --log --fleet FLEET"},
	{line: "jobs tail JOB --fleet FLEET", prose: true},
	{line: "jobs patch JOB --fleet FLEET"},
	{line: "fleet --fleet FLEET", prose: true},
	{line: "fleet doctor --fleet FLEET"},
	{line: "config", prose: true},
	{line: "config --json"},
	{line: "config init --force"},
	{line: "doctor", prose: true},
	{line: "doctor --json"},
	{line: "demo --fast"},
	{line: "version", prose: true},
	{line: "version --json"},
	{line: "help"},
	{line: "help show"},
	{line: "completion bash"},
	{line: "man"},
	{line: "man show"},
}

// A faultFleet is the fleet of a test, which starts when a use needs it.
type faultFleet struct {
	t    *testing.T
	once sync.Once
	dir  string
	job  string
}

// start returns the directory of the fleet, and the ID of a job.
func (f *faultFleet) start() (dir, job string) {
	f.once.Do(func() {
		f.dir = filepath.Join(f.t.TempDir(), "fleet")
		spec := &fleet.Spec{Prompt: strings.Repeat("你好", 40) + strings.Repeat(" some words", 20), Key: "fault"}
		f.job = openTestFleet(f.t, f.dir).make(f.t, "done", spec).ID
	})
	return f.dir, f.job
}

// save puts the session into the archive of the home.
func (p faultPlace) save(t *testing.T) {
	t.Helper()
	dir, err := archive.OpenDir(filepath.Join(p.home, ".local", "share", "clew", "archive"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archive.New(dir).Save(t.Context(), &archive.SaveOptions{Roots: []string{filepath.Join(p.home, ".claude")}}); err != nil {
		t.Fatal(err)
	}
}

// verb is the name of the command.
func (u faultUse) verb() string { return strings.Fields(u.line)[0] }

const faultID = "5e55104a-0000-4000-8000-000000000001"

// A faultPlace is a home with one session in it.
type faultPlace struct {
	home    string
	project string // the directory with the transcripts
	file    string // the transcript of the session
	fleet   *faultFleet
}

func newFaultPlace(t *testing.T) faultPlace {
	t.Helper()
	p := faultPlace{home: tempHome(t), fleet: &faultFleet{t: t}}
	p.project = filepath.Join(p.home, ".claude", "projects", "-a-project-with-a-rather-long-name-你好你好")
	p.file = filepath.Join(p.project, faultID+".jsonl")
	if err := os.MkdirAll(p.project, 0o700); err != nil {
		t.Fatal(err)
	}
	p.write(t, faultTranscript(1))
	shelltest.Write(t, filepath.Join(p.home, "claude"), "echo "+testedAgent)
	return p
}

func (p faultPlace) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(p.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// faultTranscript is a session of some turns: prompts, tools, changes of files, in words and lines
// of all widths.
func faultTranscript(turns int) string {
	var b strings.Builder
	parent, n := "null", 0
	entry := func(kind, message string) {
		n++
		uuid := fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, n)
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"type":%q,"message":%s,"uuid":%s,`+
			`"timestamp":"2026-11-15T10:%02d:%02d.000Z","cwd":"/a/project","sessionId":%q,"version":"2.1.325",`+
			`"gitBranch":"main"}`+"\n",
			parent, kind, message, uuid, n/60%60, n%60, faultID)
		parent = uuid
	}
	wide := strings.Repeat("你好", 40) + strings.Repeat("Donaudampfschifffahrt", 6) + strings.Repeat(" some words", 20)
	answer := func(content string) string {
		return fmt.Sprintf(`{"id":"m%d","type":"message","role":"assistant","model":"claude-opus-5-5","content":[%s],`+
			`"usage":{"input_tokens":123456789,"output_tokens":12345678,"cache_read_input_tokens":987654321}}`, n, content)
	}
	for range turns {
		entry("user", fmt.Sprintf(`{"role":"user","content":"Fix %s"}`, wide))
		entry("assistant", answer(fmt.Sprintf(`{"type":"thinking","thinking":%q,"signature":""}`, wide)))
		entry("assistant", answer(fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Write",`+
			`"input":{"file_path":"/a/project/%s.txt","content":"%s\n"}}`, n, wide[:42], wide)))
		entry("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}`,
			n-1, strings.Repeat(wide+"\n", 5)))
		entry("assistant", answer(fmt.Sprintf(`{"type":"text","text":"Done: %s"}`, wide)))
	}
	fmt.Fprintf(&b, `{"type":"cost-state","sessionId":%q,"totalCostUSD":1234.5,"totalDuration":1,`+
		`"startTime":1793485800000,"modelUsage":`+
		`{"claude-opus-5-5":{"inputTokens":450,"outputTokens":120,"costUSD":1234.5}}}`+"\n", faultID)
	return b.String()
}

// command returns the use as a process. Its environment is the home and nothing else of the user.
func (p faultPlace) command(t *testing.T, u faultUse) *exec.Cmd {
	t.Helper()
	args := strings.Fields(u.line)
	for i := range args {
		args[i] = strings.NewReplacer("ID", faultID, "FILE", p.file).Replace(args[i])
	}
	if slices.Contains(args, "FLEET") {
		dir, job := p.fleet.start()
		for i := range args {
			args[i] = strings.NewReplacer("FLEET", dir, "JOB", job).Replace(args[i])
		}
	}
	cmd := exec.CommandContext(t.Context(), "clew", args...)
	cmd.Dir = p.home
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = []string{
		"TERM=xterm", "PAGER=cat",
		"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "TZ=UTC", "GORACE=atexit_sleep_ms=0",
	}
	if u.agent {
		cmd.Env = append(cmd.Env, faultAgent(t)...)
	} else {
		cmd.Env = append(cmd.Env, "CLEW_AGENT="+filepath.Join(p.home, "claude"))
	}
	if u.input != "" {
		cmd.Stdin = strings.NewReader(u.input)
	}
	if u.stdin {
		in, err := os.Open(p.file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = in.Close() })
		cmd.Stdin = in
	}
	return cmd
}

// faultAgent returns the environment in which the program finds an agent that writes a word.
func faultAgent(t *testing.T) []string {
	t.Helper()
	agent := clewtest.NewAgent(lenient{t}, prompted().
		Send(`{"type":"result","subtype":"success","result":"Well","session_id":"s","uuid":"r"}`))
	env := []string{"CLEW_AGENT=claude"}
	for _, variable := range agent.Env() {
		env = append(env, scripted+variable)
	}
	return env
}

// A faultOutcome is the visible outcome of a process.
type faultOutcome struct {
	code      int
	out, errs string
}

// faultLimit is the time limit of a use on the slowest machine.
const faultLimit = 10 * time.Minute

// run runs the program to its end, in this process unless tests start processes.
func (p faultPlace) run(t *testing.T, cmd *exec.Cmd) faultOutcome {
	t.Helper()
	if startsProcesses() {
		return p.start(t, cmd)()
	}
	var out, errs strings.Builder
	i := invocation{args: cmd.Args[1:], dir: cmd.Dir, env: cmd.Env, Streams: Streams{In: cmd.Stdin, Out: cmd.Stdout, Err: cmd.Stderr}}
	if i.In == nil {
		i.In = strings.NewReader("")
	}
	if i.Out == nil {
		i.Out = &out
	}
	if i.Err == nil {
		i.Err = &errs
	}
	code := i.run(t.Context(), t)
	return faultOutcome{code, out.String(), errs.String()}
}

// start starts a process, and returns what waits for it. That fails the test if it takes long or
// leaves a stack trace.
func (p faultPlace) start(t *testing.T, cmd *exec.Cmd) (wait func() faultOutcome) {
	t.Helper()
	var out, errs strings.Builder
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(faultLimit, func() {
		t.Error("it does not end")
		_ = cmd.Process.Kill()
	})
	return func() faultOutcome {
		t.Helper()
		defer stop.Stop()
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		o := faultOutcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
		o.checkTraces(t)
		return o
	}
}

func (o faultOutcome) checkTraces(t *testing.T) {
	t.Helper()
	for _, text := range []string{o.out, o.errs} {
		if strings.Contains(text, "goroutine ") || strings.Contains(text, "panic: ") {
			t.Errorf("a stack trace:\n%s", text)
		}
	}
	if o.code < 0 {
		t.Errorf("it ended by a signal: %s", o.errs)
	}
}

// everyUse runs a test for each use.
func everyUse(t *testing.T, test func(t *testing.T, p faultPlace, u faultUse)) {
	t.Helper()
	shared := &faultFleet{t: t}
	for _, u := range faultUses {
		t.Run(u.line, func(t *testing.T) {
			if startsProcesses() {
				t.Parallel()
			}
			p := newFaultPlace(t)
			p.fleet = shared
			if verb := u.verb(); verb == "archive" || verb == "restore" || verb == "doctor" {
				p.save(t)
			}
			test(t, p, u)
		})
	}
}

// processUses are the uses that also go through the faults of a process in every test run.
var processUses = []string{"ls --all", "show -", "run Hi", "statusline", "version"}

// Every command that is shown has its line above.
func TestFaultUsesCoverTheVerbs(t *testing.T) {
	t.Parallel()
	verbs := map[string]bool{}
	for _, u := range faultUses {
		verbs[u.verb()] = true
	}
	for _, cmd := range newRoot(Streams{}).Commands() {
		if cmd.Name() == "worker" {
			continue // it prints only job events, and continues without output
		}
		if cmd.IsAvailableCommand() && !verbs[cmd.Name()] {
			t.Errorf("no fault is tested with %s: add a line to faultUses", cmd.Name())
		}
	}
}

// Without a fault, every use works.
func TestFaultNone(t *testing.T) {
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if u.endless {
			t.Skip("it goes on")
		}
		if o := p.run(t, p.command(t, u)); o.code != clikit.ExitDone || o.out == "" {
			t.Errorf("exit code %d, stdout %q, stderr %q", o.code, o.out, o.errs)
		}
	})
}

// A reader that closes the pipe is not a failure, and is not reported.
func TestFaultClosedPipe(t *testing.T) {
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		defer w.Close()
		runs := []func(*testing.T, *exec.Cmd) faultOutcome{p.run}
		if slices.Contains(processUses, u.line) { // in a process, the first stream is special
			runs = append(runs, func(t *testing.T, cmd *exec.Cmd) faultOutcome { return p.start(t, cmd)() })
		}
		for _, run := range runs {
			cmd := p.command(t, u)
			cmd.Stdout = w
			if o := run(t, cmd); o.code != clikit.ExitDone || o.errs != "" && !u.closing {
				t.Errorf("exit code %d, stderr %q", o.code, o.errs)
			}
		}
	})
}

func TestFaultFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /dev/full")
	}
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		cmd := p.command(t, u)
		cmd.Stdout = full
		o := p.run(t, cmd)
		if o.code != clikit.ExitFailed || !strings.HasSuffix(o.errs, "cannot write the output: no space left on device\n") {
			t.Errorf("exit code %d, stderr %q", o.code, o.errs)
		}
	})
}

// Where streams are closed, nothing to read, nothing to report, and no trace.
func TestFaultClosedStreams(t *testing.T) {
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if u.endless {
			t.Skip("it goes on")
		}
		if !slices.Contains(processUses, u.line) {
			soak.Rest(t)
		}
		for _, closed := range []string{"<&-", ">&-", "2>&-", "<&- >&- 2>&-"} {
			cmd := p.command(t, u)
			cmd.Args = append([]string{"sh", "-c", `exec "$0" "$@" ` + closed, cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
			o := p.start(t, cmd)()
			if want := []int{clikit.ExitDone, clikit.ExitFailed, clikit.ExitInput}; o.code > clikit.ExitFailed && o.code != clikit.ExitInput {
				t.Errorf("%s: exit code %d, want one of %v; stderr %q", closed, o.code, want, o.errs)
			}
		}
	})
}

func TestFaultNoHome(t *testing.T) {
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if u.endless && u.homeless == clikit.ExitDone {
			t.Skip("it goes on")
		}
		cmd := p.command(t, u)
		cmd.Env = append(cmd.Env, "HOME=")
		o := p.run(t, cmd)
		if o.code != u.homeless {
			t.Errorf("exit code %d, want %d: %s", o.code, u.homeless, o.errs)
		}
		if u.homeless != clikit.ExitDone && !strings.Contains(o.errs, "CLAUDE_CONFIG_DIR") {
			t.Errorf("it does not say what to do: %s", o.errs)
		}
	})
}

// Files that cannot be read are reported, whatever they are.
func TestFaultUnreadableFile(t *testing.T) {
	for name, replace := range unreadable {
		t.Run(name, func(t *testing.T) {
			for _, u := range faultUses {
				if !strings.Contains(u.line, "FILE") {
					continue
				}
				t.Run(u.line, func(t *testing.T) {
					if startsProcesses() {
						t.Parallel()
					}
					p := newFaultPlace(t)
					replace(t, p.file)
					o := p.run(t, p.command(t, u))
					if o.code != clikit.ExitInput || !strings.HasPrefix(o.errs, "clew "+u.verb()+": ") {
						t.Errorf("exit code %d, stderr %q", o.code, o.errs)
					}
				})
			}
		})
	}
}

// unreadable are ways to put something that cannot be read in the place of a file.
var unreadable = map[string]func(t *testing.T, path string){
	"folder": func(t *testing.T, path string) {
		swap(t, path, func() error { return os.Mkdir(path, 0o700) })
	},
	"dangling link": func(t *testing.T, path string) {
		swap(t, path, func() error { return os.Symlink("nowhere.jsonl", path) })
	},
	"link to itself": func(t *testing.T, path string) {
		swap(t, path, func() error { return os.Symlink(path, path) })
	},
	"forbidden": func(t *testing.T, path string) {
		if os.Geteuid() == 0 {
			t.Skip("permissions do not stop this user")
		}
		swap(t, path, func() error { return os.WriteFile(path, []byte("{}\n"), 0) })
	},
	"reads that fail": func(t *testing.T, path string) {
		if runtime.GOOS != "linux" {
			t.Skip("no /proc/self/mem")
		}
		swap(t, path, func() error { return os.Symlink("/proc/self/mem", path) })
	},
}

func swap(t *testing.T, path string, make func() error) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := make(); err != nil {
		t.Fatal(err)
	}
}

// Beside a session there may be anything: what can be read is shown, and nothing waits for a pipe
// that nobody writes to.
func TestFaultUnreadableNeighbours(t *testing.T) {
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if u.endless || u.agent {
			t.Skip("it goes on, or has no use for sessions")
		}
		n := 2
		for name, replace := range unreadable {
			if name == "forbidden" || name == "reads that fail" && runtime.GOOS != "linux" {
				continue
			}
			path := filepath.Join(p.project, strings.TrimSuffix(faultID, "1")+strconv.Itoa(n)+".jsonl")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			replace(t, path)
			n++
		}
		if err := syscall.Mkfifo(filepath.Join(p.project, strings.TrimSuffix(faultID, "1")+"9.jsonl"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := p.run(t, p.command(t, u))
		if o.code != clikit.ExitDone && o.code != clikit.ExitInput || o.out == "" {
			t.Errorf("exit code %d, stdout %q, stderr %q", o.code, o.out, o.errs)
		}
	})
}

// The agent's directory may be a file, or be missing.
func TestFaultUnreadableHome(t *testing.T) {
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if strings.Contains(u.line, "FILE") || u.stdin {
			t.Skip("it has no use for the folder")
		}
		if u.verb() == "serve" {
			t.Skip("it goes on, and its pages say it")
		}
		for _, dir := range []string{filepath.Dir(p.project), filepath.Join(p.home, ".claude")} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir, []byte("a file"), 0o600); err != nil {
				t.Fatal(err)
			}
			o := p.run(t, p.command(t, u))
			if o.code != clikit.ExitDone && o.code != clikit.ExitInput {
				t.Errorf("%s is a file: exit code %d, stderr %q", dir, o.code, o.errs)
			}
			if o.out == "" && o.errs == "" && !strings.Contains(u.line, "json") {
				t.Errorf("%s is a file: it printed nothing", dir)
			}
		}
	})
}

// A transcript that goes away while it is read is shown as far as it was there.
func TestFaultVanishing(t *testing.T) {
	long := faultTranscript(20) // long enough to be shown while it is read
	noise := `{"type":"noise","text":"` + strings.Repeat("noise ", 10_000) + `"}` + "\n"
	long += strings.Repeat(noise, 17<<20/len(noise))
	for name, spoil := range map[string]func(path string) error{
		"deleted":     os.Remove,
		"cut":         func(path string) error { return os.Truncate(path, 100_000) },
		"emptied":     func(path string) error { return os.Truncate(path, 0) },
		"overwritten": func(path string) error { return os.WriteFile(path, []byte("{}\n"), 0o600) },
	} {
		for _, line := range []string{"show ID", "show FILE", "inspect --json FILE"} {
			t.Run(line+" "+name, func(t *testing.T) {
				if startsProcesses() {
					t.Parallel()
				}
				p := newFaultPlace(t)
				p.write(t, long)
				cmd := p.command(t, faultUse{line: line})
				cmd.Stdout = &spoiler{do: func() error { return spoil(p.file) }}
				o := p.run(t, cmd)
				cut := o.code == clikit.ExitFailed && strings.HasPrefix(o.errs, "clew inspect: frames with problems: 1 of ")
				if o.code != clikit.ExitDone && o.code != clikit.ExitInput && !cut {
					t.Errorf("exit code %d, stderr %q", o.code, o.errs)
				}
			})
		}
	}
}

// A spoiler does something when it is first written to.
type spoiler struct {
	do    func() error
	wrote bool
}

func (s *spoiler) Write(p []byte) (int, error) {
	if s.wrote {
		return len(p), nil
	}
	s.wrote = true
	return len(p), s.do()
}

// Sessions come and go while all of them are read.
func TestFaultRestless(t *testing.T) {
	soak.Search(t)
	p := newFaultPlace(t)
	text := faultTranscript(20)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			path := filepath.Join(p.project, strings.TrimSuffix(faultID, "1")+strconv.Itoa(2+i%7)+".jsonl")
			_ = os.WriteFile(path, []byte(text), 0o600)
			_ = os.Truncate(path, int64(i*997%len(text)))
			_ = os.Remove(path)
		}
	}()
	for _, line := range []string{"ls --all", "stats", "show last", "show ID"} {
		for range 5 {
			// The last session may disappear before it is read.
			if o := p.start(t, p.command(t, faultUse{line: line}))(); o.code != clikit.ExitDone && o.code != clikit.ExitInput {
				t.Errorf("%s: exit code %d, stderr %q", line, o.code, o.errs)
			}
		}
	}
	close(stop)
	<-stopped
}
